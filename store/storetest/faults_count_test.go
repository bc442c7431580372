package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// The stores of these files are wrong in one way each, and named for it. All of
// them are the reference with one method changed.

// twist makes a store of the reference whose Take is f around the right one.
type twist struct {
	*reference
	f func(right storeCall, charges []core.Charge, results []core.Result) error
}

func twisted(f func(right storeCall, charges []core.Charge, results []core.Result) error) core.Store {
	return twist{newReference(), f}
}

func (s twist) Take(_ context.Context, charges []core.Charge, results []core.Result) error {
	return s.f(s.reference.Take, charges, results)
}

// edited is the reference with its answers changed: one result at a time, both in
// Take and in Peek.
type edited struct {
	*reference
	f func(c core.Charge, r *core.Result)
}

func editing(f func(c core.Charge, r *core.Result)) core.Store {
	return edited{newReference(), f}
}

func (s edited) Take(ctx context.Context, charges []core.Charge, results []core.Result) error {
	err := s.reference.Take(ctx, charges, results)
	s.edit(charges, results)
	return err
}

func (s edited) Peek(ctx context.Context, charges []core.Charge, results []core.Result) error {
	err := s.reference.Peek(ctx, charges, results)
	s.edit(charges, results)
	return err
}

func (s edited) edit(charges []core.Charge, results []core.Result) {
	for i, c := range charges {
		s.f(c, &results[i])
	}
}

// translated is the reference with its charges changed before it sees them.
type translated struct {
	*reference
	f func(c core.Charge) core.Charge
}

func translating(f func(c core.Charge) core.Charge) core.Store {
	return translated{newReference(), f}
}

func (s translated) all(charges []core.Charge) []core.Charge {
	list := make([]core.Charge, len(charges))
	for i, c := range charges {
		list[i] = s.f(c)
	}
	return list
}

func (s translated) Take(ctx context.Context, charges []core.Charge, results []core.Result) error {
	return s.reference.Take(ctx, s.all(charges), results)
}

func (s translated) Peek(ctx context.Context, charges []core.Charge, results []core.Result) error {
	return s.reference.Peek(ctx, s.all(charges), results)
}

func (s translated) Give(ctx context.Context, refunds []core.Refund) error {
	list := make([]core.Refund, len(refunds))
	for i, f := range refunds {
		c := s.f(core.Charge{Key: f.Key, Limit: f.Limit, Quota: f.Quota})
		list[i] = f
		list[i].Key, list[i].Quota = c.Key, c.Quota
	}
	return s.reference.Give(ctx, list)
}

func (s translated) Reset(ctx context.Context, charges []core.Charge) error {
	return s.reference.Reset(ctx, s.all(charges))
}

func (s translated) Block(ctx context.Context, c core.Charge, span time.Duration) error {
	return s.reference.Block(ctx, s.f(c), span)
}

func compile(s algo.Spec) *algo.Quota {
	q, err := algo.Compile(s)
	if err != nil {
		panic(err)
	}
	return q
}

func denied(charges []core.Charge, results []core.Result) bool {
	for i, r := range results {
		if !r.Granted && !charges[i].Shadow {
			return true
		}
	}
	return false
}

var ctx = context.Background()

// alone takes one charge in a call of its own.
func (s *reference) alone(c core.Charge) (r core.Result) {
	results := make([]core.Result, 1)
	_ = s.Take(ctx, []core.Charge{c}, results)
	return results[0]
}

func deniesWithError() core.Store {
	return twisted(func(right storeCall, charges []core.Charge, results []core.Result) error {
		err := right(ctx, charges, results)
		if denied(charges, results) {
			return errors.New("limit exceeded")
		}
		return err
	})
}

func chargesForNothing() core.Store { // cost 0 is taken for a cost left out
	return translating(func(c core.Charge) core.Charge {
		if c.Cost == 0 && c.Extra == 0 {
			c.Cost = 1
		}
		return c
	})
}

func tellsRemainingBefore() core.Store {
	return editing(func(c core.Charge, r *core.Result) {
		if r.Granted && r.Receipt != (algo.Receipt{}) {
			r.Remaining += c.Cost
		}
	})
}

