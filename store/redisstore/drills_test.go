package redisstore_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
	"github.com/tidegate/tidegate/internal/redistest"
	"github.com/tidegate/tidegate/store"
	"github.com/tidegate/tidegate/store/redisstore"
)

// These tests break real servers in every way that is known to happen to them.

func quota(s algo.Spec) *algo.Quota {
	q, err := algo.Compile(s)
	if err != nil {
		panic(err)
	}
	return q
}

// ways are all ways of counting, holding n units for hours.
func ways(n int64) map[string]*algo.Quota {
	const long = 97 * time.Hour // whose edges are nowhere near
	return map[string]*algo.Quota{
		"token-bucket":   quota(algo.Spec{Limit: n, Period: long}),
		"leaky-bucket":   quota(algo.Spec{Algorithm: algo.LeakyBucket, Limit: n, Period: long, Queue: n - 1}),
		"fixed-window":   quota(algo.Spec{Algorithm: algo.FixedWindow, Limit: n, Period: long, FirstRequest: true}),
		"by-the-month":   quota(algo.Spec{Algorithm: algo.FixedWindow, Limit: n, Period: algo.Month}),
		"sliding-window": quota(algo.Spec{Algorithm: algo.SlidingWindow, Limit: n, Period: long}),
		"sliding-cells":  quota(algo.Spec{Algorithm: algo.SlidingWindow, Limit: n, Period: long, Cells: 6}),
		"sliding-log":    quota(algo.Spec{Algorithm: algo.SlidingLog, Limit: n, Period: long}),
	}
}

func newKey() core.Key { return core.Key{Hi: rand.Uint64(), Lo: rand.Uint64(), Tag: rand.Uint64()} }

func one(q *algo.Quota) []core.Charge {
	return []core.Charge{{Key: newKey(), Limit: "drill", Quota: q, Cost: 1}}
}

func kindOf(err error) string {
	var failure *core.StoreError
	if errors.As(err, &failure) {
		return failure.Kind
	}
	return fmt.Sprint(err)
}

// A tally is what came of many calls.
type tally struct {
	granted, denied, failed atomic.Int64
	mu                      sync.Mutex
	kinds                   map[string]int
	spans                   []time.Duration
}

