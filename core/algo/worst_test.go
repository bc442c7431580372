package algo

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// mostInASpan returns the most units that a trace holds in any span shorter than a
// period.
func mostInASpan(log []admission, period int64) (most int64) {
	sum, first := int64(0), 0
	for _, a := range log {
		sum += a.units
		for log[first].at <= a.at-period {
			sum -= log[first].units
			first++
		}
		most = max(most, sum)
	}
	return most
}

// play lets an attacker ask at each of the instants for as much as he wants of what
// he can get, and returns what was admitted.
func play(q *Quota, moves []admission) (log []admission) {
	var s State
	for _, m := range moves {
		_, o := q.Peek(s, m.at, Ask{})
		if units := min(m.units, o.Remaining); units > 0 {
			s, _ = q.Take(s, m.at, Ask{Cost: units})
			log = append(log, admission{m.at, units})
		}
	}
	return log
}

// The sliding window of two counters takes the previous window to have been spent
// evenly. One who spends it all at its end finds room again as its weight fades,
// and in the worst span of one window gets 2·limit − 1: the last unit's room only
// comes with the next edge. The search below finds that and nothing more:
//
//	limit 10, 100, 1 000:  19, 199, 1 999 in a span of one window
//
// which is what the fixed window of the same limit lets through at once, around an
// edge, and one less. What it does better is the burst, which is never above the
// limit at one instant, and the average attacker.
func TestTwoCountersAtTheirWorst(t *testing.T) {
	for _, limit := range []int64{1, 2, 3, 10, 100, 1000} {
		q := mustCompile(t, slidingOf(limit, 100*time.Millisecond))
		period := q.period

		// All of it at the last microsecond of a window, then whatever fades.
		worst := []admission{{noon + period - 1, limit}}
		for e := int64(0); e < period-1; e++ {
			worst = append(worst, admission{noon + period + e, limit})
		}
		most := mostInASpan(play(q, worst), period)

		// And every other way that a search comes upon.
		rng := rand.New(rand.NewPCG(*seedFlag, uint64(limit)))
		for range manySteps() / 20_000 {
			most = max(most, climb(rng, q))
		}
		if want := 2*limit - 1; most != want {
			t.Errorf("limit %d: an attacker gets %d in a span of one window, want %d", limit, most, want)
		}
	}
}

// climb changes random moves one by one, and keeps what does not make it worse for
// the attacker.
func climb(rng *rand.Rand, q *Quota) int64 {
	random := func() admission {
		m := admission{noon + rng.Int64N(4*q.period), 1 + rng.Int64N(q.limit)}
		switch rng.IntN(4) {
		case 0: // beside an edge
			m.at = noon + q.period*(1+rng.Int64N(3)) + rng.Int64N(5) - 3
		case 1:
			m.units = q.limit
		}
		return m
	}
	moves := make([]admission, 24)
	for i := range moves {
		moves[i] = random()
	}
	best := int64(0)
	for range 400 {
		next := slices.Clone(moves)
		next[rng.IntN(len(next))] = random()
		slices.SortFunc(next, func(a, b admission) int { return int(a.at - b.at) })
		if got := mostInASpan(play(q, next), q.period); got >= best {
			moves, best = next, got
		}
	}
	return best
}

// Never a burst above the limit, and the whole limit as soon as one window has been
// left out.
func TestTwoCountersBurst(t *testing.T) {
	q := mustCompile(t, slidingOf(100, time.Second))
	rng := rand.New(rand.NewPCG(*seedFlag, 0))
	var s State
	now := noon
	for range manySteps() / 10 {
		now += rng.Int64N(q.period / 10)
		burst := int64(0)
		for {
			var o Outcome
			cost := 1 + rng.Int64N(3)
			if s, o = q.Take(s, now, Ask{Cost: cost}); !o.Granted {
				break
			}
			burst += cost
		}
		if burst > 100 {
			t.Fatalf("at %d: a burst of %d, want at most 100", now, burst)
		}
		if _, o := q.Peek(s, now+2*q.period, Ask{Cost: 100}); !o.Granted {
			t.Fatalf("two windows later: %+v, want the whole limit", o)
		}
	}
}

// The same attackers on the windows that promise more.
func TestWorstCaseOfTheOtherWindows(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want int64
	}{
		{fixedOf(100, 100*time.Millisecond), 200},
		{cellsOf(100, 100*time.Millisecond, 10), 100},
		{logOf(100, 100*time.Millisecond), 100},
	} {
		q := mustCompile(t, c.spec)
		var key counter
		var log []admission
		for at := noon + q.period - 1; at < noon+3*q.period; at += 499 {
			left := key.peek(q, at, Ask{}).Remaining
			if left > 0 && key.take(q, at, Ask{Cost: left}).Granted {
				log = append(log, admission{at, left})
			}
		}
		if got := mostInASpan(log, q.period); got != c.want {
			t.Errorf("%s: an attacker gets %d in a span of one window, want %d", c.spec.name(), got, c.want)
		}
	}
}
