package storetest

import (
	"context"
	"slices"
	"time"

	"github.com/tidegate/tidegate/core"
)

func shadowVetoes() core.Store {
	return translating(func(c core.Charge) core.Charge { c.Shadow = false; return c })
}

// shadowNeverCharged only looks at shadow charges.
func shadowNeverCharged() core.Store {
	s := newReference()
	return twist{s, func(right storeCall, charges []core.Charge, results []core.Result) error {
		var list []core.Charge
		var at []int
		for i, c := range charges {
			if c.Shadow {
				_ = s.Peek(ctx, charges[i:i+1], results[i:i+1])
			} else {
				list, at = append(list, c), append(at, i)
			}
		}
		got := make([]core.Result, len(list))
		err := right(ctx, list, got)
		for i := range at {
			results[at[i]] = got[i]
		}
		return err
	}}
}

// shadowChargedOnDenial takes shadow charges by themselves.
func shadowChargedOnDenial() core.Store {
	s := newReference()
	return twist{s, func(right storeCall, charges []core.Charge, results []core.Result) error {
		err := right(ctx, charges, results)
		for _, c := range charges {
			if denied(charges, results) && c.Shadow {
				s.alone(c)
			}
		}
		return err
	}}
}

// shadowAlwaysFits does not report what a shadow limit denies.
func shadowAlwaysFits() core.Store {
	return editing(func(c core.Charge, r *core.Result) {
		if c.Shadow {
			r.Granted, r.Blocked, r.RetryAfter = true, false, 0
		}
	})
}

// shadowGoesFirst decides all charges in the order in which they come.
type shadowGoesFirst struct{ *reference }

func (s shadowGoesFirst) Take(_ context.Context, charges []core.Charge, results []core.Result) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := micros()
	plain := make([]core.Charge, len(charges))
	for i, c := range charges {
		plain[i] = c
		plain[i].Shadow = false
	}
	d := s.model.draft(now, plain, results)
	if denied(charges, results) {
		s.model.tellUnspent(d, charges, results)
	} else {
		d.commit(s.model)
	}
	s.model.countDenials(now, charges, results)
	return nil
}

// shadowPenalises lets a block of a shadow limit deny.
func shadowPenalises() core.Store {
	return twisted(func(right storeCall, charges []core.Charge, results []core.Result) error {
		list := slices.Clone(charges)
		for i, c := range charges {
			if c.Shadow && c.Penalty != nil && askNothing(right, c).Blocked {
				list[i].Shadow = false
			}
		}
		return right(ctx, list, results)
	})
}

// askNothing asks for no units, to see whether a key is blocked.
func askNothing(right storeCall, c core.Charge) core.Result {
	c.Cost, c.Extra = 0, 0
	results := make([]core.Result, 1)
	_ = right(ctx, []core.Charge{c}, results)
	return results[0]
}

// shadowHasNoPenalty counts no denials of shadow charges.
func shadowHasNoPenalty() core.Store {
	return translating(func(c core.Charge) core.Charge {
		if c.Shadow {
			c.Penalty = nil
		}
		return c
	})
}

// penaltyExtends begins a block anew with each denial in it.
func penaltyExtends() core.Store {
	s := newReference()
	return twist{s, func(right storeCall, charges []core.Charge, results []core.Result) error {
		err := right(ctx, charges, results)
		for i, c := range charges {
			if results[i].Blocked {
				_ = s.Block(ctx, c, c.Penalty.Block)
			}
		}
		return err
	}}
}

// penaltyCountsForever does not look at Within.
func penaltyCountsForever() core.Store {
	return translating(func(c core.Charge) core.Charge {
		if c.Penalty != nil {
			p := *c.Penalty
			p.Within = 1000 * time.Hour
			c.Penalty = &p
		}
		return c
	})
}

// penaltyComesLate does not say of the denial that starts a block that it does.
func penaltyComesLate() core.Store {
	s := newReference()
	return twist{s, func(right storeCall, charges []core.Charge, results []core.Result) error {
		before := make([]core.Result, len(charges))
		_ = s.Peek(ctx, charges, before)
		err := right(ctx, charges, results)
		for i := range results {
			if !before[i].Blocked {
				results[i].Blocked = false
			}
		}
		return err
	}}
}

// penaltyForAnyDenial counts a denied call for all of its limits.
type penaltyForAnyDenial struct{ *reference }

func (s penaltyForAnyDenial) Take(ctx context.Context, charges []core.Charge, results []core.Result) error {
	err := s.reference.Take(ctx, charges, results)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, c := range charges {
		if denied(charges, results) && results[i].Granted && c.Penalty != nil {
			s.model.ledger(c.Key).record.Denied(*c.Penalty, micros())
		}
	}
	return err
}

// penaltyHidesTheQuota tells how long a block lasts, though the quota takes longer.
func penaltyHidesTheQuota() core.Store {
	s := newReference()
	return edited{s, func(c core.Charge, r *core.Result) {
		if r.Blocked {
			r.RetryAfter = span(s.model.ledger(c.Key).record.Blocked(micros()))
		}
	}}
}

// penaltyMissesSome reads how often a key was denied, lets others run, and writes
// one more.
type penaltyMissesSome struct {
	*reference
	denials map[core.Key]int64
}

func (s penaltyMissesSome) Take(ctx context.Context, charges []core.Charge, results []core.Result) error {
	c := charges[0]
	if len(charges) > 1 || c.Penalty == nil || askNothing(s.reference.Take, c).Blocked {
		return s.reference.Take(ctx, charges, results)
	}
	c.Penalty = nil
	if results[0] = s.alone(c); results[0].Granted {
		return nil
	}
	s.mu.Lock()
	n := s.denials[c.Key] + 1
	s.mu.Unlock()
	time.Sleep(time.Microsecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denials[c.Key] = n
	if results[0].Blocked = n >= charges[0].Penalty.After; results[0].Blocked {
		s.model.block(micros(), c, charges[0].Penalty.Block)
	}
	return nil
}

// peekIsPunished counts denials of Peek.
type peekIsPunished struct{ *reference }

func (s peekIsPunished) Peek(ctx context.Context, charges []core.Charge, results []core.Result) error {
	err := s.reference.Peek(ctx, charges, results)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.model.countDenials(micros(), charges, results)
	return err
}

// blockSpends drains the key instead of blocking it.
type blockSpends struct{ *reference }

func (s blockSpends) Block(ctx context.Context, c core.Charge, span time.Duration) error {
	if span > 0 {
		s.alone(core.Charge{Key: c.Key, Quota: c.Quota, Extra: c.Quota.Capacity()})
	}
	return s.reference.Block(ctx, c, span)
}

// blockStays takes a span of 0 for no change.
type blockStays struct{ *reference }

func (s blockStays) Block(ctx context.Context, c core.Charge, span time.Duration) error {
	if span == 0 {
		return nil
	}
	return s.reference.Block(ctx, c, span)
}

// blockOnlyGrows keeps the longer of two blocks.
type blockOnlyGrows struct{ *reference }

func (s blockOnlyGrows) Block(ctx context.Context, c core.Charge, d time.Duration) error {
	s.mu.Lock()
	left := span(s.model.ledger(c.Key).record.Blocked(micros()))
	s.mu.Unlock()
	if d > 0 && d < left {
		return nil
	}
	return s.reference.Block(ctx, c, d)
}

// blockRoundsUp counts blocks in whole minutes.
type blockRoundsUp struct{ *reference }

func (s blockRoundsUp) Block(ctx context.Context, c core.Charge, span time.Duration) error {
	return s.reference.Block(ctx, c, (span + time.Minute - 1).Truncate(time.Minute))
}
