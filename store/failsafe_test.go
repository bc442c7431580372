package store_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
	"github.com/tidegate/tidegate/store"
	"github.com/tidegate/tidegate/store/memstore"
	"github.com/tidegate/tidegate/store/storetest"
)

// A flaky store fails on demand, after a while on demand.
type flaky struct {
	core.Store
	down  atomic.Bool
	slow  atomic.Int64 // how long a call takes before it fails, ns
	calls atomic.Int64
}

var errDown = errors.New("connection refused")

func newFlaky() *flaky { return &flaky{Store: memstore.New(memstore.Config{MaxKeys: 10_000})} }

func (f *flaky) fails() error {
	f.calls.Add(1)
	if !f.down.Load() {
		return nil
	}
	time.Sleep(time.Duration(f.slow.Load()))
	return &core.StoreError{Kind: "refused", Err: errDown}
}

func (f *flaky) Take(ctx context.Context, charges []core.Charge, results []core.Result) error {
	if err := f.fails(); err != nil {
		return err
	}
	return f.Store.Take(ctx, charges, results)
}

func (f *flaky) Peek(ctx context.Context, charges []core.Charge, results []core.Result) error {
	if err := f.fails(); err != nil {
		return err
	}
	return f.Store.Peek(ctx, charges, results)
}

func (f *flaky) Give(ctx context.Context, refunds []core.Refund) error {
	if err := f.fails(); err != nil {
		return err
	}
	return f.Store.Give(ctx, refunds)
}

func (f *flaky) Reset(ctx context.Context, charges []core.Charge) error {
	if err := f.fails(); err != nil {
		return nil // what it would have forgotten is lost anyway
	}
	return f.Store.Reset(ctx, charges)
}

func (f *flaky) Block(ctx context.Context, c core.Charge, span time.Duration) error {
	if err := f.fails(); err != nil && c.Penalty != nil {
		return nil
	}
	return f.Store.Block(ctx, c, span)
}

func (f *flaky) Traits() core.Traits { return core.Traits{Shared: true} }

func failsafe(t testing.TB, inner core.Store, c store.FailsafeConfig) *store.Failsafe {
	t.Helper()
	f, err := store.NewFailsafe(inner, c)
	require.NoError(t, err)
	return f
}

func TestFailsafeOnAHealthyStore(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		New:     func(t testing.TB) core.Store { return failsafe(t, newFlaky(), store.FailsafeConfig{}) },
		Virtual: true,
	})
}

// TestFailsafeOnADeadStore gives the whole quota to the one process there is: then
// nobody can tell that the store is dead.
func TestFailsafeOnADeadStore(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		New: func(t testing.TB) core.Store {
			inner := newFlaky()
			inner.down.Store(true)
			return failsafe(t, inner, store.FailsafeConfig{Policy: core.FailLocal, Fraction: 1, MaxKeys: 100_000})
		},
		Virtual: true,
	})
}

func bucket(n int64, period time.Duration) *algo.Quota {
	q, err := algo.Compile(algo.Spec{Limit: n, Period: period})
	if err != nil {
		panic(err)
	}
	return q
}

func charge(id uint64, q *algo.Quota, p core.FailurePolicy) core.Charge {
	return core.Charge{Key: core.Key{Hi: id, Lo: id, Tag: id}, Limit: "limit", Quota: q, Cost: 1, Policy: p}
}

func take(t testing.TB, s core.Store, charges ...core.Charge) ([]core.Result, error) {
	t.Helper()
	results := make([]core.Result, len(charges))
	err := s.Take(t.Context(), charges, results)
	return results, err
}

