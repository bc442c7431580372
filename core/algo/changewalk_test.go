package algo

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"
)

// carry returns a model of s for a key whose past is m, under a quota that is
// changed at now: what is spent stays spent, in units.
func carry(m model, old *Quota, now int64, q *Quota) model {
	s, next := q.Spec(), newModel(q.Spec(), q.tick)
	switch m := m.(type) {
	case *spanModel:
		n := next.(*spanModel)
		if old.flowsAs(q) {
			n.log = m.log
			return n
		}
		if level := m.excess(now); level > 0 {
			at := max(m.clock(now), now)
			at += (q.tick - at%q.tick) % q.tick
			n.log = []admission{{at, min(exact, rescale(level, n.unit, m.unit))}}
		} else if len(m.log) > 0 {
			at := max(m.clock(now), now)
			at += (q.tick - at%q.tick) % q.tick
			n.log = []admission{{at, 0}}
		}
	case *edgeModel:
		carryWindow(next, m.limit-m.room(now), max(now, startOf(old, m.last)))
	case *ownWindowModel:
		if n, ok := next.(*ownWindowModel); ok && n.period == m.period {
			n.start, n.log, n.first = m.start, m.log, m.first
			return n
		}
		carryWindow(next, m.limit-m.room(now), max(now, m.start))
	case *weightModel:
		n := next.(*weightModel)
		if len(m.log) == 0 {
			return n
		}
		number, _ := m.window(now)
		n.log, n.last = m.log, number
		if n.period != m.period {
			exactly := *m
			exactly.tick = 1
			n.last = max(now, number*m.period) / n.period
			// A counter holds no more. It takes two billion units and a clock that
			// goes back to get there, and then nothing fits under any quota.
			n.log = []admission{{n.last, min(MaxSliding, m.limit-exactly.room(now))}}
		}
	case *logModel:
		n := next.(*logModel)
		for _, a := range m.log {
			if a.at+m.life <= m.clock(now) {
				continue
			}
			if n.grain != m.grain {
				a.at = max(a.at, min(a.at+m.grain-1, m.clock(now)))
				a.at -= a.at % n.grain
			}
			n.log = append(n.log, a)
		}
	default:
		panic(fmt.Sprintf("no way from %T to %+v", m, s))
	}
	return next
}

// carryWindow puts what a window holds into the new window that contains an instant.
func carryWindow(next model, used, at int64) {
	if used > 0 {
		next.admit(at, used)
	}
}