func (y *tally) call(s core.Store, charges []core.Charge) {
	results := make([]core.Result, len(charges))
	began := time.Now()
	err := s.Take(context.Background(), charges, results)
	span := time.Since(began)
	granted := !slices.ContainsFunc(results, func(r core.Result) bool { return !r.Granted })
	switch {
	case err != nil:
		y.failed.Add(1)
	case granted:
		y.granted.Add(1)
	default:
		y.denied.Add(1)
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	y.spans = append(y.spans, span)
	if err != nil {
		if y.kinds == nil {
			y.kinds = map[string]int{}
		}
		y.kinds[kindOf(err)]++
	}
}

// percentile returns a span that so many of a hundred calls did not exceed.
func (y *tally) percentile(p float64) time.Duration {
	y.mu.Lock()
	defer y.mu.Unlock()
	slices.Sort(y.spans)
	return y.spans[int(float64(len(y.spans)-1)*p/100)]
}

func (y *tally) String() string {
	return fmt.Sprintf("%d granted, %d denied, %d failed %v; p50 %v, p99 %v, slowest %v", y.granted.Load(), y.denied.Load(), y.failed.Load(), y.kinds,
		y.percentile(50), y.percentile(99), y.percentile(100))
}

// storm has goroutines of several instances ask for one key.
func storm(instances []core.Store, goroutines, each int, charges []core.Charge) *tally {
	var y tally
	var group sync.WaitGroup
	for i := range goroutines {
		group.Go(func() {
			for range each {
				y.call(instances[i%len(instances)], charges)
			}
		})
	}
	group.Wait()
	return &y
}

// TestThreeInstances: 200 goroutines of three processes on one key get exactly the
// quota, however it is counted.
func TestThreeInstances(t *testing.T) {
	for name, url := range map[string]string{
		"redis": redistest.Start(t).URL(), "cluster": redistest.StartCluster(t, 3, false).URL(),
	} {
		for way, q := range ways(500) {
			t.Run(name+"/"+way, func(t *testing.T) {
				var instances []core.Store
				for range 3 {
					s := open(t, url, redisstore.Config{})
					defer s.Close()
					instances = append(instances, s)
				}
				y := storm(instances, 200, 5, one(q))
				require.Zero(t, y.failed.Load(), y)
				require.Equal(t, int64(500), y.granted.Load(), y)
			})
		}
	}
}

// TestLostReplies: what was executed and never heard of is charged once, and not
// repeated.
func TestLostReplies(t *testing.T) {
	server := redistest.Start(t)
	proxy := redistest.StartProxy(t, server.Addr())
	s := open(t, proxy.URL(), redisstore.Config{})
	defer s.Close()
	for way, q := range ways(10) {
		t.Run(way, func(t *testing.T) {
			c := one(q)
			r := make([]core.Result, 1)
			require.NoError(t, s.Take(t.Context(), c, r))
			proxy.Swallow(1)
			err := s.Take(t.Context(), c, r)
			var failure *core.StoreError
			require.ErrorAs(t, err, &failure)
			require.Equal(t, redisstore.KindNetwork, failure.Kind)
			require.True(t, failure.MaybeSpent)
			require.NoError(t, s.Peek(t.Context(), c, r))
			require.Equal(t, int64(8), r[0].Remaining, "two takes, each charged once")
		})
	}
	// The program's own client would repeat by itself. It is told not to.
	own := redis.NewClient(&redis.Options{Addr: strings.TrimPrefix(proxy.URL(), "redis://"), MaxRetries: 3})
	defer own.Close()
	mine, err := redisstore.New(own, redisstore.Config{Timeout: 5 * time.Second})
	require.NoError(t, err)
	c, r := one(ways(10)["token-bucket"]), make([]core.Result, 1)
	require.NoError(t, mine.Take(t.Context(), c, r))
	proxy.Swallow(1)
	require.Error(t, mine.Take(t.Context(), c, r))
	require.NoError(t, mine.Peek(t.Context(), c, r))
	require.Equal(t, int64(8), r[0].Remaining)
}

// TestScriptsAreLost while requests are under way: nobody notices, and nothing is
// charged twice.
func TestScriptsAreLost(t *testing.T) {
	server := redistest.Start(t)
	cluster := redistest.StartCluster(t, 3, false)
	flush := map[string]func(){
		server.URL(): func() { server.Do("script", "flush") },
		cluster.URL(): func() {
			for _, m := range cluster.Masters {
				m.Do("script", "flush")
			}
		},
	}
	for url, lose := range flush {
		s := open(t, url, redisstore.Config{})
		ctx, stop := context.WithCancel(t.Context())
		var flushing sync.WaitGroup
		flushing.Go(func() {
			for ctx.Err() == nil {
				lose()
			}
		})
		// Two callers' charges in one call: in the cluster, a pipeline of parts.
		charges := append(one(ways(300)["token-bucket"]), one(ways(1000)["sliding-log"])...)
		y := storm([]core.Store{s}, 16, 40, charges)
		stop()
		flushing.Wait()
		require.Zero(t, y.failed.Load(), y)
		r := make([]core.Result, 2)
		require.NoError(t, s.Peek(t.Context(), charges, r))
		require.Equal(t, 300-y.granted.Load(), r[0].Remaining, y)
		require.Equal(t, 1000-y.granted.Load(), r[1].Remaining, y)
		if url == server.URL() {
			require.Equal(t, int64(300), y.granted.Load(), y)
		}
		require.NoError(t, s.Close())
	}
}

// TestServersThatSayNo: each error has its kind, and leaves nothing charged.
func TestServersThatSayNo(t *testing.T) {
	q := ways(10)["token-bucket"]
	reject := func(t *testing.T, url, kind string) {
		t.Helper()
		s := open(t, url, redisstore.Config{})
		defer s.Close()
		err := s.Take(t.Context(), one(q), make([]core.Result, 1))
		require.ErrorIs(t, err, core.ErrStore)
		require.Equal(t, kind, kindOf(err), "%v", err)
		require.NotContains(t, err.Error(), "hunter2")
		var failure *core.StoreError
		require.ErrorAs(t, err, &failure)
		require.False(t, failure.MaybeSpent)
	}
	t.Run("nobody there", func(t *testing.T) { reject(t, redistest.New(t).URL(), redisstore.KindRefused) })
	t.Run("wrong password", func(t *testing.T) {
		s := redistest.Start(t, "--requirepass", "right")
		reject(t, "redis://:hunter2@"+s.Addr(), redisstore.KindAuth)
		reject(t, s.URL(), redisstore.KindAuth)
	})
	t.Run("no right to run scripts", func(t *testing.T) {
		s := redistest.Start(t)
		s.Do("acl", "setuser", "weak", "on", ">hunter2", "~*", "+@all", "-@scripting")
		reject(t, "redis://weak:hunter2@"+s.Addr(), redisstore.KindAuth)
	})
	t.Run("read-only", func(t *testing.T) {
		s := redistest.Start(t)
		s.Do("replicaof", "127.0.0.1", "1")
		reject(t, s.URL(), redisstore.KindReadOnly)
	})
	t.Run("out of memory", func(t *testing.T) {
		s := redistest.Start(t, "--maxmemory-policy", "noeviction")
		s.Do("config", "set", "maxmemory", "100kb")
		reject(t, s.URL(), redisstore.KindMemory)
	})
	for answer, kind := range map[string]string{
		"-LOADING Redis is loading the dataset in memory":                                redisstore.KindLoading,
		"-MASTERDOWN Link with MASTER is down":                                           redisstore.KindLoading,
		"-CLUSTERDOWN Hash slot not served":                                              redisstore.KindCluster,
		"-BUSY Redis is busy running a script":                                           redisstore.KindBusy,
		"-MOVED 1234 127.0.0.1:1":                                                        redisstore.KindCluster,
		"-MISCONF Redis is configured to save RDB snapshots":                             redisstore.KindMemory,
		"-ERR Error running script (call to f_1): @user_script:1: WRONGTYPE Operation":   redisstore.KindReply,
		"-NOREPLICAS Not enough good replicas to write":                                  redisstore.KindReadOnly,
		"-ERR user_script:3: attempt to perform arithmetic on a nil value script: 1, on": redisstore.KindReply,
		"-ERR something new":                                                             redisstore.KindOther,
	} {
		t.Run(answer, func(t *testing.T) { reject(t, "redis://"+parrot(t, answer), kind) })
	}
	for _, answer := range []string{":1", "$-1", "+OK", "*0", "*1\r\n+OK", "*2\r\n:1\r\n:2", "*5\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5", "*3\r\n:1\r\n:2\r\n$1\r\nx", "*3\r\n:-7\r\n:1\r\n:1", "_", ",1.5"} {
		t.Run("odd answer "+answer, func(t *testing.T) {
			s := open(t, "redis://"+parrot(t, answer), redisstore.Config{})
			defer s.Close()
			err := s.Take(t.Context(), one(q), make([]core.Result, 1))
			require.ErrorIs(t, err, core.ErrStore)
			require.Contains(t, []string{redisstore.KindReply, redisstore.KindOther}, kindOf(err), "%v", err)
		})
	}
}

// parrot starts a server that gives one answer to every script, and OK to the rest.
func parrot(t *testing.T, answer string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				buf := make([]byte, 64<<10)
				for {
					n, err := c.Read(buf)
					if err != nil {
						return
					}
					text := strings.ToLower(string(buf[:n]))
					said := "+OK"
					switch {
					case strings.Contains(text, "hello"):
						said = "-ERR unknown command 'hello'"
					case strings.Contains(text, "evalsha"):
						said = answer
					}
					if _, err := c.Write([]byte(said + "\r\n")); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

// TestDenialsNeedNoMemory: a full server still says no.
func TestDenialsNeedNoMemory(t *testing.T) {
	server := redistest.Start(t, "--maxmemory-policy", "noeviction")
	s := open(t, server.URL(), redisstore.Config{})
	defer s.Close()
	c, r := one(ways(1)["token-bucket"]), make([]core.Result, 1)
	require.NoError(t, s.Take(t.Context(), c, r))
	server.Do("config", "set", "maxmemory", "100kb")
	require.NoError(t, s.Take(t.Context(), c, r))
	require.False(t, r[0].Granted)
}

// TestForeignValues: a key that somebody else wrote is an error of its own, and no
// panic, whatever is in it.
func TestForeignValues(t *testing.T) {
	server := redistest.Start(t)
	client := server.Client()
	s := open(t, server.URL(), redisstore.Config{})
	defer s.Close()
	ctx := t.Context()
	for way, q := range ways(10) {
		for _, value := range []string{"", "x", "\x00", "\x02\x01\x05", strings.Repeat("\xff", 60), "list", "hash"} {
			server.Do("flushall")
			c, r := one(q), make([]core.Result, 1)
			require.NoError(t, s.Take(ctx, c, r))
			keys := client.Keys(ctx, "*").Val()
			require.Len(t, keys, 1)
			require.NoError(t, client.Del(ctx, keys[0]).Err())
			switch value {
			case "list":
				require.NoError(t, client.RPush(ctx, keys[0], "x", "y", "z", "1", "2", "3").Err())
			case "hash":
				require.NoError(t, client.HSet(ctx, keys[0], "a", "b").Err())
			default:
				require.NoError(t, client.Set(ctx, keys[0], value, 0).Err())
			}
			if err := s.Take(ctx, c, r); err != nil {
				require.Equal(t, redisstore.KindReply, kindOf(err), "%s with %q: %v", way, value, err)
			}
		}
	}
}

// TestEveryKeyHasATimeToLive, from its first write on, no longer than its state lasts
// and a minute, and shows nothing of its caller.
func TestEveryKeyHasATimeToLive(t *testing.T) {
	server := redistest.Start(t)
	client := server.Client()
	s := open(t, server.URL(), redisstore.Config{Prefix: "shop"})
	defer s.Close()
	ctx := t.Context()
	check := func(what string, r core.Result, extra time.Duration) {
		t.Helper()
		keys := client.Keys(ctx, "*").Val()
		require.NotEmpty(t, keys, what)
		for _, k := range keys {
			require.Regexp(t, `^shop:\{[A-Za-z0-9_-]{8}\}[A-Za-z0-9_-]{16}[a-z]$`, k)
			left := client.PTTL(ctx, k).Val()
			require.Positive(t, left, "%s: %s has no time to live", what, k)
			require.LessOrEqual(t, left, max(r.ResetAfter, extra)+time.Minute, "%s: %s lives longer than its state", what, k)
			if !strings.HasSuffix(k, "p") {
				require.GreaterOrEqual(t, left+5*time.Second, r.ResetAfter, "%s: %s is forgotten early", what, k)
			}
		}
	}
	for way, q := range ways(10) {
		server.Do("flushall")
		c, r := one(q), make([]core.Result, 1)
		c[0].Penalty = &algo.Penalty{After: 3, Within: time.Minute, Block: time.Hour}
		for i, cost := range []int64{1, 3, 6, 1, 1, 1, 1} {
			c[0].Cost = cost
			require.NoError(t, s.Take(ctx, c, r))
			check(fmt.Sprintf("%s, take %d", way, i), r[0], time.Hour)
			if i == 1 {
				require.NoError(t, s.Give(ctx, []core.Refund{{Key: c[0].Key, Quota: q, Units: 2, Receipt: r[0].Receipt}}))
				require.NoError(t, s.Peek(ctx, c, r))
				check(way+", given back", r[0], time.Hour)
				c[0].Cost = 2
				require.NoError(t, s.Take(ctx, c, r))
			}
		}
		require.NoError(t, s.Reset(ctx, c))
		require.Empty(t, client.Keys(ctx, "*").Val(), way)
		require.NoError(t, s.Block(ctx, c[0], time.Minute))
		check(way+", blocked", r[0], time.Minute)
	}
	_, err := s.Announce(ctx, "a", time.Minute)
	require.NoError(t, err)
	require.Positive(t, client.PTTL(ctx, "shop:{instances}").Val())
}

// TestPrefixesKeepApart, and the same prefix counts together.
func TestPrefixesKeepApart(t *testing.T) {
	server := redistest.Start(t)
	c, r := one(ways(2)["token-bucket"]), make([]core.Result, 1)
	var got []bool
	for _, prefix := range []string{"a", "a", "a", "b"} {
		s := open(t, server.URL(), redisstore.Config{Prefix: prefix})
		require.NoError(t, s.Take(t.Context(), c, r))
		got = append(got, r[0].Granted)
		require.NoError(t, s.Close())
	}
	require.Equal(t, []bool{true, true, false, true}, got)
}

// failsafe puts a store behind the policy of open limits.
func failsafe(t *testing.T, s core.Store, c store.FailsafeConfig) *store.Failsafe {
	f, err := store.NewFailsafe(s, c)
	require.NoError(t, err)
	return f
}

// load asks for a while, with so many goroutines, each for a key of its own.
func load(s core.Store, span time.Duration, goroutines int) *tally {
	var y tally
	var group sync.WaitGroup
	q := quota(algo.Spec{Limit: 1 << 20, Period: time.Hour})
	for range goroutines {
		group.Go(func() {
			c := one(q)
			for end := time.Now().Add(span); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
				y.call(s, c)
			}
		})
	}
	group.Wait()
	return &y
}

// TestHungServer stops a server in the middle of its work: requests wait for the
// timeout at first, and not at all once it is taken for dead; it is back within a
// probe.
func TestHungServer(t *testing.T) {
	const timeout, probe = 50 * time.Millisecond, 200 * time.Millisecond
	server := redistest.Start(t)
	s := open(t, server.URL(), redisstore.Config{Timeout: timeout})
	f := failsafe(t, s, store.FailsafeConfig{ProbeEvery: probe})
	defer f.Close()
	healthy := load(f, 300*time.Millisecond, 32)
	before := runtime.NumGoroutine()
	server.Hang()
	first := load(f, 500*time.Millisecond, 32)
	require.NotEmpty(t, f.Degraded())
	dead := load(f, time.Second, 32)
	require.LessOrEqual(t, runtime.NumGoroutine(), before+64, "nothing piles up")
	server.Resume()
	began := time.Now()
	redistest.Await(t, "the breaker did not close", func() bool { return len(f.Degraded()) == 0 })
	back := time.Since(began)
	again := load(f, 300*time.Millisecond, 32)
	t.Logf("healthy: %v\nhung: %v\ndead: %v\nback after %v: %v", healthy, first, dead, back, again)
	for _, y := range []*tally{healthy, first, dead, again} {
		require.Zero(t, y.denied.Load()+y.failed.Load())
	}
	require.Less(t, first.percentile(99), timeout+30*time.Millisecond)
	require.Less(t, dead.percentile(99), time.Millisecond)
	require.Less(t, back, 4*probe)
}

// TestKilledServer ends a server and starts it again, empty.
func TestKilledServer(t *testing.T) {
	const probe = 100 * time.Millisecond
	server := redistest.Start(t)
	f := failsafe(t, open(t, server.URL(), redisstore.Config{Timeout: 50 * time.Millisecond}), store.FailsafeConfig{ProbeEvery: probe})
	defer f.Close()
	healthy := load(f, 200*time.Millisecond, 16)
	server.Kill()
	first := load(f, 300*time.Millisecond, 16)
	require.NotEmpty(t, f.Degraded())
	server.Start()
	redistest.Await(t, "the breaker did not close", func() bool { return len(f.Degraded()) == 0 })
	again := load(f, 200*time.Millisecond, 16)
	t.Logf("healthy: %v\nkilled: %v\nback: %v", healthy, first, again)
	for _, y := range []*tally{healthy, first, again} {
		require.Zero(t, y.denied.Load()+y.failed.Load())
	}
}

// TestSlowServer is one that answers too late: as bad as one that does not.
func TestSlowServer(t *testing.T) {
	server := redistest.Start(t)
	proxy := redistest.StartProxy(t, server.Addr())
	f := failsafe(t, open(t, proxy.URL(), redisstore.Config{Timeout: 40 * time.Millisecond}), store.FailsafeConfig{ProbeEvery: 100 * time.Millisecond})
	defer f.Close()
	healthy := load(f, 200*time.Millisecond, 16)
	proxy.Delay(100 * time.Millisecond)
	slow := load(f, 500*time.Millisecond, 16)
	require.NotEmpty(t, f.Degraded())
	proxy.Delay(0)
	redistest.Await(t, "the breaker did not close", func() bool { return len(f.Degraded()) == 0 })
	t.Logf("healthy: %v\nslow: %v", healthy, slow)
	require.Zero(t, slow.denied.Load()+slow.failed.Load())
	require.Less(t, slow.percentile(100), 100*time.Millisecond)
}

// TestSlotMoves while its caller is being counted: nobody is told, nothing is lost.
func TestSlotMoves(t *testing.T) {
	cluster := redistest.StartCluster(t, 3, false)
	s := open(t, cluster.URL(), redisstore.Config{})
	defer s.Close()
	for _, way := range []string{"token-bucket", "sliding-log"} {
		charges := one(ways(400)[way])
		require.NoError(t, s.Take(t.Context(), charges, make([]core.Result, 1)))
		var key string
		for _, m := range cluster.Masters {
			for _, k := range m.Do("keys", "*").([]any) {
				key = k.(string)
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		var y tally
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				for ctx.Err() == nil {
					y.call(s, charges)
				}
			})
		}
		time.Sleep(50 * time.Millisecond)
		cluster.Move(key, (cluster.Owner(key)+1)%3, func() { time.Sleep(20 * time.Millisecond) })
		time.Sleep(50 * time.Millisecond)
		stop()
		group.Wait()
		t.Logf("%s: %v", way, &y)
		require.Zero(t, y.failed.Load(), &y)
		require.Equal(t, int64(399), y.granted.Load(), &y)
		for _, m := range cluster.Masters {
			m.Do("flushall")
		}
	}
}

// TestFailover kills a master: its replica takes over with what it knows, and only
// the callers who were on it go by the policy until then.
func TestFailover(t *testing.T) {
	cluster := redistest.StartCluster(t, 3, true)
	s := open(t, cluster.URL(), redisstore.Config{Timeout: 100 * time.Millisecond})
	f := failsafe(t, s, store.FailsafeConfig{ProbeEvery: 100 * time.Millisecond})
	defer f.Close()
	q := ways(100)["token-bucket"]
	var lost, kept []core.Charge
	victim := ""
	for len(lost) == 0 || len(kept) == 0 {
		c := one(q)
		require.NoError(t, f.Take(t.Context(), c, make([]core.Result, 1)))
		if at := s.Place(&c[0].Key); victim == "" || at == victim {
			victim, lost = at, c
		} else {
			kept = c
		}
	}
	results := make([]core.Result, 1)
	for range 49 {
		require.NoError(t, f.Take(t.Context(), lost, results))
	}
	require.Equal(t, int64(50), results[0].Remaining)
	for i, m := range cluster.Masters {
		if m.Addr() == victim {
			cluster.Replicas[i].AwaitCaughtUp(m)
			m.Kill()
		}
	}
	began := time.Now()
	unknown := 0
	redistest.Await(t, "the replica did not take over", func() bool {
		require.NoError(t, f.Take(t.Context(), kept, results))
		require.False(t, results[0].Unknown, "a caller of another master is not affected")
		require.NoError(t, f.Take(t.Context(), lost, results))
		if results[0].Unknown {
			unknown++
		}
		return !results[0].Unknown
	})
	t.Logf("taken over after %v, with %d requests by policy; %d of 100 remain", time.Since(began), unknown, results[0].Remaining)
	require.LessOrEqual(t, results[0].Remaining, int64(49), "what was replicated is kept")
	require.GreaterOrEqual(t, results[0].Remaining, int64(49-unknown))
}

// TestSentinel kills a master that Sentinel watches: the store follows to the replica.
func TestSentinel(t *testing.T) {
	w := redistest.StartWatched(t)
	client := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: redistest.MasterName, SentinelAddrs: []string{w.Sentinel.Addr()},
		DialTimeout: 200 * time.Millisecond, ReadTimeout: 200 * time.Millisecond, DialerRetries: 1,
	})
	defer client.Close()
	s, err := redisstore.New(client, redisstore.Config{Timeout: 300 * time.Millisecond})
	require.NoError(t, err)
	f := failsafe(t, s, store.FailsafeConfig{ProbeEvery: 100 * time.Millisecond})
	defer f.Close()
	c, r := one(ways(100)["token-bucket"]), make([]core.Result, 1)
	for range 10 {
		require.NoError(t, f.Take(t.Context(), c, r))
	}
	require.Equal(t, int64(90), r[0].Remaining)
	w.Replica.AwaitCaughtUp(w.Master)
	w.Master.Kill()
	began, unknown := time.Now(), 0
	redistest.Await(t, "the store did not follow", func() bool {
		require.NoError(t, f.Take(t.Context(), c, r))
		if r[0].Unknown {
			unknown++
		}
		return !r[0].Unknown
	})
	t.Logf("followed after %v, with %d requests by policy; %d of 100 remain", time.Since(began), unknown, r[0].Remaining)
	require.LessOrEqual(t, r[0].Remaining, int64(89), "what was replicated is kept")
}

