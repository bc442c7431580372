package open_test

import (
	"bytes"
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
	"github.com/tidegate/tidegate/core/config"
	"github.com/tidegate/tidegate/internal/redistest"
	"github.com/tidegate/tidegate/store/open"
	"github.com/tidegate/tidegate/store/storetest"
)

func parse(t *testing.T, text string) config.Store {
	t.Helper()
	f, err := config.Parse("limits.yaml", []byte("version: 1\nlimits: []\n"+text))
	require.NoError(t, err)
	return f.Store
}

func stack(t *testing.T, text string, o open.Options) *open.Stack {
	t.Helper()
	s, err := open.Store(parse(t, text), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func hourly(n int64) *algo.Quota {
	q, err := algo.Compile(algo.Spec{Limit: n, Period: time.Hour})
	if err != nil {
		panic(err)
	}
	return q
}

func take(t *testing.T, s core.Store, id uint64, n int64) core.Result {
	t.Helper()
	r := make([]core.Result, 1)
	require.NoError(t, s.Take(t.Context(), []core.Charge{{Key: core.Key{Hi: id, Lo: id, Tag: id}, Limit: "a", Quota: hourly(n), Cost: 1}}, r))
	return r[0]
}

func TestWithoutRedisThereIsMemory(t *testing.T) {
	s := stack(t, "store: {memory: {max_keys: 1000}}\n", open.Options{})
	require.Equal(t, core.Traits{}, s.Traits())
	require.Equal(t, int64(9), take(t, s, 1, 10).Remaining)
	require.Empty(t, s.Degraded())
	require.Zero(t, s.Instances())
}

// TestTheWholeStack passes the suite on a real server, as a file builds it.
func TestTheWholeStack(t *testing.T) {
	server := redistest.Start(t)
	storetest.Run(t, storetest.Harness{
		New: func(testing.TB) core.Store {
			s, err := open.Store(config.Store{Redis: &config.Redis{URL: server.URL(), Timeout: 5 * time.Second}}, open.Options{})
			require.NoError(t, err)
			return s
		},
		Lacks: storetest.Numbers | storetest.OneStep, // where a limit says prefetch, which these do not
	})
}

// TestPrefetch: a busy key costs a fraction of a call each, and three instances get no
// more than the quota.
func TestPrefetch(t *testing.T) {
	server := redistest.Start(t)
	text := "store: {prefetch: {max_fraction: 0.1}, redis: {url: \"" + server.URL() + "\", timeout: 5s}}\n"
	var granted, asked int
	var mu sync.Mutex
	var group sync.WaitGroup
	began := time.Now()
	const rate = 3000
	q, err := algo.Compile(algo.Spec{Limit: rate, Period: time.Second})
	require.NoError(t, err)
	for range 3 {
		s := stack(t, text, open.Options{})
		group.Go(func() {
			for end := began.Add(2 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
				r := make([]core.Result, 1)
				c := []core.Charge{{Key: core.Key{Hi: 7, Lo: 7, Tag: 7}, Limit: "a", Quota: q, Cost: 1, Prefetch: 0.1}}
				if err := s.Take(context.Background(), c, r); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				asked++
				if r[0].Granted {
					granted++
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	calls := strings.Split(server.Info("commandstats", "cmdstat_evalsha"), ",")[0]
	n, err := strconv.Atoi(strings.TrimPrefix(calls, "calls="))
	require.NoError(t, err)
	t.Logf("%d asked, %d granted, %d calls", asked, granted, n)
	require.LessOrEqual(t, float64(granted), rate*(1+time.Since(began).Seconds()))
	require.Less(t, n, asked/4, "a busy key is paid from what is held")
}

// TestAutoShareFollowsTheInstances: three know of three, twenty of twenty, and in an
// outage each goes on with its part of what it last knew.
func TestAutoShareFollowsTheInstances(t *testing.T) {
	server := redistest.Start(t)
	text := "store: {failure: local, local_fraction: auto, redis: {url: \"" + server.URL() + "\", timeout: 200ms}}\n"
	quiet := open.Options{Logger: slog.New(slog.DiscardHandler)}
	var fleet []*open.Stack
	grow := func(n int) {
		for len(fleet) < n {
			fleet = append(fleet, stack(t, text, quiet))
		}
		redistest.Await(t, "the instances did not find each other", func() bool {
			for _, s := range fleet {
				if s.Instances() != n {
					return false
				}
			}
			return true
		})
	}
	grow(3)
	grow(20)
	server.Kill()
	var mu sync.Mutex
	granted := 0
	var group sync.WaitGroup
	for _, s := range fleet {
		group.Go(func() {
			for range 30 {
				r := make([]core.Result, 1)
				c := []core.Charge{{Key: core.Key{Hi: 7, Lo: 7, Tag: 7}, Limit: "a", Quota: hourly(200), Cost: 1, Policy: core.FailLocal}}
				if err := s.Take(context.Background(), c, r); err == nil && r[0].Granted {
					mu.Lock()
					granted++
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	require.Equal(t, 200, granted, "twenty shares of 10 are the quota")
}

// TestDegradedModeIsLoggedOnce each way, however many requests there are.
func TestDegradedModeIsLoggedOnce(t *testing.T) {
	server := redistest.Start(t)
	var log bytes.Buffer
	var failures int
	var mu sync.Mutex
	s := stack(t, "store: {redis: {url: \""+server.URL()+"\"}}\n", open.Options{
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
		OnError: func(error) {
			mu.Lock()
			failures++
			mu.Unlock()
		},
	})
	for range 3 {
		require.False(t, take(t, s, 1, 10).Unknown)
	}
	server.Kill()
	for range 100 {
		require.True(t, take(t, s, 1, 10).Unknown)
	}
	require.Equal(t, []string{""}, s.Degraded())
	server.Start()
	redistest.Await(t, "the server was not picked up", func() bool { return len(s.Degraded()) == 0 })
	require.Equal(t, int64(9), take(t, s, 1, 10).Remaining, "the server came back empty")
	require.Equal(t, 2, strings.Count(log.String(), "level=WARN"), log.String())
	mu.Lock()
	defer mu.Unlock()
	require.GreaterOrEqual(t, failures, 5)
}

func TestWrongStores(t *testing.T) {
	_, err := open.Store(config.Store{Redis: &config.Redis{URL: "redis://:hunter2@"}}, open.Options{})
	require.ErrorContains(t, err, "the address is wrong")
	require.NotContains(t, err.Error(), "hunter2")
	_, err = open.ParseDrill("hang")
	require.ErrorContains(t, err, "hang:30s")
}
