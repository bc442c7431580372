package storetest

import (
	"context"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

func isSlot(q *algo.Quota) bool { return q.Algorithm() == algo.Concurrency }

func countsNoHolders() core.Store {
	return editing(func(c core.Charge, r *core.Result) {
		if isSlot(c.Quota) && c.Cost <= c.Quota.Capacity() {
			r.Granted, r.RetryAfter = true, 0
		}
	})
}

// givesAnybodysSlot knows how many are held, and not by whom.
type givesAnybodysSlot struct{ *reference }

func (s givesAnybodysSlot) Give(ctx context.Context, refunds []core.Refund) error {
	for i, f := range refunds {
		s.mu.Lock()
		for slot := range s.model.ledger(f.Key).slots {
			refunds[i].Slot = slot
		}
		s.mu.Unlock()
		if err := s.reference.Give(ctx, refunds[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// forgetsHoldersOfAnotherNumber begins anew when the limit changes.
func forgetsHoldersOfAnotherNumber() core.Store {
	s, last := newReference(), map[core.Key]*algo.Quota{}
	return twist{s, func(right storeCall, charges []core.Charge, results []core.Result) error {
		s.mu.Lock()
		for _, c := range charges {
			if isSlot(c.Quota) && last[c.Key] != c.Quota {
				s.model.ledger(c.Key).slots = nil
				last[c.Key] = c.Quota
			}
		}
		s.mu.Unlock()
		return right(ctx, charges, results)
	}}
}

// keepsSlots resets everything but who holds what.
type keepsSlots struct{ *reference }

func (s keepsSlots) Reset(ctx context.Context, charges []core.Charge) error {
	kept := map[core.Key]holders{}
	for _, c := range charges {
		kept[c.Key] = s.model.ledger(c.Key).slots
	}
	err := s.reference.Reset(ctx, charges)
	for k, slots := range kept {
		s.model.ledger(k).slots = slots
	}
	return err
}

// endsSlotsByHold takes the hold for the longest that anybody may hold a slot.
func endsSlotsByHold() core.Store {
	s := newReference()
	ends := map[uint64]time.Time{}
	return twist{s, func(right storeCall, charges []core.Charge, results []core.Result) error {
		s.mu.Lock()
		for _, c := range charges {
			l := s.model.ledger(c.Key)
			for slot := range l.slots {
				if time.Now().After(ends[slot]) {
					l.slots = l.slots.with(slot, -l.slots[slot])
				}
			}
			ends[c.Slot] = time.Now().Add(c.Hold)
		}
		s.mu.Unlock()
		return right(ctx, charges, results)
	}}
}
