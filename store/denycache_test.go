package store_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
	"github.com/tidegate/tidegate/store"
	"github.com/tidegate/tidegate/store/storetest"
)

func denyCache(t testing.TB, inner core.Store, c store.DenyCacheConfig) *store.DenyCache {
	t.Helper()
	d, err := store.NewDenyCache(inner, c)
	require.NoError(t, err)
	return d
}

func TestDenyCacheConformance(t *testing.T) {
	for name, most := range map[string]int{"roomy": 0, "crowded": 1} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, storetest.Harness{
				New: func(t testing.TB) core.Store {
					return denyCache(t, newFlaky(), store.DenyCacheConfig{MaxKeys: most})
				},
				Virtual: true,
			})
		})
	}
}

// TestDeniedCallerCostsNothing: a caller over its limit makes no call before the told
// time, and is admitted at the told time.
func TestDeniedCallerCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := newFlaky()
		d := denyCache(t, inner, store.DenyCacheConfig{})
		c := charge(1, bucket(10, 5*time.Second), core.FailOpen) // one each half second
		for range 10 {
			_, err := take(t, d, c)
			require.NoError(t, err)
		}
		first, err := take(t, d, c)
		require.NoError(t, err)
		require.Equal(t, 500*time.Millisecond, first[0].RetryAfter)
		calls := inner.calls.Load()
		for range 49 {
			time.Sleep(10 * time.Millisecond)
			got, err := take(t, d, c)
			require.NoError(t, err)
			require.False(t, got[0].Granted)
			require.Zero(t, got[0].Remaining)
		}
		require.Equal(t, calls, inner.calls.Load(), "49 denials made no call")
		time.Sleep(10 * time.Millisecond)
		got, err := take(t, d, c)
		require.NoError(t, err)
		require.True(t, got[0].Granted)
	})
}

// TestSlowAnswers counts from the moment of asking: the answer of a slow store is old
// when it comes.
func TestSlowAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &slowStore{newFlaky(), 300 * time.Millisecond}
		d := denyCache(t, inner, store.DenyCacheConfig{})
		c := charge(1, bucket(1, 500*time.Millisecond), core.FailOpen)
		_, err := take(t, d, c)
		require.NoError(t, err)
		_, err = take(t, d, c) // decided 300 ms after the first was
		require.NoError(t, err)
		time.Sleep(200 * time.Millisecond) // 500 ms after the first: one has come back
		got, err := take(t, d, c)
		require.NoError(t, err)
		require.True(t, got[0].Granted)
	})
}

type slowStore struct {
	*flaky
	delay time.Duration
}

func (s *slowStore) Take(ctx context.Context, charges []core.Charge, results []core.Result) error {
	err := s.flaky.Take(ctx, charges, results)
	time.Sleep(s.delay)
	return err
}

// TestUnitsThatComeBack are seen at once when they come back through this process, and
// within a second when they do elsewhere.
func TestUnitsThatComeBack(t *testing.T) {
	q := bucket(1, time.Hour)
	ways := map[string]func(d *store.DenyCache, c core.Charge, r core.Result) error{
		"given": func(d *store.DenyCache, c core.Charge, r core.Result) error {
			return d.Give(context.Background(), []core.Refund{{Key: c.Key, Quota: c.Quota, Units: 1, Receipt: r.Receipt}})
		},
		"reset": func(d *store.DenyCache, c core.Charge, _ core.Result) error {
			return d.Reset(context.Background(), []core.Charge{c})
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			d := denyCache(t, newFlaky(), store.DenyCacheConfig{})
			c := charge(1, q, core.FailOpen)
			granted, _ := take(t, d, c)
			denied, _ := take(t, d, c)
			require.False(t, denied[0].Granted)
			require.NoError(t, way(d, c, granted[0]))
			got, err := take(t, d, c)
			require.NoError(t, err)
			require.True(t, got[0].Granted)
		})
	}
	t.Run("elsewhere", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			inner := newFlaky()
			d := denyCache(t, inner, store.DenyCacheConfig{})
			c := charge(1, q, core.FailOpen)
			_, _ = take(t, d, c)
			_, _ = take(t, d, c)
			require.NoError(t, inner.Reset(t.Context(), []core.Charge{c}))
			got, _ := take(t, d, c)
			require.False(t, got[0].Granted, "nobody has told")
			time.Sleep(store.DefaultDenyAge)
			got, _ = take(t, d, c)
			require.True(t, got[0].Granted)
		})
	})
}

