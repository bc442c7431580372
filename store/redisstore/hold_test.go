package redisstore_test

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
	"github.com/tidegate/tidegate/internal/redistest"
	"github.com/tidegate/tidegate/store/redisstore"
)

// TestSlotsOfADeadInstance end when their hold has passed; those of a live one are
// renewed, in one call for all, and nothing is left running when they are given back.
func TestSlotsOfADeadInstance(t *testing.T) {
	server := redistest.Start(t)
	const hold = 600 * time.Millisecond
	q := quota(algo.Spec{Algorithm: algo.Concurrency, Limit: 2})
	key := newKey()
	slot := func() []core.Charge {
		return []core.Charge{{Key: key, Limit: "in-flight", Quota: q, Cost: 1, Slot: rand.Uint64(), Hold: hold}}
	}
	r := make([]core.Result, 1)
	before := runtime.NumGoroutine()
	dead, alive := open(t, server.URL(), redisstore.Config{}), open(t, server.URL(), redisstore.Config{})
	require.NoError(t, dead.Take(t.Context(), slot(), r))
	require.True(t, r[0].Granted)
	held := slot()
	require.NoError(t, alive.Take(t.Context(), held, r))
	require.True(t, r[0].Granted)
	refund := core.Refund{Key: key, Quota: q, Units: 1, Receipt: r[0].Receipt, Slot: held[0].Slot}
	require.NoError(t, alive.Take(t.Context(), slot(), r))
	require.False(t, r[0].Granted)
	require.NoError(t, dead.Close()) // it no longer renews: as if it had died
	calls := server.Info("commandstats", "cmdstat_evalsha")
	time.Sleep(2 * hold)
	t.Logf("before %s, after two holds %s", calls, server.Info("commandstats", "cmdstat_evalsha"))
	require.NoError(t, alive.Peek(t.Context(), slot(), r))
	require.Equal(t, int64(1), r[0].Remaining, "the dead one's slot has ended, and the live one's has not")
	require.NoError(t, alive.Give(t.Context(), []core.Refund{refund}))
	require.NoError(t, alive.Peek(t.Context(), slot(), r))
	require.Equal(t, int64(2), r[0].Remaining)
	require.NoError(t, alive.Close())
	redistest.Await(t, "goroutines were left", func() bool { return runtime.NumGoroutine() <= before+2 })
}

// TestHoldsOfDifferentLengths: a short one that comes after a long one does not wait
// for the long one's turn.
func TestHoldsOfDifferentLengths(t *testing.T) {
	s := open(t, redistest.Start(t).URL(), redisstore.Config{})
	defer s.Close()
	q := quota(algo.Spec{Algorithm: algo.Concurrency, Limit: 1})
	r := make([]core.Result, 1)
	hold := func(key core.Key, span time.Duration) core.Result {
		require.NoError(t, s.Take(t.Context(), []core.Charge{{Key: key, Limit: "in-flight", Quota: q, Cost: 1, Slot: rand.Uint64(), Hold: span}}, r))
		return r[0]
	}
	require.True(t, hold(newKey(), time.Hour).Granted)
	short := newKey()
	require.True(t, hold(short, 300*time.Millisecond).Granted)
	time.Sleep(900 * time.Millisecond)
	require.False(t, hold(short, 300*time.Millisecond).Granted, "the short one is still held")
}