// countsCallsNotUnits takes every cost for 1.
func countsCallsNotUnits() core.Store {
	return translating(func(c core.Charge) core.Charge {
		c.Cost = min(c.Cost, 1)
		return c
	})
}

// chargesOnDenial counts first and compares afterwards.
func chargesOnDenial() core.Store {
	s := newReference()
	return twist{s, func(right storeCall, charges []core.Charge, results []core.Result) error {
		err := right(ctx, charges, results)
		for i, c := range charges {
			if !results[i].Granted {
				s.alone(core.Charge{Key: c.Key, Quota: c.Quota, Extra: c.Cost})
			}
		}
		return err
	}}
}

func saysNeverIsAWait() core.Store {
	return editing(func(c core.Charge, r *core.Result) {
		if r.RetryAfter == core.Never {
			r.RetryAfter = c.Quota.Window() + time.Second
		}
	})
}

// overflows adds a cost to what is spent without looking for room.
func overflows() core.Store {
	return editing(func(c core.Charge, r *core.Result) {
		if c.Cost > math.MaxInt64/2 && !r.Granted {
			r.Granted, r.RetryAfter = true, 0
		}
	})
}

func zeroIsUnlimited() core.Store {
	return editing(func(c core.Charge, r *core.Result) {
		if c.Quota.Capacity() == 0 {
			*r = core.Result{Granted: true}
		}
	})
}

func ignoresHi() core.Store {
	return translating(func(c core.Charge) core.Charge { c.Key.Hi = 0; return c })
}

func ignoresLo() core.Store {
	return translating(func(c core.Charge) core.Charge { c.Key.Lo = 0; return c })
}

func foldsKey() core.Store {
	return translating(func(c core.Charge) core.Charge {
		c.Key.Hi, c.Key.Lo = c.Key.Hi^c.Key.Lo, 0
		return c
	})
}

// countsByCaller has one count for all limits of a caller.
func countsByCaller() core.Store {
	return translating(func(c core.Charge) core.Charge {
		c.Key = core.Key{Tag: c.Key.Tag}
		return c
	})
}

// hashesBriefly keeps 10 bits of a key.
func hashesBriefly() core.Store {
	return translating(func(c core.Charge) core.Charge {
		c.Key = core.Key{Hi: c.Key.Hi >> 54}
		return c
	})
}

// evictsAnyone forgets keys at random when it holds more than a hundred.
func evictsAnyone() core.Store {
	s := newReference()
	return twist{s, func(right storeCall, charges []core.Charge, results []core.Result) error {
		for k := range s.model.ledgers {
			if len(s.model.ledgers) <= 100 {
				break
			}
			delete(s.model.ledgers, k)
		}
		return right(ctx, charges, results)
	}}
}

// sweepsEverything forgets all keys each second, as long as the shortest window is.
func sweepsEverything() core.Store {
	s := newReference()
	last := time.Now()
	return twist{s, func(right storeCall, charges []core.Charge, results []core.Result) error {
		if time.Since(last) > time.Second {
			clear(s.model.ledgers)
			last = time.Now()
		}
		return right(ctx, charges, results)
	}}
}

// expiresEarly forgets a key half its window after it was last charged.
func expiresEarly() core.Store {
	s := newReference()
	used := map[core.Key]time.Time{}
	return twist{s, func(right storeCall, charges []core.Charge, results []core.Result) error {
		for _, c := range charges {
			if time.Since(used[c.Key]) > c.Quota.Window()/2 {
				delete(s.model.ledgers, c.Key)
			}
			used[c.Key] = time.Now()
		}
		return right(ctx, charges, results)
	}}
}

// neverForgets adds to a key what it has ever spent.
func neverForgets() core.Store {
	return translating(func(c core.Charge) core.Charge {
		spec := c.Quota.Spec()
		spec.Period = 300 * algo.Day
		c.Quota = compile(spec)
		return c
	})
}

// readsThenWrites looks, lets others run, and writes what it has worked out from
// what it saw.
type readsThenWrites struct{ *reference }

func (s readsThenWrites) Take(_ context.Context, charges []core.Charge, results []core.Result) error {
	s.mu.Lock()
	now := micros()
	d := s.model.draft(now, charges, results)
	s.mu.Unlock()
	runtime.Gosched()
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.denied {
		s.model.tellUnspent(d, charges, results)
	} else {
		for _, c := range charges {
			s.model.ledger(c.Key) // a draft of a key that was reset meanwhile
		}
		d.commit(s.model)
	}
	s.model.countDenials(now, charges, results)
	return nil
}

