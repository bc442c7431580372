package storetest

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// giver is the reference with its refunds changed.
type giver struct {
	*reference
	f func(f core.Refund) (core.Refund, bool)
}

func giving(f func(f core.Refund) (core.Refund, bool)) core.Store {
	return giver{newReference(), f}
}

func (s giver) Give(ctx context.Context, refunds []core.Refund) error {
	var list []core.Refund
	for _, f := range refunds {
		if changed, ok := s.f(f); ok {
			list = append(list, changed)
		}
	}
	return s.reference.Give(ctx, list)
}

func neverGives() core.Store {
	return giving(func(f core.Refund) (core.Refund, bool) { return f, false })
}

func givesTurnsAlways() core.Store {
	return giving(func(f core.Refund) (core.Refund, bool) { f.Turn = false; return f, true })
}

func givesOnlyTurns() core.Store {
	return giving(func(f core.Refund) (core.Refund, bool) { f.Turn = true; return f, true })
}

// givesRefilled looks at what is spent, and not at what has been refilled of it.
func givesRefilled() core.Store {
	return giving(func(f core.Refund) (core.Refund, bool) {
		if f.Quota.Algorithm() <= algo.LeakyBucket && f.Receipt != (algo.Receipt{}) {
			f.Receipt = algo.Receipt{At: micros(), Level: math.MaxInt64}
		}
		return f, true
	})
}

// givesPlacesInTheMiddle lets those behind in a queue move up, after they have been
// told their turns.
func givesPlacesInTheMiddle() core.Store {
	s := newReference()
	return giver{s, func(f core.Refund) (core.Refund, bool) {
		if f.Quota.Spec().Shaper {
			f.Receipt = s.newest(f)
		}
		return f, true
	}}
}

// newest returns a receipt for whatever the key has spent last.
func (s *reference) newest(f core.Refund) algo.Receipt {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.model.ledger(f.Key)
	if f.Quota.Wide() {
		if len(l.log) == 0 {
			return algo.Receipt{}
		}
		e := l.log[len(l.log)-1]
		grain := int64(1)
		if n := int64(f.Quota.Spec().Cells); n > 0 {
			grain = (f.Quota.Spec().Period.Microseconds() + n - 1) / n
		}
		return algo.Receipt{At: e.at - e.at%grain}
	}
	return algo.Receipt{At: l.state.B, Level: l.state.A}
}

// givesAfterWindow returns units to whatever window the key is in now.
func givesAfterWindow() core.Store {
	s := newReference()
	return giver{s, func(f core.Refund) (core.Refund, bool) {
		if f.Receipt != (algo.Receipt{}) {
			f.Receipt = s.newest(f)
		}
		return f, true
	}}
}

// givesWithoutReceipt returns units to the newest window when it is told none.
func givesWithoutReceipt() core.Store {
	s := newReference()
	return giver{s, func(f core.Refund) (core.Refund, bool) {
		if f.Receipt == (algo.Receipt{}) {
			f.Receipt = s.newest(f)
		}
		return f, true
	}}
}

// givesOnlyTheSameQuota drops refunds of keys whose quota has changed.
func givesOnlyTheSameQuota() core.Store {
	s := newReference()
	return giver{s, func(f core.Refund) (core.Refund, bool) {
		l := s.model.ledger(f.Key)
		if f.Quota.Wide() {
			return f, len(l.log) > 0 && l.log[len(l.log)-1].quota == f.Quota
		}
		return f, l.state.Under == f.Quota
	}}
}

// givesOneUnit returns one unit, whatever it is told.
func givesOneUnit() core.Store {
	return giving(func(f core.Refund) (core.Refund, bool) { f.Units = min(f.Units, 1); return f, true })
}

// givesTheFirst looks at one refund a call.
type givesTheFirst struct{ *reference }

func (s givesTheFirst) Give(ctx context.Context, refunds []core.Refund) error {
	return s.reference.Give(ctx, refunds[:min(1, len(refunds))])
}

// givesCredit remembers units for any key, and lets them be spent beside the quota.
type givesCredit struct {
	*reference
	credit map[core.Key]int64
}

func (s givesCredit) Give(_ context.Context, refunds []core.Refund) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range refunds {
		if f.Receipt != (algo.Receipt{}) && f.Units < math.MaxInt32 {
			s.credit[f.Key] += f.Units
		}
	}
	return nil
}

func (s givesCredit) Take(ctx context.Context, charges []core.Charge, results []core.Result) error {
	err := s.reference.Take(ctx, charges, results)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, c := range charges {
		if len(charges) == 1 && !results[i].Granted && s.credit[c.Key] >= c.Cost {
			s.credit[c.Key] -= c.Cost
			results[i].Granted, results[i].RetryAfter = true, 0
		}
	}
	return err
}

func (s givesCredit) Peek(ctx context.Context, charges []core.Charge, results []core.Result) error {
	err := s.reference.Peek(ctx, charges, results)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, c := range charges {
		results[i].Remaining += s.credit[c.Key]
	}
	return err
}

// keepsReceiptsOfDenials hands out the receipts of its draft.
func keepsReceiptsOfDenials() core.Store {
	s := newReference()
	return twist{s, func(right storeCall, charges []core.Charge, results []core.Result) error {
		err := right(ctx, charges, results)
		for i, c := range charges {
			if denied(charges, results) {
				results[i].Receipt = s.newest(core.Refund{Key: c.Key, Quota: c.Quota})
			}
		}
		return err
	}}
}

// givesWithoutALock reads, lets others run, and writes.
type givesWithoutALock struct{ *reference }