// TestTLS speaks to a server that speaks nothing else.
func TestTLS(t *testing.T) {
	files, roots := redistest.Certificate(t)
	server := redistest.New(t, "--port", "0", "--tls-cert-file", files.Cert, "--tls-key-file", files.Key, "--tls-auth-clients", "no")
	server.StartTLS()
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), TLSConfig: &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}})
	defer client.Close()
	s, err := redisstore.New(client, redisstore.Config{Timeout: 5 * time.Second})
	require.NoError(t, err)
	defer s.Close()
	c, r := one(ways(2)["token-bucket"]), make([]core.Result, 1)
	redistest.Await(t, "the server did not answer over TLS", func() bool { return s.Take(t.Context(), c, r) == nil })
	require.Equal(t, int64(1), r[0].Remaining)
	stranger := open(t, "rediss://"+server.Addr(), redisstore.Config{Timeout: time.Second})
	defer stranger.Close()
	err = stranger.Take(t.Context(), c, r)
	require.ErrorIs(t, err, core.ErrStore)
	require.ErrorContains(t, err, "certificate", "rediss:// trusts whom the machine trusts")
}

// TestCallersSpreadOverACluster: the keys of one caller stand together, however many
// limits it has; those of different callers spread. No call crosses slots.
func TestCallersSpreadOverACluster(t *testing.T) {
	cluster := redistest.StartCluster(t, 3, false)
	s := open(t, cluster.URL(), redisstore.Config{})
	defer s.Close()
	var kinds []*algo.Quota
	for _, q := range ways(10) {
		kinds = append(kinds, q)
	}
	places := map[string]int{}
	for i := range 1000 {
		caller := newKey()
		charges := make([]core.Charge, 1+i%3)
		for j := range charges {
			charges[j] = core.Charge{Key: newKey(), Limit: "limit", Quota: kinds[(i+j)%len(kinds)], Cost: 1}
			charges[j].Key.Tag = caller.Tag
		}
		require.NoError(t, s.Take(t.Context(), charges, make([]core.Result, len(charges))))
		places[s.Place(&charges[0].Key)]++
		for j := range charges {
			require.Equal(t, s.Place(&charges[0].Key), s.Place(&charges[j].Key))
		}
	}
	require.Len(t, places, 3)
	for place, n := range places {
		require.Greater(t, n, 200, "%s has too few of 1000 callers", place)
	}
}