// TestHitAmongOthers denies a request whole, for the longest wait known, and says
// nothing of what it does not know.
func TestHitAmongOthers(t *testing.T) {
	inner := newFlaky()
	d := denyCache(t, inner, store.DenyCacheConfig{})
	short, long, other := charge(1, bucket(1, time.Minute), core.FailOpen), charge(2, bucket(1, time.Hour), core.FailOpen), charge(3, bucket(5, time.Hour), core.FailOpen)
	_, _ = take(t, d, short, long)
	_, _ = take(t, d, short)
	_, _ = take(t, d, long)
	calls := inner.calls.Load()
	got, err := take(t, d, other, short, long)
	require.NoError(t, err)
	require.Equal(t, calls, inner.calls.Load())
	require.True(t, got[0].Granted && got[0].Partial)
	require.False(t, got[1].Granted || got[2].Granted)
	require.Greater(t, got[2].RetryAfter, 59*time.Minute)
	fresh, err := take(t, d, other)
	require.NoError(t, err)
	require.Equal(t, int64(4), fresh[0].Remaining, "the denied request charged nothing")
}

// TestPenaltiesCount: denials go to the store until the block begins.
func TestPenaltiesCount(t *testing.T) {
	inner := newFlaky()
	d := denyCache(t, inner, store.DenyCacheConfig{})
	c := charge(1, bucket(1, time.Hour), core.FailOpen)
	c.Penalty = &algo.Penalty{After: 3, Within: time.Minute, Block: 2 * time.Hour}
	for range 4 {
		_, _ = take(t, d, c)
	}
	calls := inner.calls.Load()
	require.Equal(t, int64(4), calls, "one grant, and three denials that count")
	got, err := take(t, d, c)
	require.NoError(t, err)
	require.True(t, got[0].Blocked)
	require.Equal(t, calls, inner.calls.Load())
}

// TestDenyCacheIsBounded under a flood of denied keys.
func TestDenyCacheIsBounded(t *testing.T) {
	d := denyCache(t, newFlaky(), store.DenyCacheConfig{MaxKeys: 1000})
	zero := bucket(0, time.Hour)
	for i := range uint64(50_000) {
		_, err := take(t, d, charge(i+1, zero, core.FailOpen))
		require.NoError(t, err)
	}
	require.LessOrEqual(t, store.Denied(d), 1000)
}

// TestDenyCacheNeverLocksOut has units come and go under load: whoever is denied here
// would be denied there.
func TestDenyCacheNeverLocksOut(t *testing.T) {
	inner := newFlaky()
	d := denyCache(t, inner, store.DenyCacheConfig{})
	c := charge(1, bucket(4, time.Hour), core.FailOpen)
	var group sync.WaitGroup
	var inFlight, most atomic.Int64
	for range 8 {
		group.Go(func() {
			for range 2000 {
				got, _ := take(t, d, c)
				if !got[0].Granted {
					continue
				}
				most.Store(max(most.Load(), inFlight.Add(1)))
				inFlight.Add(-1)
				_ = d.Give(context.Background(), []core.Refund{{Key: c.Key, Quota: c.Quota, Units: 1, Receipt: got[0].Receipt}})
			}
		})
	}
	group.Wait()
	got, err := take(t, d, c)
	require.NoError(t, err)
	require.True(t, got[0].Granted, "everything has been given back, and nobody remembers otherwise")
	require.LessOrEqual(t, most.Load(), int64(4))
}
