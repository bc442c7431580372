package algo

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// One grant of a bucket is given back later, in whole. Nobody is better off than
// had it never been asked for; and as long as its units had not begun to drain,
// nobody is worse off either.
func TestGiveToABucketIsNoBetterThanNeverAsking(t *testing.T) {
	t.Parallel()
	for _, kind := range []func(*rand.Rand) Spec{aBucket, aMeter} {
		eachTrace(t, manySteps()/2, func(rng *rand.Rand) error {
			q := aQuota(rng, kind)
			for range 10 {
				if err := giveOne(rng, q); err != nil {
					return fmt.Errorf("%+v (tick %v): %w", q.Spec(), q.Tick(), err)
				}
			}
			return nil
		})
	}
}

func giveOne(rng *rand.Rand, q *Quota) error {
	const asks = traceSteps / 10
	var key counter
	without := newModel(q.Spec(), q.tick).(*spanModel)
	chosen := rng.IntN(asks)
	var units, before int64
	var receipt Receipt
	now := noon + rng.Int64N(1e12)
	for i := range asks {
		now += rng.Int64N(1 + q.Window().Microseconds()/int64(1+rng.IntN(30)))
		if i > chosen && rng.IntN(6) == 0 {
			break
		}
		level, _ := q.drain(key.state, now)
		cost := 1 + rng.Int64N(1+rng.Int64N(q.burst))
		o := key.take(q, now, Ask{Cost: cost})
		switch {
		case i == chosen && !o.Granted:
			return nil
		case i == chosen:
			units, before, receipt = cost, level, o.Receipt
		case o.Granted:
			without.admit(now, cost)
		}
	}
	if units == 0 {
		return nil
	}
	level, at := q.drain(key.state, now)
	undrained := drained(before, (at-receipt.At)/q.tick, q.limit)
	key.give(q, now, units, receipt, false)
	got, _ := q.drain(key.state, now)
	if best := without.excess(now); got < best {
		return fmt.Errorf("gave back %d: %d spent, want no less than had they never been taken: %d", units, got, best)
	}
	if got < 0 || got > level {
		return fmt.Errorf("gave back %d: %d spent, of %d", units, got, level)
	}
	if undrained > 0 && got != level-units*q.unit {
		return fmt.Errorf("gave back %d before they began to drain: %d spent, want %d less than %d", units, got, units*q.unit, level)
	}
	return nil
}

// Many grants are given back, in any order. What was admitted and kept is within
// two bursts and the rate in any span; when only last turns come back, within one.
func TestGiveKeepsABucketWithinItsBound(t *testing.T) {
	t.Parallel()
	for _, kind := range []func(*rand.Rand) Spec{aBucket, aMeter, aShaper} {
		eachTrace(t, manySteps()/2, func(rng *rand.Rand) error {
			q := aQuota(rng, kind)
			turns := q.spec.Shaper || rng.IntN(2) == 0
			if err := giveMany(rng, q, turns); err != nil {
				return fmt.Errorf("%+v (tick %v), turns %v: %w", q.Spec(), q.Tick(), turns, err)
			}
			return nil
		})
	}
}

func giveMany(rng *rand.Rand, q *Quota, turns bool) error {
	var key counter
	var grants []grant
	now := noon + rng.Int64N(1e12)
	for range traceSteps {
		now += rng.Int64N(1 + q.Window().Microseconds()/int64(1+rng.IntN(50)))
		ask := Ask{Cost: 1 + rng.Int64N(1+rng.Int64N(q.burst))}
		if q.spec.Shaper {
			ask.MaxDelay = 1 << 60
		}
		if o := key.take(q, now, ask); o.Granted {
			grants = append(grants, grant{admission{now + o.Delay, ask.Cost}, o.Delay > 0, o.Receipt})
		}
		if len(grants) > 0 && rng.IntN(2) == 0 {
			g := &grants[len(grants)-1-rng.IntN(min(len(grants), 5))]
			if key.give(q, now, g.units, g.receipt, turns) {
				g.units = 0
			}
		}
	}
	slack := q.burst
	if turns {
		slack = 0
	}
	// What was given back takes part in nothing any more.
	grants = slices.DeleteFunc(grants, func(g grant) bool { return g.units == 0 })
	for i := range grants {
		sum := int64(0)
		for _, g := range grants[i:] {
			sum += g.units
			span := g.at - grants[i].at + 2*q.tick - 1
			allowed := q.burst + slack
			if q.spec.Shaper {
				allowed = g.units
			}
			if more(sum-allowed, q.spec.Period.Microseconds(), q.limit, span) {
				return fmt.Errorf("admitted and kept %d in %d µs, want at most %d and the rate", sum, span, allowed)
			}
		}
	}
	return nil
}