// startOf returns where the window of a number begins, by searching for it.
func startOf(q *Quota, number int64) int64 {
	if number == 0 {
		return 0
	}
	of := windowNumber(q.Spec())
	low, high := int64(0), lateEnough*2
	for low < high {
		if mid := low + (high-low)/2; of(mid) < number {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// rescale returns a·b/c, rounded up.
func rescale(a, b, c int64) int64 {
	n := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
	n.Add(n, big.NewInt(c-1)).Div(n, big.NewInt(c))
	if !n.IsInt64() {
		return 1<<63 - 1
	}
	return n.Int64()
}

// another returns a quota of the same algorithm in which something is different.
func another(rng *rand.Rand, q *Quota, kind func(*rand.Rand) Spec) *Quota {
	for {
		s, fresh := q.Spec(), kind(rng)
		switch rng.IntN(4) {
		case 0: // all of it
			s = fresh
		case 1: // the limit, and the burst with it
			s.Limit = fresh.Limit
			if s.Algorithm == TokenBucket {
				s.Burst = fresh.Burst
			}
		case 2: // a little less or more
			s.Limit = max(1, s.Limit+rng.Int64N(5)-2)
			s.Burst, s.Queue = fresh.Burst, fresh.Queue
		case 3:
			s.Period, s.Zone, s.Cells, s.FirstRequest = fresh.Period, fresh.Zone, fresh.Cells, fresh.FirstRequest
		}
		if next, err := Compile(s); err == nil && next.Wide() == q.Wide() && next != q {
			return next
		}
	}
}

// change goes on under another quota, and compares what is spent on both sides of
// that instant: nobody is refilled, and nobody is punished.
func (w *walk) change(next *Quota) error {
	old, before := w.q, w.key.owes(w.now)
	w.model = carry(w.model, old, w.now, next)
	w.q = next
	o := w.key.peek(next, w.now, Ask{Cost: 1})
	after := w.key.owes(w.now)
	if got, want := o.Remaining, max(0, w.model.room(w.now)); got != want {
		return fmt.Errorf("%+v: remaining %d, want %d", next.Spec(), got, want)
	}
	if got, want := after, max(0, next.Capacity()-w.model.room(w.now)); got != want && before > 0 {
		return fmt.Errorf("%+v: owes %d, want %d", next.Spec(), got, want)
	}
	least, most := before, before+1
	switch m := w.model.(type) {
	case *spanModel:
		least = min(least, exact/m.unit)
	case *logModel:
		// A shorter window is done with what is older than that, and no window
		// counts more than was counted.
		least, most = 0, before
		if m.life > old.life+old.grain && m.grain == 1 {
			least = before
		}
	case *weightModel:
		// The weight is rounded up to a tick, and so it differs with that.
		exactly, roughly := *m, *m
		exactly.tick, roughly.tick = 1, max(old.tick, next.tick)
		least = min(before, next.limit-exactly.room(w.now), MaxSliding)
		if m.period%roughly.tick == 0 {
			most = max(most, next.limit-roughly.room(w.now))
		}
	}
	if after < least || after > most {
		return fmt.Errorf("%+v: owes %d, owed %d, want %d to %d", next.Spec(), after, before, least, most)
	}
	w.last = o
	return nil
}

// runChanging is run with a change of the quota now and then, and another one
// back, as while instances are replaced.
func (w *walk) runChanging(steps int, kind func(*rand.Rand) Spec) error {
	other, changed := another(w.rng, w.q, kind), int64(0)
	for i := 0; i < steps && w.now < lateEnough; i++ {
		w.advance()
		// The clock may be behind what is stored when the quota changes; it does
		// not go back behind a change, which a denial may or may not have stored.
		w.now = max(w.now, changed)
		if w.rng.IntN(12) == 0 {
			changed = w.now
			first, next := w.q, other
			if w.rng.IntN(3) == 0 {
				next = another(w.rng, w.q, kind)
			}
			other = first
			if err := w.change(next); err != nil {
				return fmt.Errorf("%+v (tick %v)\n\tstep %d at %d, changed to: %w", first.Spec(), first.Tick(), i, w.now, err)
			}
		}
		if w.last.ResetAfter >= maxSpan/2 {
			return nil // lowered so far that it takes centuries
		}
		ask := w.ask()
		if err := w.step(ask); err != nil {
			return fmt.Errorf("%+v (tick %v)\n\tstep %d at %d, %+v: %w", w.q.Spec(), w.q.Tick(), i, w.now, ask, err)
		}
	}
	return nil
}

// Every quota may change under a key. What is spent stays spent, to the unit, and
// the answers are right under the new quota at once.
func testChanges(t *testing.T, kind func(*rand.Rand) Spec) {
	t.Parallel()
	eachTrace(t, manySteps()/2, func(rng *rand.Rand) error {
		return newWalk(rng, aQuota(rng, kind)).runChanging(traceSteps, kind)
	})
}

func TestChangesOfTokenBucket(t *testing.T)   { testChanges(t, aBucket) }
func TestChangesOfMeter(t *testing.T)         { testChanges(t, aMeter) }
func TestChangesOfQueue(t *testing.T)         { testChanges(t, aShaper) }
func TestChangesOfFixedWindow(t *testing.T)   { testChanges(t, aFixed) }
func TestChangesOfSlidingWindow(t *testing.T) { testChanges(t, aSliding) }
func TestChangesOfCells(t *testing.T)         { testChanges(t, aCells) }
func TestChangesOfLog(t *testing.T)           { testChanges(t, aLog) }

// aFixed is any fixed window.
func aFixed(rng *rand.Rand) Spec {
	return pick(rng, []func(*rand.Rand) Spec{anAligned, anAligned, aFirst, aDay, aMonth})(rng)
}

// A bucket's spending in exact fractions, through every change of rate, burst and
// period: the integers are never below it, and above it by no more than one part of
// a unit's period each time.
func TestChangesAgainstFractions(t *testing.T) {
	t.Parallel()
	eachTrace(t, manySteps()/5, func(rng *rand.Rand) error {
		q := fineQuota(rng)
		var key counter
		level, slack, at := new(big.Rat), new(big.Rat), int64(0)
		now := noon
		for i := range traceSteps {
			now += rng.Int64N(2 * q.spec.Period.Microseconds())
			if elapsed := now - at; at > 0 {
				refilled := big.NewRat(q.limit, q.spec.Period.Microseconds())
				refilled.Mul(refilled, big.NewRat(elapsed, 1))
				if level.Sub(level, refilled); level.Sign() < 0 {
					level.SetInt64(0)
				}
			}
			at = now
			if rng.IntN(5) == 0 {
				key.peek(q, now, Ask{}) // settles what the old rate has drained
				q = fineQuota(rng)
				slack.Add(slack, big.NewRat(1, q.unit))
			}
			cost := 1 + rng.Int64N(q.burst)
			o := key.take(q, now, Ask{Cost: cost})
			wanted := new(big.Rat).Add(level, big.NewRat(cost, 1))
			full := big.NewRat(q.burst, 1)
			switch {
			case o.Granted && wanted.Cmp(full) > 0:
				return fmt.Errorf("%+v: step %d: granted %d, spent %v before", q.Spec(), i, cost, level)
			case !o.Granted && new(big.Rat).Add(wanted, slack).Cmp(full) <= 0:
				return fmt.Errorf("%+v: step %d: denied %d, spent %v before", q.Spec(), i, cost, level)
			case o.Granted:
				level.Set(wanted)
			}
			spent := new(big.Rat)
			if s := key.state; s.Under == q {
				left, _ := q.drain(s, now)
				spent.SetFrac64(left, q.unit)
				if spent.Cmp(level) < 0 || spent.Cmp(new(big.Rat).Add(level, slack)) > 0 {
					return fmt.Errorf("%+v: step %d: spent %v, want %v to %v more", q.Spec(), i, spent, level, slack)
				}
			}
		}
		return nil
	})
}

// fineQuota returns a bucket with a tick of 1 µs, and no burst that another of them
// could not hold exactly.
func fineQuota(rng *rand.Rand) *Quota {
	return aQuota(rng, func(rng *rand.Rand) Spec {
		period := pick(rng, []time.Duration{time.Second, 7 * time.Second, time.Minute, 9973 * time.Millisecond, time.Hour})
		return bucketOf(1+rng.Int64N(1000), period, 1+rng.Int64N(1000))
	})
}
