package storetest

import (
	"context"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

func roundsRetryDown() core.Store {
	return editing(func(_ core.Charge, r *core.Result) {
		if r.RetryAfter > time.Millisecond && r.RetryAfter != core.Never {
			r.RetryAfter = r.RetryAfter.Truncate(time.Millisecond)
		}
	})
}

func roundsRetryUp() core.Store {
	return editing(func(_ core.Charge, r *core.Result) {
		if r.RetryAfter != core.Never {
			r.RetryAfter = (r.RetryAfter + time.Millisecond - 1).Truncate(time.Millisecond)
		}
	})
}

func retryIsTheWindow() core.Store {
	return editing(func(c core.Charge, r *core.Result) {
		if r.RetryAfter > 0 && r.RetryAfter != core.Never {
			r.RetryAfter = c.Quota.Window()
		}
	})
}

// retryIgnoresCost tells the wait for one unit.
func retryIgnoresCost() core.Store {
	return editing(func(_ core.Charge, r *core.Result) {
		if r.RetryAfter > 0 && r.RetryAfter != core.Never && r.Remaining == 0 {
			r.RetryAfter = r.NextAfter
		}
	})
}

func nextIsTheReset() core.Store {
	return editing(func(_ core.Charge, r *core.Result) { r.NextAfter = r.ResetAfter })
}

func resetIsTheWindow() core.Store {
	return editing(func(c core.Charge, r *core.Result) {
		if r.ResetAfter > 0 {
			r.ResetAfter = max(r.NextAfter, c.Quota.Window())
		}
	})
}

// deniedTriesExtend begins the wait anew with each try.
func deniedTriesExtend() core.Store {
	type wait struct{ until, retry time.Duration }
	begin := time.Now()
	waits := map[core.Key]wait{}
	return twisted(func(right storeCall, charges []core.Charge, results []core.Result) error {
		now := time.Since(begin)
		if w := waits[charges[0].Key]; len(charges) == 1 && now < w.until {
			waits[charges[0].Key] = wait{now + w.retry, w.retry}
			results[0] = core.Result{RetryAfter: w.retry}
			return nil
		}
		err := right(ctx, charges, results)
		if retry := results[0].RetryAfter; len(charges) == 1 && retry > 0 && retry != core.Never {
			waits[charges[0].Key] = wait{now + retry, retry}
		}
		return err
	})
}

// roundsInterval turns a rate into whole milliseconds a unit.
func roundsInterval() core.Store {
	return translating(func(c core.Charge) core.Charge {
		if s := c.Quota.Spec(); c.Quota.Algorithm() <= algo.LeakyBucket && s.Limit > 0 {
			s.Period = max(time.Millisecond, (s.Period / time.Duration(s.Limit)).Truncate(time.Millisecond))
			s.Limit = 1
			c.Quota = compile(s)
		}
		return c
	})
}

// slidesByWholeWindows is a fixed window under another name.
func slidesByWholeWindows() core.Store {
	return translating(func(c core.Charge) core.Charge {
		if s := c.Quota.Spec(); c.Quota.Algorithm() == algo.SlidingWindow || c.Quota.Algorithm() == algo.SlidingLog {
			c.Quota = compile(algo.Spec{Algorithm: algo.FixedWindow, Limit: s.Limit, Period: s.Period})
		}
		return c
	})
}

// refillsEachPeriod fills a bucket at the end of its period.
func refillsEachPeriod() core.Store {
	return translating(func(c core.Charge) core.Charge {
		if s := c.Quota.Spec(); c.Quota.Algorithm() == algo.TokenBucket {
			c.Quota = compile(algo.Spec{Algorithm: algo.FixedWindow, Limit: s.Burst, Period: s.Period})
		}
		return c
	})
}

// losesFractions counts whole units from the last time that it looked.
func losesFractions() core.Store {
	s := newReference()
	return twist{s, func(right storeCall, charges []core.Charge, results []core.Result) error {
		err := right(ctx, charges, results)
		for i, c := range charges {
			if !results[i].Granted && c.Quota.Algorithm() == algo.TokenBucket {
				s.model.reset(charges[i : i+1])
				s.alone(core.Charge{Key: c.Key, Quota: c.Quota, Cost: c.Quota.Capacity() - results[i].Remaining})
			}
		}
		return err
	}}
}

func forgetsExtra() core.Store {
	return translating(func(c core.Charge) core.Charge { c.Extra = 0; return c })
}

// grantsAllExtra tells as much as was asked for.
func grantsAllExtra() core.Store {
	return editing(func(c core.Charge, r *core.Result) {
		if r.Granted {
			r.Extra = c.Extra
		}
	})
}

// takesExtraOfADenial keeps what was drafted beyond the cost when a call is denied.
func takesExtraOfADenial() core.Store {
	s := newReference()
	return twist{s, func(right storeCall, charges []core.Charge, results []core.Result) error {
		err := right(ctx, charges, results)
		for i, c := range charges {
			if denied(charges, results) && results[i].Granted && c.Extra > 0 {
				results[i].Extra = s.alone(core.Charge{Key: c.Key, Quota: c.Quota, Extra: c.Extra}).Extra
			}
		}
		return err
	}}
}

func neverQueues() core.Store {
	return translating(func(c core.Charge) core.Charge { c.MaxDelay = 0; return c })
}

func hidesDelay() core.Store {
	return editing(func(_ core.Charge, r *core.Result) { r.Delay = 0 })
}

// queuesForAsLongAsItTakes does not look at MaxDelay, once there is one.
func queuesForAsLongAsItTakes() core.Store {
	return translating(func(c core.Charge) core.Charge {
		if c.MaxDelay > 0 {
			c.MaxDelay = forever
		}
		return c
	})
}

// queuesWithoutBound lets any number wait.
func queuesWithoutBound() core.Store {
	return translating(func(c core.Charge) core.Charge {
		if s := c.Quota.Spec(); s.Shaper {
			s.Queue = 1_000
			c.Quota = compile(s)
		}
		return c
	})
}

// tellsWaitForTheTurn tells a denied charge when its turn would be, and not when it
// may queue.
func tellsWaitForTheTurn() core.Store {
	return editing(func(c core.Charge, r *core.Result) {
		if !r.Granted && c.Quota.Algorithm() <= algo.LeakyBucket && r.RetryAfter != core.Never {
			r.RetryAfter += min(c.MaxDelay, time.Hour)
		}
	})
}

// takesTurnsOfDenials keeps a place in the queue for charges whose call is denied.
func takesTurnsOfDenials() core.Store {
	s := newReference()
	return twist{s, func(right storeCall, charges []core.Charge, results []core.Result) error {
		err := right(ctx, charges, results)
		for i, c := range charges {
			if denied(charges, results) && results[i].Granted && c.MaxDelay > 0 {
				s.alone(c)
			}
		}
		return err
	}}
}

// queuesEverywhere grants a denied charge of any algorithm for the time when it
// would fit.
func queuesEverywhere() core.Store {
	return editing(func(c core.Charge, r *core.Result) {
		if !r.Granted && !r.Blocked && r.RetryAfter <= c.MaxDelay {
			r.Granted, r.Delay, r.RetryAfter = true, r.RetryAfter, 0
		}
	})
}

// peekSpends answers Peek with Take.
type peekSpends struct{ *reference }

func (s peekSpends) Peek(ctx context.Context, charges []core.Charge, results []core.Result) error {
	return s.Take(ctx, charges, results)
}

// peekAlwaysGrants only looks for numbers.
type peekAlwaysGrants struct{ *reference }

func (s peekAlwaysGrants) Peek(ctx context.Context, charges []core.Charge, results []core.Result) error {
	err := s.reference.Peek(ctx, charges, results)
	for i := range results {
		if results[i].Remaining > 0 {
			results[i].Granted, results[i].RetryAfter = true, 0
		}
	}
	return err
}

// peekSeesItsOwn tells the numbers that there would be after the charge.
type peekSeesItsOwn struct{ *reference }

func (s peekSeesItsOwn) Peek(ctx context.Context, charges []core.Charge, results []core.Result) error {
	err := s.reference.Peek(ctx, charges, results)
	for i, c := range charges {
		if results[i].Granted {
			results[i].Remaining = max(0, results[i].Remaining-c.Cost)
		}
	}
	return err
}

// peekLetsShadowsVeto denies what stands beside a denied shadow charge.
type peekLetsShadowsVeto struct{ *reference }

func (s peekLetsShadowsVeto) Peek(ctx context.Context, charges []core.Charge, results []core.Result) error {
	err := s.reference.Peek(ctx, charges, results)
	vetoed := false
	for i, c := range charges {
		vetoed = vetoed || c.Shadow && !results[i].Granted
	}
	for i := range charges {
		if vetoed && results[i].Granted {
			results[i].Granted, results[i].RetryAfter = false, time.Second
		}
	}
	return err
}

// peekTakesTurns is right for all charges but those that would wait.
type peekTakesTurns struct{ *reference }

func (s peekTakesTurns) Peek(ctx context.Context, charges []core.Charge, results []core.Result) error {
	if len(charges) == 1 && charges[0].MaxDelay > 0 {
		return s.Take(ctx, charges, results)
	}
	return s.reference.Peek(ctx, charges, results)
}