// TestFailurePolicies: any closed limit refuses with nothing charged; else the local
// ones are decided as one here, and the open ones pass.
func TestFailurePolicies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := newFlaky()
		f := failsafe(t, inner, store.FailsafeConfig{Fraction: 0.2})
		defer f.Close()
		inner.down.Store(true)
		ten := bucket(10, time.Hour)
		open, local, closed := charge(1, ten, core.FailOpen), charge(2, ten, core.FailLocal), charge(3, ten, core.FailClosed)
		for range 100 {
			got, err := take(t, f, open)
			require.NoError(t, err)
			require.True(t, got[0].Granted && got[0].Unknown, "open passes, and invents no numbers")
		}
		_, err := take(t, f, open, local, closed)
		require.ErrorIs(t, err, core.ErrStore)
		for i := range int64(2) {
			got, err := take(t, f, open, local)
			require.NoError(t, err)
			require.True(t, got[1].Granted, "a fifth of 10 is 2")
			require.Equal(t, 1-i, got[1].Remaining, "the closed request charged nothing")
		}
		got, err := take(t, f, open, local)
		require.NoError(t, err)
		require.False(t, got[1].Granted)
		require.Positive(t, got[1].RetryAfter)
		shadow := closed
		shadow.Shadow = true
		got, err = take(t, f, open, shadow)
		require.NoError(t, err, "a shadow limit refuses nobody")
		require.True(t, got[1].Unknown)
	})
}

// TestBreaker: after some failures in a row nobody waits; the probe runs behind their
// backs, one at a time, and the first that succeeds ends it.
func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := newFlaky()
		var changes []bool
		f := failsafe(t, inner, store.FailsafeConfig{OnChange: func(_ string, degraded bool, err error) {
			changes = append(changes, degraded)
			require.Equal(t, degraded, err != nil)
		}})
		defer f.Close()
		inner.down.Store(true)
		inner.slow.Store(int64(50 * time.Millisecond))
		c := charge(1, bucket(10, time.Hour), core.FailOpen)
		for range store.DefaultFailures {
			began := time.Now()
			_, err := take(t, f, c)
			require.NoError(t, err)
			require.Equal(t, 50*time.Millisecond, time.Since(began))
		}
		require.Equal(t, []string{""}, f.Degraded())
		calls := inner.calls.Load()
		began := time.Now()
		for range 10_000 {
			_, err := take(t, f, c)
			require.NoError(t, err)
		}
		require.Zero(t, time.Since(began), "nobody waits once the breaker is open")
		require.Equal(t, calls, inner.calls.Load())
		time.Sleep(10 * time.Second)
		synctest.Wait()
		probes := inner.calls.Load() - calls
		require.Greater(t, probes, int64(10))
		require.Less(t, probes, int64(45), "one probe at a time, every half second or so")
		inner.down.Store(false)
		time.Sleep(store.DefaultProbeEvery)
		synctest.Wait()
		require.Empty(t, f.Degraded())
		got, err := take(t, f, c)
		require.NoError(t, err)
		require.False(t, got[0].Unknown)
		require.Equal(t, []bool{true, false}, changes, "entering and leaving are told once each")
	})
}

// TestFlappingRefillsNobody: what a local limit has spent is kept across outages.
func TestFlappingRefillsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := newFlaky()
		f := failsafe(t, inner, store.FailsafeConfig{Fraction: 0.5, Failures: 1})
		defer f.Close()
		c := charge(1, bucket(10, 24*time.Hour), core.FailLocal)
		granted := 0
		for range 40 {
			inner.down.Store(true)
			for range 3 {
				got, err := take(t, f, c)
				require.NoError(t, err)
				if got[0].Granted {
					granted++
				}
			}
			inner.down.Store(false)
			time.Sleep(time.Second)
			synctest.Wait()
			require.Empty(t, f.Degraded())
		}
		require.Equal(t, 5, granted, "half of 10, once")
	})
}

// TestLeavingIsNoFailure: callers who give up do not open the breaker.
func TestLeavingIsNoFailure(t *testing.T) {
	inner := newFlaky()
	f := failsafe(t, inner, store.FailsafeConfig{Failures: 1, OnError: func(err error) { t.Errorf("told of %v", err) }})
	defer f.Close()
	inner.down.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := []core.Charge{charge(1, bucket(10, time.Hour), core.FailOpen)}
	for range 20 {
		require.Error(t, f.Take(ctx, c, make([]core.Result, 1)))
	}
	require.Empty(t, f.Degraded())
}