// TestOneServerOfACluster: a store that was told of one server only, and finds a
// cluster, says so.
func TestOneServerOfACluster(t *testing.T) {
	cluster := redistest.StartCluster(t, 3, false)
	s := open(t, cluster.Masters[0].URL(), redisstore.Config{})
	defer s.Close()
	moved := 0
	for range 20 {
		if err := s.Take(t.Context(), one(ways(10)["token-bucket"]), make([]core.Result, 1)); err != nil {
			require.Equal(t, redisstore.KindCluster, kindOf(err))
			require.ErrorContains(t, err, "redis-cluster://")
			moved++
		}
	}
	require.Positive(t, moved)
}

// TestHotKey: a thousand goroutines on one key wait for each other no longer than the
// server needs.
func TestHotKey(t *testing.T) {
	s := open(t, redistest.Start(t).URL(), redisstore.Config{})
	defer s.Close()
	y := storm([]core.Store{s}, 1000, 20, one(ways(5000)["token-bucket"]))
	t.Log(y)
	require.Zero(t, y.failed.Load(), y)
	require.Equal(t, int64(5000), y.granted.Load(), y)
}

// TestTwoStoresKeepApart: each has its own server, prefix and timeout.
func TestTwoStoresKeepApart(t *testing.T) {
	server := redistest.Start(t)
	a := open(t, server.URL()+"/1", redisstore.Config{})
	b := open(t, server.URL()+"/2", redisstore.Config{Prefix: "other"})
	c, r := one(ways(1)["token-bucket"]), make([]core.Result, 1)
	for _, s := range []core.Store{a, b} {
		require.NoError(t, s.Take(t.Context(), c, r))
		require.True(t, r[0].Granted)
	}
	require.NoError(t, a.Close())
	require.NoError(t, b.Take(t.Context(), c, r))
	require.False(t, r[0].Granted, "closing one store does nothing to the other")
	require.NoError(t, b.Close())
}

