package algo

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// A row of cells that many keys share, as a store keeps it for the keys it has no
// room for. Packed cells take one word each.
type cellRows struct {
	q      *Quota
	packed bool
	states [2][3]State
	words  [2][3]uint64
}

// column returns which of a row's cells a key is counted in.
func column(row, key int) int { return (key/(1+2*row) + row) % 3 }

func (c *cellRows) load(row, key int, now int64) State {
	if c.packed {
		return c.q.Unpack(c.words[row][column(row, key)], now)
	}
	return c.states[row][column(row, key)]
}

func (c *cellRows) estimate(key int, now int64) State {
	return c.q.Meet(c.load(0, key, now), c.load(1, key, now), now)
}

func (c *cellRows) raise(key int, s State, now int64) {
	for row := range c.states {
		joined := c.q.Join(c.load(row, key, now), s, now)
		c.states[row][column(row, key)] = joined
		c.words[row][column(row, key)] = c.q.Pack(joined, now)
	}
}

// aboutAPeriod returns how long a window of q is, or how long it takes to fill.
func aboutAPeriod(q *Quota) int64 {
	if q.spec.Period == Month {
		return 31 * Day.Microseconds()
	}
	return q.Window().Microseconds()
}

// exceeds reports how state s, meant to be an upper bound of want, is not one: it
// admits what want denies, now or later.
func exceeds(rng *rand.Rand, q *Quota, s, want State, now int64) error {
	for range 3 {
		ask := Ask{Cost: 1 + rng.Int64N(q.Capacity())}
		at := now + rng.Int64N(2*aboutAPeriod(q))
		_, mayTake := q.Take(want, at, ask)
		_, takes := q.Take(s, at, ask)
		if takes.Granted && !mayTake.Granted || takes.Remaining > mayTake.Remaining && takes.Granted == mayTake.Granted {
			return fmt.Errorf("cost %d at %d: granted %v with %d remaining, by the key's own state %v with %d",
				ask.Cost, at, takes.Granted, takes.Remaining, mayTake.Granted, mayTake.Remaining)
		}
	}
	return nil
}

// Keys that share cells: a decision by what the cells say never admits what the
// key's own state denies.
func TestSharedCellsNeverAdmitMore(t *testing.T) {
	t.Parallel()
	for _, packed := range []bool{false, true} {
		for _, kind := range []func(*rand.Rand) Spec{aBucket, aMeter, anAligned, aDay, aSliding} {
			eachTrace(t, manySteps()/5, func(rng *rand.Rand) error {
				q := aQuota(rng, kind)
				cells := cellRows{q: q, packed: packed}
				var own [7]State
				now := noon + rng.Int64N(Day.Microseconds())
				for i := range traceSteps {
					now += rng.Int64N(1 + aboutAPeriod(q)/int64(1+rng.IntN(20)))
					key := rng.IntN(len(own))
					if err := exceeds(rng, q, cells.estimate(key, now), own[key], now); err != nil {
						return fmt.Errorf("%+v packed %v: step %d: %w", q.Spec(), packed, i, err)
					}
					ask := Ask{Cost: 1 + rng.Int64N(q.Capacity())}
					if rng.IntN(2) == 0 {
						ask.Cost = 1
					}
					after, o := q.Take(cells.estimate(key, now), now, ask)
					if !o.Granted {
						continue
					}
					var exact Outcome
					if own[key], exact = q.Take(own[key], now, ask); !exact.Granted {
						return fmt.Errorf("%+v packed %v: step %d: the cells granted %d, the key's own state did not", q.Spec(), packed, i, ask.Cost)
					}
					cells.raise(key, after, now)
				}
				return nil
			})
		}
	}
}