// TestShares: rounded up, never below 1 nor below what one request costs; 0 stays 0.
func TestShares(t *testing.T) {
	specs := map[string]struct {
		spec algo.Spec
		cost int64
		want int64
	}{
		"a fifth":             {algo.Spec{Limit: 100, Period: time.Hour}, 1, 20},
		"rounded up":          {algo.Spec{Limit: 11, Period: time.Hour}, 1, 3},
		"at least 1":          {algo.Spec{Limit: 1, Period: time.Hour}, 1, 1},
		"at least the cost":   {algo.Spec{Limit: 10, Period: time.Hour}, 7, 7},
		"burst":               {algo.Spec{Limit: 1, Period: time.Hour, Burst: 50}, 1, 10},
		"queue and one":       {algo.Spec{Algorithm: algo.LeakyBucket, Limit: 1, Period: time.Hour, Queue: 9}, 1, 2},
		"fixed window":        {algo.Spec{Algorithm: algo.FixedWindow, Limit: 30, Period: time.Hour, FirstRequest: true}, 1, 6},
		"fixed window's cost": {algo.Spec{Algorithm: algo.FixedWindow, Limit: 30, Period: time.Hour, FirstRequest: true}, 9, 9},
		"log":                 {algo.Spec{Algorithm: algo.SlidingLog, Limit: 30, Period: time.Hour}, 1, 6},
		"nothing":             {algo.Spec{Limit: 0, Period: time.Hour}, 1, 0},
	}
	for name, s := range specs {
		t.Run(name, func(t *testing.T) {
			inner := newFlaky()
			inner.down.Store(true)
			f := failsafe(t, inner, store.FailsafeConfig{Failures: 1 << 30, Policy: core.FailLocal})
			defer f.Close()
			q, err := algo.Compile(s.spec)
			require.NoError(t, err)
			c := charge(9, q, core.FailDefault)
			c.Cost = s.cost
			var units int64
			for {
				got, err := take(t, f, c)
				require.NoError(t, err)
				if !got[0].Granted {
					break
				}
				units += s.cost
				c.Cost = 1
				s.cost = 1
			}
			require.Equal(t, s.want, units)
		})
	}
}

// TestShareFollowsInstances: 3 instances, then 20, and an outage: together they get the
// quota, rounded up for each.
func TestShareFollowsInstances(t *testing.T) {
	var instances atomic.Int64
	instances.Store(3)
	inner := newFlaky()
	f := failsafe(t, inner, store.FailsafeConfig{Policy: core.FailLocal, Instances: func() int { return int(instances.Load()) }})
	defer f.Close()
	inner.down.Store(true)
	drain := func(id uint64) (n int) {
		for {
			got, err := take(t, f, charge(id, bucket(100, time.Hour), core.FailDefault))
			require.NoError(t, err)
			if !got[0].Granted {
				return n
			}
			n++
		}
	}
	require.Equal(t, 34, drain(1))
	instances.Store(20)
	require.Equal(t, 5, drain(2))
	require.Zero(t, drain(1), "what was spent stays spent")
	instances.Store(0)
	require.Equal(t, 20, drain(3), "nobody knows: the fraction")
}

// TestTotal caps what this process admits while it is on its own.
func TestTotal(t *testing.T) {
	inner := newFlaky()
	inner.down.Store(true)
	f := failsafe(t, inner, store.FailsafeConfig{Policy: core.FailLocal, Fraction: 1, Total: bucket(5, time.Hour)})
	defer f.Close()
	granted := 0
	for i := range uint64(50) {
		got, err := take(t, f, charge(i+1, bucket(100, time.Hour), core.FailDefault))
		require.NoError(t, err)
		if got[0].Granted {
			granted++
		} else {
			require.Positive(t, got[0].RetryAfter)
			require.Zero(t, got[0].Remaining)
		}
	}
	require.Equal(t, 5, granted)
}

// A halved store keeps even keys in one place and odd ones in another.
type halved struct {
	*flaky
	oddDown atomic.Bool
}

func (h *halved) Place(k *core.Key) string { return []string{"even", "odd"}[k.Lo%2] }

func (h *halved) Probe(_ context.Context, k *core.Key) error {
	if k.Lo%2 == 1 && h.oddDown.Load() {
		return errDown
	}
	return nil
}

