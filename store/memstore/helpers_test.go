package memstore

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// A fakeClock tells the time that the test sets.
type fakeClock struct{ us atomic.Int64 }

func newFakeClock() *fakeClock {
	c := &fakeClock{}
	c.us.Store(1_700_000_000_000_000)
	return c
}

func (c *fakeClock) now() time.Time          { return time.UnixMicro(c.us.Load()) }
func (c *fakeClock) advance(d time.Duration) { c.us.Add(d.Microseconds()) }

func quota(tb testing.TB, s algo.Spec) *algo.Quota {
	tb.Helper()
	q, err := algo.Compile(s)
	if err != nil {
		tb.Fatal(err)
	}
	return q
}

func bucket(tb testing.TB, n int64, per time.Duration, burst int64) *algo.Quota {
	tb.Helper()
	return quota(tb, algo.Spec{Limit: n, Period: per, Burst: burst})
}

// key returns the i-th key of a test, spread as hashed keys are.
func key(i uint64) core.Key {
	return core.Key{Hi: spread(2*i + 1), Lo: spread(2*i + 2), Tag: i}
}

// spread is splitmix64 (Steele, Lea and Flood, 2014).
func spread(x uint64) uint64 {
	x *= 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func take(tb testing.TB, s core.Store, k core.Key, q *algo.Quota) core.Result {
	tb.Helper()
	return takeAll(tb, s, core.Charge{Key: k, Limit: "limit", Quota: q, Cost: 1})[0]
}

func takeAll(tb testing.TB, s core.Store, charges ...core.Charge) []core.Result {
	tb.Helper()
	results := make([]core.Result, len(charges))
	if err := s.Take(context.Background(), charges, results); err != nil {
		tb.Fatal(err)
	}
	return results
}

// every is a quota of each algorithm that allows n in a long while.
func every(tb testing.TB, n int64) map[string]*algo.Quota {
	tb.Helper()
	hour := time.Hour
	return map[string]*algo.Quota{
		"token bucket":             bucket(tb, n, hour, n),
		"leaky bucket":             quota(tb, algo.Spec{Algorithm: algo.LeakyBucket, Limit: n, Period: hour, Queue: n - 1}),
		"fixed window":             quota(tb, algo.Spec{Algorithm: algo.FixedWindow, Limit: n, Period: 24 * hour}),
		"fixed window, from first": quota(tb, algo.Spec{Algorithm: algo.FixedWindow, Limit: n, Period: hour, FirstRequest: true}),
		"sliding window":           quota(tb, algo.Spec{Algorithm: algo.SlidingWindow, Limit: n, Period: hour}),
		"sliding window, cells":    quota(tb, algo.Spec{Algorithm: algo.SlidingWindow, Limit: n, Period: hour, Cells: 6}),
		"sliding log":              quota(tb, algo.Spec{Algorithm: algo.SlidingLog, Limit: n, Period: hour}),
	}
}
