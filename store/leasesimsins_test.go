package store_test

import (
	"context"
	"testing"

	"github.com/tidegate/tidegate/core"
)

// sins are what a lease may do wrong on purpose. They are done at its seams, so that
// nothing in it has to know of them.
type sins struct {
	givesTwice bool // what it does not use
	inflates   bool // takes a short grant for a whole one
	overlooks  bool // takes a denial for a grant
	frozen     bool // its units never end
	generous   bool // strict, it takes nothing off the burst
}

// between returns a store that does the sins between a lease and the network.
func (s sins) between(l *link) core.Store {
	if s.givesTwice || s.inflates || s.overlooks {
		return &sinner{l, s}
	}
	return l
}

type sinner struct {
	core.Store
	sins
}

func (s *sinner) Take(ctx context.Context, charges []core.Charge, results []core.Result) error {
	err := s.Store.Take(ctx, charges, results)
	for i := range results {
		r := &results[i]
		if s.inflates && r.Granted {
			r.Extra = charges[i].Extra
		}
		if s.overlooks && err == nil && !r.Granted {
			r.Granted, r.RetryAfter = true, 0
		}
	}
	return err
}

func (s *sinner) Give(ctx context.Context, refunds []core.Refund) error {
	err := s.Store.Give(ctx, refunds)
	if s.givesTwice {
		_ = s.Store.Give(ctx, refunds)
	}
	return err
}

// TestLeaseSimulationCatches: a simulation that cannot fail proves nothing.
func TestLeaseSimulationCatches(t *testing.T) {
	for name, tt := range map[string]struct {
		sins
		in string
	}{
		"gives back twice":             {sins{givesTwice: true}, "steady"},
		"takes short grants for whole": {sins{inflates: true}, "adversary"},
		"takes denials for grants":     {sins{overlooks: true}, "overload"},
		"ignores expiry":               {sins{frozen: true}, "window"},
		"is not strict":                {sins{generous: true}, "strict"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, s := range scenarios {
				if s.name != tt.in {
					continue
				}
				for seed := range int64(20) {
					if w := simulate(t, s, seed, tt.sins); len(w.books.problems) > 0 {
						t.Logf("seed %d: %s", seed, w.books.problems[0])
						return
					}
				}
				t.Fatalf("20 seeds of %s do not notice", tt.in)
			}
		})
	}
}