func (h *halved) Take(ctx context.Context, charges []core.Charge, results []core.Result) error {
	var alive []core.Charge
	var failed, at []int
	for i, c := range charges {
		if c.Key.Lo%2 == 1 && h.oddDown.Load() {
			failed = append(failed, i)
		} else {
			alive, at = append(alive, c), append(at, i)
		}
	}
	got := make([]core.Result, len(alive))
	if err := h.flaky.Take(ctx, alive, got); err != nil {
		return err
	}
	for n, i := range at {
		results[i] = got[n]
	}
	switch {
	case len(failed) == len(charges):
		return &core.StoreError{Kind: "refused", Err: errDown}
	case len(failed) > 0:
		return &core.StoreError{Kind: "refused", Err: errDown, Failed: failed}
	}
	return nil
}

// TestPlacesFailApart: only the charges whose place failed are decided by policy, and
// all of a request are charged or none.
func TestPlacesFailApart(t *testing.T) {
	for _, failures := range []int{1, 1 << 30} { // told before the call, and by it
		h := &halved{flaky: newFlaky()}
		h.oddDown.Store(true)
		f := failsafe(t, h, store.FailsafeConfig{Failures: failures, Fraction: 0.5, ProbeEvery: time.Hour})
		ten := bucket(10, time.Hour)
		even, odd := charge(2, ten, core.FailClosed), charge(3, ten, core.FailLocal)
		_, _ = take(t, f, odd) // one of its 5
		for i := range int64(4) {
			got, err := take(t, f, even, odd)
			require.NoError(t, err)
			require.True(t, got[0].Granted && got[1].Granted)
			require.Equal(t, 9-i, got[0].Remaining)
			require.Equal(t, 3-i, got[1].Remaining)
		}
		got, err := take(t, f, even, odd)
		require.NoError(t, err)
		require.False(t, got[1].Granted, "this process's half is spent")
		require.True(t, got[0].Granted)
		require.Equal(t, int64(6), got[0].Remaining, "and was given back")
		odd.Policy = core.FailClosed
		_, err = take(t, f, even, odd)
		require.ErrorIs(t, err, core.ErrStore)
		got, err = take(t, f, even)
		require.NoError(t, err)
		require.Equal(t, int64(5), got[0].Remaining, "the closed request charged nothing")
		for range 5 {
			_, err = take(t, f, even)
			require.NoError(t, err)
		}
		odd.Policy = core.FailLocal
		odd.Key.Hi++
		got, err = take(t, f, even, odd)
		require.NoError(t, err)
		require.False(t, got[0].Granted)
		got, err = take(t, f, odd)
		require.NoError(t, err)
		require.Equal(t, int64(4), got[0].Remaining, "the denied request charged nothing here either")
		require.NoError(t, f.Close())
	}
}

// TestBreakerStorm lets the store come and go under load: every call is answered.
func TestBreakerStorm(t *testing.T) {
	inner := newFlaky()
	f := failsafe(t, inner, store.FailsafeConfig{Policy: core.FailLocal, ProbeEvery: time.Millisecond, Fraction: 1})
	c := charge(1, bucket(100, 24*time.Hour), core.FailDefault)
	var granted atomic.Int64
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for range 500 {
				got, err := take(t, f, c)
				if err != nil {
					t.Error(err)
					return
				}
				if got[0].Granted {
					granted.Add(1)
				}
			}
		})
	}
	for range 50 {
		inner.down.Store(!inner.down.Load())
		time.Sleep(time.Millisecond)
	}
	group.Wait()
	require.NoError(t, f.Close())
	require.LessOrEqual(t, granted.Load(), int64(200), "the quota there, and the quota here")
}

// TestADenialIsAnAnswer: what the store denies is not asked of anybody else.
func TestADenialIsAnAnswer(t *testing.T) {
	f := failsafe(t, newFlaky(), store.FailsafeConfig{Policy: core.FailLocal, Fraction: 1, OnError: func(err error) { t.Errorf("told of %v", err) }})
	defer f.Close()
	c := charge(1, bucket(2, time.Hour), core.FailDefault)
	granted := 0
	for range 20 {
		got, err := take(t, f, c)
		require.NoError(t, err)
		if got[0].Granted {
			granted++
		}
	}
	require.Equal(t, 2, granted)
	require.Empty(t, f.Degraded())
}