// TestPolicies: whatever is wrong with the server, an open limit passes without
// numbers, a closed one refuses, and neither is a denial.
func TestPolicies(t *testing.T) {
	full := redistest.Start(t, "--maxmemory-policy", "noeviction")
	full.Do("config", "set", "maxmemory", "100kb")
	replica := redistest.Start(t)
	replica.Do("replicaof", "127.0.0.1", "1")
	hung := redistest.Start(t)
	hung.Hang()
	t.Cleanup(hung.Resume)
	for name, url := range map[string]string{
		"refused": redistest.New(t).URL(), "hung": hung.URL(), "full": full.URL(), "replica": replica.URL(),
		"password": redistest.Start(t, "--requirepass", "x").URL(), "loading": "redis://" + parrot(t, "-LOADING wait"),
		"nonsense": "redis://" + parrot(t, "+OK"),
	} {
		t.Run(name, func(t *testing.T) {
			var failures atomic.Int64
			f := failsafe(t, open(t, url, redisstore.Config{Timeout: 50 * time.Millisecond}), store.FailsafeConfig{OnError: func(error) { failures.Add(1) }, ProbeEvery: time.Hour})
			defer f.Close()
			for i := range int64(3) {
				c, r := one(ways(1)["token-bucket"]), make([]core.Result, 1)
				require.NoError(t, f.Take(t.Context(), c, r))
				require.True(t, r[0].Granted && r[0].Unknown)
				require.Equal(t, i+1, failures.Load())
			}
			c := one(ways(1)["token-bucket"])
			c[0].Policy = core.FailClosed
			require.ErrorIs(t, f.Take(t.Context(), c, make([]core.Result, 1)), core.ErrStore)
		})
	}
}

