package storetest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// A reference is the model as a store: correct, and nothing else.
type reference struct {
	mu    sync.Mutex
	model *model
	now   func() time.Time // nil: time.Now
}

func newReference() *reference { return &reference{model: newModel()} }

func (s *reference) micros() int64 {
	if s.now != nil {
		return s.now().UnixMicro()
	}
	return micros()
}

func micros() int64 { return time.Now().UnixMicro() }

func (s *reference) Take(_ context.Context, charges []core.Charge, results []core.Result) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.model.take(s.micros(), charges, results)
	return nil
}

func (s *reference) Peek(_ context.Context, charges []core.Charge, results []core.Result) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.model.peek(s.micros(), charges, results)
	return nil
}

func (s *reference) Give(_ context.Context, refunds []core.Refund) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.model.give(s.micros(), refunds)
	return nil
}

func (s *reference) Reset(_ context.Context, charges []core.Charge) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.model.reset(charges)
	return nil
}

func (s *reference) Block(_ context.Context, c core.Charge, span time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.model.block(s.micros(), c, span)
	return nil
}

func (s *reference) Traits() core.Traits { return core.Traits{} }
func (s *reference) Close() error        { return nil }

func TestReferencePasses(t *testing.T) {
	Run(t, Harness{New: func(testing.TB) core.Store { return newReference() }, Virtual: true})
}

// The same store with a clock that is set, as a server's may be.
func TestReferencePassesWithAClock(t *testing.T) {
	var now time.Time
	Run(t, Harness{
		New: func(testing.TB) core.Store {
			now = time.Date(2031, 5, 6, 7, 8, 9, 12_345_678, time.UTC)
			s := newReference()
			s.now = func() time.Time { return now }
			return s
		},
		Now:     func() time.Time { return now },
		Advance: func(d time.Duration) { now = now.Add(d) },
	})
}

// The same store in real time, where only what cannot be blamed on a slow machine
// is judged.
func TestReferencePassesInRealTime(t *testing.T) {
	if testing.Short() {
		t.Skip("sleeps for some seconds")
	}
	Run(t, Harness{New: func(testing.TB) core.Store { return newReference() }})
}

// A splitter decides the charges of each caller by themselves and gives back what
// was granted when one of them denies, as a store of several servers has to.
type splitter struct{ *reference }

func (s splitter) Traits() core.Traits { return core.Traits{Splits: true} }

func (s splitter) Take(ctx context.Context, charges []core.Charge, results []core.Result) error {
	var tags []uint64
	for _, c := range charges {
		if !slices.Contains(tags, c.Key.Tag) {
			tags = append(tags, c.Key.Tag)
		}
	}
	spent := make([]bool, len(charges))
	for _, tag := range tags {
		if err := s.takePart(ctx, tag, charges, results, spent); err != nil {
			return err
		}
	}
	if denied(charges, results) {
		return s.giveBack(ctx, charges, results, spent)
	}
	return nil
}

func (s splitter) takePart(ctx context.Context, tag uint64, charges []core.Charge, results []core.Result, spent []bool) error {
	var list []core.Charge
	var at []int
	for i, c := range charges {
		if c.Key.Tag == tag {
			list, at = append(list, c), append(at, i)
		}
	}
	got := make([]core.Result, len(list))
	if err := s.reference.Take(ctx, list, got); err != nil {
		return err
	}
	for i, r := range got {
		results[at[i]] = r
		spent[at[i]] = r.Receipt != (algo.Receipt{})
	}
	return nil
}

func (s splitter) giveBack(ctx context.Context, charges []core.Charge, results []core.Result, spent []bool) error {
	var refunds []core.Refund
	for i, c := range charges {
		if spent[i] {
			refunds = append(refunds, core.Refund{
				Key: c.Key, Limit: c.Limit, Quota: c.Quota, Units: c.Cost + results[i].Extra, Receipt: results[i].Receipt,
			})
		}
	}
	slices.Reverse(refunds) // a queue gives back its last place first
	if err := s.Give(ctx, refunds); err != nil {
		return err
	}
	for i, c := range charges {
		c.Penalty = nil // what remains, whether or not this call has started a block
		var is [1]core.Result
		if err := s.Peek(ctx, []core.Charge{c}, is[:]); err != nil {
			return err
		}
		r := &results[i]
		r.Extra, r.Receipt = 0, algo.Receipt{}
		if !r.Blocked {
			r.Remaining, r.NextAfter, r.ResetAfter = is[0].Remaining, is[0].NextAfter, is[0].ResetAfter
		}
	}
	return nil
}

func TestSplitterPasses(t *testing.T) {
	Run(t, Harness{
		New:     func(testing.TB) core.Store { return splitter{newReference()} },
		Virtual: true,
		Lacks:   OneStep,
	})
}