func (s givesWithoutALock) Give(_ context.Context, refunds []core.Refund) error {
	for _, f := range refunds {
		s.mu.Lock()
		old := *s.model.ledger(f.Key)
		s.mu.Unlock()
		old.give(micros(), f)
		time.Sleep(time.Microsecond)
		s.mu.Lock()
		*s.model.ledger(f.Key) = old
		s.mu.Unlock()
	}
	return nil
}

// forgetsTheTimeOfRefunds tells of a log what its newest entry says, though that
// was given back.
func forgetsTheTimeOfRefunds() core.Store {
	s := newReference()
	newest := map[core.Key]int64{}
	return edited{s, func(c core.Charge, r *core.Result) {
		if r.Receipt != (algo.Receipt{}) {
			newest[c.Key] = micros()
		}
		if c.Quota.Algorithm() == algo.SlidingLog && r.ResetAfter > 0 {
			r.ResetAfter = span(newest[c.Key]-micros()) + c.Quota.Window()
		}
	}}
}

// givesAgainAfterReset remembers units that were given to a key that had nothing.
func givesAgainAfterReset() core.Store {
	s := newReference()
	return refunder{givesCredit{s, map[core.Key]int64{}}}
}

type refunder struct{ givesCredit }

func (s refunder) Give(ctx context.Context, refunds []core.Refund) error {
	for _, f := range refunds {
		s.mu.Lock()
		owes := s.model.ledger(f.Key).state.Under != nil || len(s.model.ledger(f.Key).log) > 0
		s.mu.Unlock()
		if !owes {
			if err := s.givesCredit.Give(ctx, []core.Refund{f}); err != nil {
				return err
			}
			continue
		}
		if err := s.reference.Give(ctx, []core.Refund{f}); err != nil {
			return err
		}
	}
	return nil
}

// resetKeepsBlock forgets what was spent, and nothing else.
type resetKeepsBlock struct{ *reference }

func (s resetKeepsBlock) Reset(_ context.Context, charges []core.Charge) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range charges {
		*s.model.ledger(c.Key) = ledger{record: s.model.ledger(c.Key).record}
	}
	return nil
}

// resetsTheFirst looks at one charge a call.
type resetsTheFirst struct{ *reference }

func (s resetsTheFirst) Reset(ctx context.Context, charges []core.Charge) error {
	return s.reference.Reset(ctx, charges[:min(1, len(charges))])
}

// resetsTheCaller forgets all keys of a caller.
type resetsTheCaller struct{ *reference }

func (s resetsTheCaller) Reset(_ context.Context, charges []core.Charge) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range charges {
		for k := range s.model.ledgers {
			if k.Tag == c.Key.Tag {
				delete(s.model.ledgers, k)
			}
		}
	}
	return nil
}

// resetsUnderOneQuota forgets a key only when it was spent under the quota given.
type resetsUnderOneQuota struct{ *reference }

func (s resetsUnderOneQuota) Reset(ctx context.Context, charges []core.Charge) error {
	return s.reference.Reset(ctx, slices.DeleteFunc(slices.Clone(charges), func(c core.Charge) bool {
		u := s.model.ledger(c.Key).state.Under
		return u != nil && u != c.Quota
	}))
}

// resetWantsAPenalty forgets denials and blocks only when the charge names the
// penalty.
type resetWantsAPenalty struct{ *reference }

func (s resetWantsAPenalty) Reset(ctx context.Context, charges []core.Charge) error {
	for _, c := range charges {
		if c.Penalty == nil {
			if err := (resetKeepsBlock(s)).Reset(ctx, []core.Charge{c}); err != nil {
				return err
			}
			continue
		}
		if err := s.reference.Reset(ctx, []core.Charge{c}); err != nil {
			return err
		}
	}
	return nil
}

// grantsWhenCanceled lets a call pass when nobody waits for the answer, and counts
// it for nothing.
type grantsWhenCanceled struct{ *reference }

func (s grantsWhenCanceled) Take(ctx context.Context, charges []core.Charge, results []core.Result) error {
	if ctx.Err() != nil {
		for i := range results {
			results[i] = core.Result{Granted: true}
		}
		return nil
	}
	return s.reference.Take(ctx, charges, results)
}

// failsLikeAnyone returns the error of the context as it is.
type failsLikeAnyone struct{ *reference }

func (s failsLikeAnyone) Take(ctx context.Context, charges []core.Charge, results []core.Result) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.reference.Take(ctx, charges, results)
}

// deniesSpending spends, and says that it may not have.
type deniesSpending struct{ *reference }

func (s deniesSpending) Take(ctx context.Context, charges []core.Charge, results []core.Result) error {
	err := s.reference.Take(ctx, charges, results)
	if ctx.Err() != nil {
		return &core.StoreError{Kind: "timeout", Err: ctx.Err()}
	}
	return err
}

// closesOnce fails when it is closed again.
type closesOnce struct {
	*reference
	closed bool
}

func (s *closesOnce) Close() error {
	if s.closed {
		return errors.New("closed already")
	}
	s.closed = true
	return nil
}

// opensWhenClosed grants everything once it is closed.
type opensWhenClosed struct {
	*reference
	closed bool
}

func (s *opensWhenClosed) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

func (s *opensWhenClosed) Take(ctx context.Context, charges []core.Charge, results []core.Result) error {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if !closed {
		return s.reference.Take(ctx, charges, results)
	}
	for i := range results {
		results[i] = core.Result{Granted: true}
	}
	return nil
}

// hidesItsSplits decides in several places, and only says so in Traits.
type hidesItsSplits struct{ *reference }

func (s hidesItsSplits) Traits() core.Traits { return core.Traits{Splits: true} }