// TestDocumentedRights: a user who may do what docs/redis.md lists, and nothing else,
// is enough.
func TestDocumentedRights(t *testing.T) {
	server := redistest.Start(t)
	rights := []any{"acl", "setuser", "tides", "on", ">x", "~tg:*", "-@all"}
	for _, command := range strings.Fields("evalsha eval script|load del set ping hello auth select " +
		"time get pttl pexpire lrange llen lindex lset ltrim lrem rpush zadd zcard zcount zrem zremrangebyscore zscore") {
		rights = append(rights, "+"+command)
	}
	server.Do(rights...)
	s := open(t, "redis://tides:x@"+server.Addr(), redisstore.Config{})
	defer s.Close()
	kinds := ways(10)
	kinds["concurrency"] = quota(algo.Spec{Algorithm: algo.Concurrency, Limit: 3})
	for way, q := range kinds {
		c, r := one(q), make([]core.Result, 1)
		c[0].Slot, c[0].Hold = 7, 300*time.Millisecond
		c[0].Penalty = &algo.Penalty{After: 2, Within: time.Minute, Block: time.Minute}
		for range 13 {
			require.NoError(t, s.Take(t.Context(), c, r), way)
			if r[0].Granted {
				require.NoError(t, s.Peek(t.Context(), c, r), way)
			}
		}
		c = one(q)
		c[0].Cost, c[0].Slot = 2, 8
		require.NoError(t, s.Take(t.Context(), c, r), way)
		require.NoError(t, s.Give(t.Context(), []core.Refund{{Key: c[0].Key, Quota: q, Units: 1, Receipt: r[0].Receipt, Slot: 8}}), way)
		require.NoError(t, s.Reset(t.Context(), c), way)
	}
	time.Sleep(300 * time.Millisecond) // slots are renewed
	require.NoError(t, s.Probe(t.Context(), &core.Key{Hi: 1}))
	_, err := s.Announce(t.Context(), "a", time.Minute)
	require.NoError(t, err)
	log, _ := server.Do("acl", "log").([]any)
	require.Empty(t, log, "something was refused")
}
