//go:build !race

package memstore

import (
	"context"
	"testing"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

func TestDecisionsDoNotAllocate(t *testing.T) {
	s := New(Config{MaxKeys: 1000})
	plenty, none := bucket(t, 1e9, time.Second, 1e9), bucket(t, 1, time.Hour, 1)
	take(t, s, key(9), none)
	charge := func(k uint64, q *algo.Quota) core.Charge {
		return core.Charge{Key: key(k), Limit: "a", Quota: q, Cost: 1}
	}
	window := quota(t, algo.Spec{Algorithm: algo.SlidingWindow, Limit: 1e9, Period: time.Second})
	fixed := quota(t, algo.Spec{Algorithm: algo.FixedWindow, Limit: 1e9, Period: 24 * time.Hour})
	for name, charges := range map[string][]core.Charge{
		"one":          {charge(1, plenty)},
		"one denied":   {charge(9, none)},
		"three":        {charge(1, plenty), charge(2, window), charge(3, fixed)},
		"three denied": {charge(1, plenty), charge(9, none), charge(3, fixed)},
		"ten":          {charge(1, plenty), charge(2, plenty), charge(3, plenty), charge(4, plenty), charge(5, plenty), charge(6, plenty), charge(7, plenty), charge(8, plenty), charge(10, plenty), charge(11, plenty)},
	} {
		results := make([]core.Result, len(charges))
		ctx := context.Background()
		got := testing.AllocsPerRun(1000, func() { _ = s.Take(ctx, charges, results) })
		if got != 0 {
			t.Errorf("%s: %v allocations, want 0", name, got)
		}
	}
}