// The least of two upper bounds is an upper bound, and so is the most of any two
// states; neither forgets or invents more than that.
func TestMeetAndJoin(t *testing.T) {
	t.Parallel()
	for _, kind := range []func(*rand.Rand) Spec{aBucket, aMeter, anAligned, aFirst, aDay, aMonth, aSliding} {
		eachTrace(t, manySteps()/20, func(rng *rand.Rand) error {
			q := aQuota(rng, kind)
			period := aboutAPeriod(q)
			for i := range traceSteps {
				now := noon + rng.Int64N(5*period)
				// Two bounds: the key's own spending, and other keys' on top.
				var key, a, b State
				for at := now - 3*period; at < now; at += 1 + rng.Int64N(period) {
					ask := Ask{Cost: 1 + rng.Int64N(q.Capacity())}
					before := key
					if key, _ = q.Take(key, at, ask); key == before {
						continue
					}
					a, b = q.Join(a, key, at), q.Join(b, key, at)
					for _, shared := range []*State{&a, &b} {
						if rng.IntN(2) == 0 {
							*shared, _ = q.Take(*shared, at, Ask{Cost: 1 + rng.Int64N(q.Capacity())})
						}
					}
				}
				for what, s := range map[string]State{"Meet(a, b)": q.Meet(a, b, now), "Join(a, key)": q.Join(a, key, now), "Join(key, b)": q.Join(key, b, now)} {
					if err := exceeds(rng, q, s, key, now); err != nil {
						return fmt.Errorf("%+v: step %d: %s: %w", q.Spec(), i, what, err)
					}
				}
				for what, s := range map[string]State{"Join(a, b)": q.Join(a, b, now), "Join(b, a)": q.Join(b, a, now)} {
					for _, part := range []State{a, b} {
						if err := exceeds(rng, q, s, part, now); err != nil {
							return fmt.Errorf("%+v: step %d: %s: %w", q.Spec(), i, what, err)
						}
					}
				}
				if got, most := q.Owes(q.Meet(a, b, now), now), min(q.Owes(a, now), q.Owes(b, now)); got > most {
					return fmt.Errorf("%+v: Meet(a, b) owes %d, want at most %d", q.Spec(), got, most)
				}
				if got, most := q.Owes(q.Join(a, b, now), now), q.Owes(a, now)+q.Owes(b, now); got > most {
					return fmt.Errorf("%+v: Join(a, b) owes %d, want at most %d", q.Spec(), got, most)
				}
				for what, got := range map[string]State{
					"Meet(a, 0)": q.Meet(a, State{}, now), "Meet(0, a)": q.Meet(State{}, a, now),
				} {
					if got != (State{}) {
						return fmt.Errorf("%+v: %s = %+v, want a fresh state", q.Spec(), what, got)
					}
				}
				for _, got := range []State{q.Join(a, State{}, now), q.Join(State{}, a, now)} {
					if err := exceeds(rng, q, got, a, now); err != nil || got != a && !q.spec.FirstRequest {
						return fmt.Errorf("%+v: joined with a fresh state, %+v became %+v: %w", q.Spec(), a, got, err)
					}
				}
			}
			return nil
		})
	}
}

// Windows of a key's own are the cell's windows for all its keys: never above the
// limit in one, nor above twice the limit in any span.
func TestSharedWindowOfItsOwn(t *testing.T) {
	eachTrace(t, manySteps(), func(rng *rand.Rand) error {
		q := aQuota(rng, aFirst)
		cells := cellRows{q: q, packed: rng.IntN(2) == 0}
		grants := map[int][]admission{}
		now := noon
		for range traceSteps {
			now += rng.Int64N(1 + q.period/int64(1+rng.IntN(20)))
			key := rng.IntN(7)
			cost := 1 + rng.Int64N(q.Capacity())
			after, o := q.Take(cells.estimate(key, now), now, Ask{Cost: cost})
			if !o.Granted {
				continue
			}
			cells.raise(key, after, now)
			grants[key] = append(grants[key], admission{now, cost})
		}
		for key, list := range grants {
			for i := range list {
				sum := int64(0)
				for _, g := range list[i:] {
					if g.at-list[i].at >= q.period {
						break
					}
					if sum += g.units; sum > 2*q.limit {
						return fmt.Errorf("%+v: key %d was granted %d within a window's length, want at most twice the limit", q.Spec(), key, sum)
					}
				}
			}
		}
		return nil
	})
}

// Once packed, a state has spent at least what it had, and not much more.
func TestPackRoundsUp(t *testing.T) {
	t.Parallel()
	for _, kind := range []func(*rand.Rand) Spec{aBucket, aMeter, anAligned, aFirst, aDay, aMonth, aSliding} {
		eachTrace(t, manySteps()/20, func(rng *rand.Rand) error {
			q := aQuota(rng, kind)
			period := aboutAPeriod(q)
			var s State
			now := noon
			for i := range traceSteps {
				now += rng.Int64N(1 + period/int64(1+rng.IntN(10)))
				s, _ = q.Take(s, now, Ask{Cost: 1 + rng.Int64N(q.Capacity())})
				word := q.Pack(s, now)
				later := now + rng.Int64N(2*period)
				for _, at := range []int64{now, later} {
					if err := exceeds(rng, q, q.Unpack(word, at), s, at); err != nil {
						return fmt.Errorf("%+v: step %d: packed at %d, read at %d: %w", q.Spec(), i, now, at, err)
					}
				}
				// A bucket loses a tick's worth at most, a window a part in 2^19 (sliding) or
				// nothing below two billion (fixed).
				most := q.Owes(s, now)
				switch q.spec.Algorithm {
				case TokenBucket, LeakyBucket:
					most += ceilDiv(q.limit, q.unit)
				case FixedWindow:
					most += q.packedUsed() - 1
				case SlidingWindow:
					most += 2 * (q.packedStep() - 1)
				}
				if got := q.Owes(q.Unpack(word, now), now); got > most {
					return fmt.Errorf("%+v: step %d: owes %d once packed, want at most %d", q.Spec(), i, got, most)
				}
				// Years later nothing is left of it.
				if got := q.Owes(q.Unpack(word, now+101*365*Day.Microseconds()), now+101*365*Day.Microseconds()); got != 0 {
					return fmt.Errorf("%+v: step %d: a hundred and one years later the packed state owes %d", q.Spec(), i, got)
				}
			}
			return nil
		})
	}
}