// spendsOneByOne has no step back from what it has spent.
func spendsOneByOne() core.Store {
	s := newReference()
	return twist{s, func(_ storeCall, charges []core.Charge, results []core.Result) error {
		for i, c := range charges {
			results[i] = s.alone(c)
			if !results[i].Granted && !c.Shadow {
				break
			}
		}
		return nil
	}}
}

// stopsAtTheFirstDenial leaves the results of what comes after it empty.
func stopsAtTheFirstDenial() core.Store {
	return twisted(func(right storeCall, charges []core.Charge, results []core.Result) error {
		err := right(ctx, charges, results)
		for i := range results {
			if !results[i].Granted && !charges[i].Shadow {
				for j := i + 1; j < len(results); j++ {
					results[j] = core.Result{RetryAfter: 1}
				}
				break
			}
		}
		return err
	})
}

// splitsByCaller decides the charges of each caller by themselves.
func splitsByCaller() core.Store {
	return twisted(func(right storeCall, charges []core.Charge, results []core.Result) error {
		for i, c := range charges {
			if i > 0 && c.Key.Tag == charges[0].Key.Tag {
				continue
			}
			var list []core.Charge
			var at []int
			for j := i; j < len(charges); j++ {
				if charges[j].Key.Tag == c.Key.Tag {
					list, at = append(list, charges[j]), append(at, j)
				}
			}
			got := make([]core.Result, len(list))
			if err := right(ctx, list, got); err != nil {
				return err
			}
			for j := range at {
				results[at[j]] = got[j]
			}
		}
		return nil
	})
}

// tellsAsIfSpent answers a denied call with the numbers of its draft.
type tellsAsIfSpent struct{ *reference }

func (s tellsAsIfSpent) Take(_ context.Context, charges []core.Charge, results []core.Result) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.model.draft(micros(), charges, results)
	if !d.denied {
		d.commit(s.model)
	}
	s.model.countDenials(micros(), charges, results)
	return nil
}

// duplicateKeySeesOldState decides each charge against what was before the call.
type duplicateKeySeesOldState struct{ *reference }

func (s duplicateKeySeesOldState) Take(_ context.Context, charges []core.Charge, results []core.Result) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := micros()
	s.model.peekEach(now, charges, results)
	if denied(charges, results) {
		s.model.countDenials(now, charges, results)
		return nil
	}
	for i := range charges {
		if results[i].Granted {
			s.model.take(now, charges[i:i+1], results[i:i+1])
		}
	}
	return nil
}

func (s duplicateKeySeesOldState) Peek(_ context.Context, charges []core.Charge, results []core.Result) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.model.peekEach(micros(), charges, results)
	return nil
}

func (m *model) peekEach(now int64, charges []core.Charge, results []core.Result) {
	for i := range charges {
		m.peek(now, charges[i:i+1], results[i:i+1])
	}
}

// locksInOrder takes a lock for each key, in the order of the charges.
type locksInOrder struct {
	*reference
	locks map[core.Key]chan struct{}
}

func (s locksInOrder) Take(ctx context.Context, charges []core.Charge, results []core.Result) error {
	for i, c := range charges {
		if i > 0 && c.Key == charges[i-1].Key {
			continue
		}
		lock := s.lock(c.Key)
		select {
		case lock <- struct{}{}:
			defer func() { <-lock }()
		case <-ctx.Done():
			return fmt.Errorf("waiting for a lock: %w", ctx.Err())
		}
		runtime.Gosched()
	}
	return s.reference.Take(ctx, charges, results)
}

func (s locksInOrder) lock(k core.Key) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.locks[k] == nil {
		s.locks[k] = make(chan struct{}, 1)
	}
	return s.locks[k]
}

// emptyCallFails takes a call without charges for a mistake.
func emptyCallFails() core.Store {
	return twisted(func(right storeCall, charges []core.Charge, results []core.Result) error {
		if len(charges) == 0 {
			return errors.New("no charges")
		}
		return right(ctx, charges, results)
	})
}
