package storetest

import (
	"context"
	"slices"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// refillsOnQuotaChange forgets a key when its quota is another.
func refillsOnQuotaChange() core.Store {
	s := newReference()
	last := map[core.Key]*algo.Quota{}
	return forEach(s, func(c core.Charge) core.Charge {
		if q := last[c.Key]; q != nil && q != c.Quota {
			s.model.reset([]core.Charge{c})
		}
		last[c.Key] = c.Quota
		return c
	})
}

// forEach changes charges, and the store with them, under the store's lock.
func forEach(s *reference, f func(c core.Charge) core.Charge) core.Store {
	return translated{s, func(c core.Charge) core.Charge {
		s.mu.Lock()
		defer s.mu.Unlock()
		return f(c)
	}}
}

// keepsTheFirstQuota goes on with the quota that it has met first.
func keepsTheFirstQuota() core.Store {
	first := map[core.Key]*algo.Quota{}
	return forEach(newReference(), func(c core.Charge) core.Charge {
		if first[c.Key] == nil {
			first[c.Key] = c.Quota
		}
		c.Quota = first[c.Key]
		return c
	})
}

// forgetsWhenThePeriodChanges has a count for each period.
func forgetsWhenThePeriodChanges() core.Store {
	return translating(func(c core.Charge) core.Charge {
		c.Key.Hi ^= uint64(c.Quota.Spec().Period)
		return c
	})
}

// agesNever takes what was spent under another period to have been spent now.
func agesNever() core.Store {
	s := newReference()
	last := map[core.Key]*algo.Quota{}
	return forEach(s, func(c core.Charge) core.Charge {
		l := s.model.ledger(c.Key)
		if q := last[c.Key]; q != nil && q != c.Quota && c.Quota.Algorithm() == algo.SlidingLog {
			owes := l.log.replay().LogOwes(micros())
			l.log = history{{quota: c.Quota, at: micros(), ask: algo.Ask{Cost: owes}}}
		}
		last[c.Key] = c.Quota
		return c
	})
}

// forgetsWhenAlignmentChanges has a count for each kind of window.
func forgetsWhenAlignmentChanges() core.Store {
	return translating(func(c core.Charge) core.Charge {
		if c.Quota.Spec().FirstRequest {
			c.Key.Hi++
		}
		return c
	})
}

// remainingBelowZero tells what is left of a lowered quota as it works out.
func remainingBelowZero() core.Store {
	spent := map[core.Key]int64{}
	return editing(func(c core.Charge, r *core.Result) {
		if r.Granted && r.Receipt != (algo.Receipt{}) {
			spent[c.Key] += c.Cost
		}
		if !r.Granted && r.Remaining == 0 {
			r.Remaining = c.Quota.Capacity() - spent[c.Key]
		}
	})
}

// forgivesWhenLowered lets nobody have spent more than the quota.
func forgivesWhenLowered() core.Store {
	s := newReference()
	return forEach(s, func(c core.Charge) core.Charge {
		l := s.model.ledger(c.Key)
		if u := l.state.Under; u != nil && u != c.Quota && u.Algorithm() == c.Quota.Algorithm() && !c.Quota.Wide() {
			if owes := c.Quota.Owes(l.state, micros()); owes > c.Quota.Capacity() {
				l.state, _ = c.Quota.Take(algo.State{}, micros(), algo.Ask{Cost: c.Quota.Capacity()})
			}
		}
		return c
	})
}

// countsDenials counts what it denies too, in a fixed window.
func countsDenials() core.Store {
	s := newReference()
	return twist{s, func(right storeCall, charges []core.Charge, results []core.Result) error {
		err := right(ctx, charges, results)
		for i, c := range charges {
			if spec := c.Quota.Spec(); !results[i].Granted && c.Quota.Algorithm() == algo.FixedWindow {
				spec.Limit *= 10
				s.alone(core.Charge{Key: c.Key, Quota: compile(spec), Cost: c.Cost})
			}
		}
		return err
	}}
}

// retryAtMostTheWindow takes it that nobody waits for longer than a window.
func retryAtMostTheWindow() core.Store {
	return editing(func(c core.Charge, r *core.Result) {
		if r.RetryAfter != core.Never {
			r.RetryAfter = min(r.RetryAfter, c.Quota.Window())
		}
	})
}

// keepsTheFirstBurst lets the rate change, and not the burst.
func keepsTheFirstBurst() core.Store {
	burst := map[core.Key]int64{}
	return forEach(newReference(), func(c core.Charge) core.Charge {
		s := c.Quota.Spec()
		if c.Quota.Algorithm() != algo.TokenBucket || s.Limit == 0 {
			return c
		}
		if burst[c.Key] == 0 {
			burst[c.Key] = s.Burst
		}
		s.Burst = burst[c.Key]
		c.Quota = compile(s)
		return c
	})
}

// stopsWhenLowered never drains what is above a lowered burst.
func stopsWhenLowered() core.Store {
	s := newReference()
	return forEach(s, func(c core.Charge) core.Charge {
		l := s.model.ledger(c.Key)
		if u := l.state.Under; u != nil && u.Algorithm() == c.Quota.Algorithm() && c.Quota.Algorithm() <= algo.LeakyBucket &&
			c.Quota.Owes(l.state, micros()) > c.Quota.Capacity() {
			l.state.B = micros()
		}
		return c
	})
}

// ignoresAlgorithmChange denies by what a key spent under any algorithm.
func ignoresAlgorithmChange() core.Store {
	first := map[core.Key]*algo.Quota{}
	return forEach(newReference(), func(c core.Charge) core.Charge {
		if first[c.Key] == nil {
			first[c.Key] = c.Quota
		}
		if first[c.Key].Algorithm() != c.Quota.Algorithm() {
			c.Quota = first[c.Key]
		}
		return c
	})
}

// modifiesCharges puts them in the order in which it locks.
func modifiesCharges() core.Store {
	return twisted(func(right storeCall, charges []core.Charge, results []core.Result) error {
		err := right(ctx, charges, results)
		slices.SortFunc(charges, func(a, b core.Charge) int { return int(a.Key.Hi>>33) - int(b.Key.Hi>>33) })
		return err
	})
}

// retainsSlices spends when it is called next, as if it had a queue of its own.
type retainsSlices struct {
	*reference
	pending []core.Charge
}

func (s *retainsSlices) flush() {
	if s.pending != nil {
		_ = s.reference.Take(ctx, s.pending, make([]core.Result, len(s.pending)))
		s.pending = nil
	}
}

func (s *retainsSlices) Take(ctx context.Context, charges []core.Charge, results []core.Result) error {
	s.flush()
	s.pending = charges
	return s.reference.Peek(ctx, charges, results)
}

func (s *retainsSlices) Peek(ctx context.Context, charges []core.Charge, results []core.Result) error {
	s.flush()
	return s.reference.Peek(ctx, charges, results)
}

// retainsResults writes results once more when it is called next.
type retainsResults struct {
	*reference
	old  []core.Result
	kept []core.Result
}

func (s *retainsResults) Take(ctx context.Context, charges []core.Charge, results []core.Result) error {
	err := s.reference.Take(ctx, charges, results)
	s.old, s.kept = results, slices.Clone(results)
	return err
}

func (s *retainsResults) Peek(ctx context.Context, charges []core.Charge, results []core.Result) error {
	copy(s.old, s.kept)
	return s.reference.Peek(ctx, charges, results)
}

// leaksResults writes only the fields that say something.
type leaksResults struct{ *reference }

func (s leaksResults) Take(ctx context.Context, charges []core.Charge, results []core.Result) error {
	fresh := make([]core.Result, len(results))
	err := s.reference.Take(ctx, charges, fresh)
	for i, r := range fresh {
		results[i].Granted, results[i].Remaining = r.Granted, r.Remaining
		results[i].NextAfter, results[i].ResetAfter = r.NextAfter, r.ResetAfter
		results[i].Receipt, results[i].RetryAfter = r.Receipt, r.RetryAfter
		if r.Extra > 0 {
			results[i].Extra = r.Extra
		}
		if r.Blocked {
			results[i].Blocked = true
		}
		if r.Delay > 0 {
			results[i].Delay = r.Delay
		}
	}
	return err
}

// wrongOnceInAWhile answers rightly but for a microsecond, once in a while.
func wrongOnceInAWhile() core.Store {
	n := 0
	return editing(func(_ core.Charge, r *core.Result) {
		if n++; n%97 == 0 && r.ResetAfter > 0 {
			r.ResetAfter += time.Microsecond
		}
	})
}