func TestPackOfNothing(t *testing.T) {
	for _, s := range []Spec{bucketOf(10, time.Second, 0), fixedOf(10, time.Second), slidingOf(10, time.Second)} {
		q := mustCompile(t, s)
		spent, _ := q.Take(State{}, at(0), Ask{Cost: 1})
		for what, got := range map[string]uint64{
			"a fresh state":   q.Pack(State{}, at(0)),
			"an expired one":  q.Pack(spent, at(time.Hour)),
			"one of limit 0":  mustCompile(t, Spec{Algorithm: s.Algorithm, Period: time.Second}).Pack(spent, at(0)),
			"one that is not": min(1, q.Pack(spent, at(0))) - 1,
		} {
			if got != 0 {
				t.Errorf("%s: Pack of %s = %#x, want 0", s.name(), what, got)
			}
		}
		if got := q.Unpack(0, at(0)); got != (State{}) {
			t.Errorf("%s: Unpack(0) = %+v, want a fresh state", s.name(), got)
		}
	}
}

// Reading a word back after the clock has stepped back a little.
func TestPackWithAClockBehind(t *testing.T) {
	for _, s := range []Spec{bucketOf(10, time.Second, 0), fixedOf(10, time.Second), slidingOf(10, time.Second)} {
		q := mustCompile(t, s)
		spent, _ := q.Take(State{}, at(0), Ask{Cost: 10})
		word := q.Pack(spent, at(0))
		if _, o := q.Take(q.Unpack(word, at(-5*time.Second)), at(-5*time.Second), Ask{Cost: 1}); o.Granted {
			t.Errorf("%s: granted five seconds before everything was spent", s.name())
		}
	}
}

// The number of a window is cut off in a word. A cell that nobody has touched for
// half of all the numbers is old, not one of a clock far ahead.
func TestPackForgetsOldWindows(t *testing.T) {
	q := mustCompile(t, slidingOf(10, time.Millisecond))
	spent, _ := q.Take(State{}, at(0), Ask{Cost: 10})
	word := q.Pack(spent, at(0))
	for windows := int64(2); windows < 1<<24-packedAhead; windows += 99_991 {
		now := at(0) + windows*q.period
		if got := q.Owes(q.Unpack(word, now), now); got != 0 {
			t.Fatalf("%d windows later the cell owes %d, want 0", windows, got)
		}
	}
}

// A bucket is frozen until the later of two instants, whichever of its bounds knows
// of it.
func TestMeetAndJoinOfAFrozenBucket(t *testing.T) {
	q := mustCompile(t, bucketOf(1, time.Second, 10))
	a, _ := q.Take(State{}, at(10*time.Second), Ask{Cost: 5})
	b, _ := q.Take(State{}, at(20*time.Second), Ask{Cost: 5})
	for what, got := range map[string]State{
		"Meet(a, b)": q.Meet(a, b, at(0)), "Meet(b, a)": q.Meet(b, a, at(0)),
		"Join(a, b)": q.Join(a, b, at(0)), "Join(b, a)": q.Join(b, a, at(0)),
	} {
		if want := (State{A: 5 * q.unit, B: at(20 * time.Second), Under: q}); got != want {
			t.Errorf("%s = %+v, want %+v", what, got, want)
		}
	}
}

// A debt that no double holds is the most that one does: it fits nowhere.
func TestPackOfAHugeDebt(t *testing.T) {
	slow := mustCompile(t, bucketOf(1, 400*Day, 1))
	fast := mustCompile(t, bucketOf(1_000_000_000, time.Second, 9_000_000))
	owing, _ := slow.Take(State{}, at(0), Ask{Cost: 1})
	word := slow.Pack(owing, at(0))
	got := fast.Unpack(word, at(0)) // not its own quota's word, but as far away as one can be
	if got.A != exact || fast.Owes(got, at(0)) < fast.Capacity() {
		t.Errorf("Unpack: %+v, want no more than 2^53 and no less than the capacity", got)
	}
}
