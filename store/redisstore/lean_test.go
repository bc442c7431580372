package redisstore

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
	"github.com/tidegate/tidegate/internal/redistest"
)

// TestManyBucketsAtOnce has a batch whose keys are new, spent, spent up, and written
// under another quota: the last goes the long way, and every answer is the right one.
func TestManyBucketsAtOnce(t *testing.T) {
	server := redistest.Start(t)
	s, err := Open(server.URL(), Config{Timeout: 5 * time.Second})
	require.NoError(t, err)
	defer s.Close()
	client := server.Client()
	hour := func(limit int64) *algo.Quota {
		q, err := algo.Compile(algo.Spec{Limit: limit, Period: time.Hour})
		require.NoError(t, err)
		return q
	}
	now, before := hour(10), hour(20)
	charge := func(id uint64, q *algo.Quota, cost int64) core.Charge {
		return core.Charge{Key: core.Key{Hi: id, Tag: 1}, Limit: "many", Quota: q, Cost: cost}
	}
	take := func(c core.Charge) {
		r := make([]core.Result, 1)
		require.NoError(t, s.Take(t.Context(), []core.Charge{c}, r))
		require.True(t, r[0].Granted)
	}
	take(charge(2, now, 4))
	take(charge(3, now, 10))
	take(charge(4, before, 5))
	var batch []*request
	for _, c := range []core.Charge{
		charge(1, now, 3), charge(2, now, 3), charge(2, now, 3), charge(2, now, 3), charge(3, now, 1), charge(4, now, 3), charge(5, now, 11), charge(6, now, 1<<62),
	} {
		r := s.newRequest([]core.Charge{c}, nil, true)
		r.stage.Store(sent)
		batch = append(batch, r)
	}
	sheets := s.arrange(batch)
	require.Len(t, sheets, 1)
	require.Same(t, s.scripts.many, sheets[0].script)
	s.carry(t.Context(), client, sheets)
	for i, want := range []struct {
		granted   bool
		remaining int64
	}{{true, 7}, {true, 3}, {true, 0}, {false, 0}, {false, 0}, {true, 2}, {false, 10}, {false, 10}} {
		r := batch[i]
		require.NoError(t, r.err)
		require.Equal(t, want.granted, r.results[0].Granted, i)
		require.Equal(t, want.remaining, r.results[0].Remaining, i)
	}
	require.Equal(t, core.Span(algo.Never), batch[7].results[0].RetryAfter)
}

// TestBucketsExpire when they are as good as new: no sooner, and hardly later.
func TestBucketsExpire(t *testing.T) {
	server := redistest.Start(t)
	s, err := Open(server.URL(), Config{Timeout: 5 * time.Second})
	require.NoError(t, err)
	defer s.Close()
	for i, spec := range []algo.Spec{
		{Limit: 10, Period: time.Second}, {Limit: 1_000_003, Period: 999_983 * time.Microsecond, Burst: 5_000_000},
		{Limit: 3, Period: 24 * time.Hour}, {Limit: 1, Period: 30 * 24 * time.Hour, Burst: 1000},
	} {
		q, err := algo.Compile(spec)
		require.NoError(t, err)
		c := core.Charge{Key: core.Key{Hi: uint64(i), Tag: 1}, Limit: "expiry", Quota: q, Cost: q.Capacity()}
		r := make([]core.Result, 1)
		require.NoError(t, s.Take(t.Context(), []core.Charge{c}, r))
		require.True(t, r[0].Granted)
		// Asked in one breath with the time, so that nothing passes between.
		got, err := redis.NewScript("local t = redis.call('TIME') return {redis.call('PTTL', KEYS[1]), t[1] * 1000000 + t[2]}").
			Run(t.Context(), server.Client(), []string{s.name(&c.Key, letters[algo.TokenBucket])}).Int64Slice()
		require.NoError(t, err)
		left := r[0].Receipt.At + r[0].ResetAfter.Microseconds() - got[1]
		require.GreaterOrEqual(t, got[0]*1000+2000, left, "%+v", spec)
		require.Less(t, got[0]*1000, left+100_000, "%+v", spec)
	}
}
