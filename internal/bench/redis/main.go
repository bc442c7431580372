// Command redis compares the Redis store with redis_rate and with the floor, a bare
// EVALSHA, on a server of its own, in one run. Rounds of the contestants alternate,
// so that a noisy machine is as noisy for each; the table has medians.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
	"github.com/tidegate/tidegate/store"
	"github.com/tidegate/tidegate/store/redisstore"
)

var (
	rounds = flag.Int("rounds", 6, "how often each contestant runs")
	span   = flag.Duration("span", 700*time.Millisecond, "how long a run takes")
	keys   = flag.Int("keys", 20_000, "how many callers there are")
)

const addr = "127.0.0.1:16399"

// A contestant does one piece of work: one request of a caller.
type contestant struct {
	name string
	work func(ctx context.Context, caller int) (bool, error)
}

// A measure is what came of one run.
type measure struct {
	ops, cpu, p50, p99, allowed float64 // a second; µs of the server's an operation; µs; µs; share
}

func main() {
	flag.Parse()
	server := exec.Command("redis-server", "--port", "16399", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--loglevel", "warning")
	if err := server.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "redis-server:", err)
		os.Exit(1)
	}
	defer server.Wait()
	defer server.Process.Kill()
	probe := redis.NewClient(&redis.Options{Addr: addr})
	for probe.Ping(context.Background()).Err() != nil {
		time.Sleep(20 * time.Millisecond)
	}
	list := contestants(probe)
	fmt.Printf("redis %s, %d callers, %d rounds of %v, medians\n", info(probe, "server", "redis_version"), *keys, *rounds, *span)
	for _, callers := range []int{1, 16, 128, 1024} {
		table(probe, list, callers)
	}
	sizes(probe)
}

func contestants(probe *redis.Client) []contestant {
	rate := redis_rate.NewLimiter(redis.NewClient(&redis.Options{Addr: addr}))
	pool := redis.NewClient(&redis.Options{Addr: addr})
	sha := probe.ScriptLoad(context.Background(), "return 1").Val()
	ours := open("tg")
	cached, err := store.NewDenyCache(open("tgc"), store.DenyCacheConfig{})
	check(err)
	wide, narrow := bucket(1_000_000), bucket(0)
	return []contestant{
		{"redis_rate", func(ctx context.Context, c int) (bool, error) {
			r, err := rate.Allow(ctx, "caller-"+strconv.Itoa(c), redis_rate.Limit{Rate: 1_000_000, Burst: 1_000_000, Period: time.Hour})
			return err == nil && r.Allowed > 0, err
		}},
		{"redis_rate denied", func(ctx context.Context, c int) (bool, error) {
			r, err := rate.AllowN(ctx, "denied-"+strconv.Itoa(c), redis_rate.Limit{Rate: 1, Burst: 1, Period: time.Hour}, 2)
			return err == nil && r.Allowed > 0, err
		}},
		{"redis_rate x3", func(ctx context.Context, c int) (bool, error) {
			for _, limit := range []string{"a", "b", "c"} {
				r, err := rate.Allow(ctx, limit+strconv.Itoa(c), redis_rate.Limit{Rate: 1_000_000, Burst: 1_000_000, Period: time.Hour})
				if err != nil || r.Allowed == 0 {
					return false, err
				}
			}
			return true, nil
		}},
		{"EVALSHA return 1", func(ctx context.Context, c int) (bool, error) {
			return true, pool.EvalSha(ctx, sha, []string{"k" + strconv.Itoa(c)}).Err()
		}},
		{"tidegate", take(ours, 1, wide)},
		{"tidegate denied", take(ours, 1, bucketOf(1, 2))},
		{"tidegate three limits", take(ours, 3, wide)},
		{"tidegate hot key", func(ctx context.Context, _ int) (bool, error) { return take(ours, 1, wide)(ctx, 1<<30) }},
		{"tidegate denied, deny cache", take(cached, 1, narrow)},
	}
}

func open(prefix string) core.Store {
	s, err := redisstore.Open("redis://"+addr, redisstore.Config{Prefix: prefix, Timeout: 5 * time.Second})
	check(err)
	return s
}

func bucket(n int64) *algo.Quota { return compiled(algo.Spec{Limit: n, Period: time.Hour}) }

// charged is a quota whose charges cost more than it ever has left.
type charged struct {
	quota *algo.Quota
	cost  int64
}

func bucketOf(n, cost int64) charged { return charged{bucket(n), cost} }

func compiled(s algo.Spec) *algo.Quota {
	q, err := algo.Compile(s)
	check(err)
	return q
}

// take returns the work of charging so many limits of one caller as one.
func take(s core.Store, limits int, q any) func(context.Context, int) (bool, error) {
	of, ok := q.(charged)
	if !ok {
		of = charged{q.(*algo.Quota), 1}
	}
	return func(ctx context.Context, c int) (bool, error) {
		var charges [3]core.Charge
		var results [3]core.Result
		for i := range limits {
			h := uint64(c+1) * 0x9E3779B97F4A7C15
			charges[i] = core.Charge{Key: core.Key{Hi: h ^ uint64(i)<<60, Lo: h * 31, Tag: h}, Limit: "limit", Quota: of.quota, Cost: of.cost}
		}
		err := s.Take(ctx, charges[:limits], results[:limits])
		return err == nil && results[0].Granted, err
	}
}

func table(probe *redis.Client, list []contestant, callers int) {
	got := make([][]measure, len(list))
	for range *rounds {
		for i, c := range list {
			got[i] = append(got[i], run(probe, c, callers))
		}
	}
	fmt.Printf("\n%d at once\n\n| | ops/s | × redis_rate | × EVALSHA | server µs/op | × redis_rate | p50 µs | p99 µs |\n|---|---|---|---|---|---|---|---|\n", callers)
	base, floor := got[0], got[3]
	for i, c := range list {
		m := medians(got[i])
		fmt.Printf("| %s | %.0f | %s | %s | %.2f | %s | %.0f | %.0f |\n", c.name, m.ops, ratio(got[i], base, ops), ratio(got[i], floor, ops), m.cpu, ratio(got[i], base, cpu), m.p50, m.p99)
	}
}

func ops(m measure) float64 { return m.ops }
func cpu(m measure) float64 { return m.cpu }

// ratio returns the median of the ratios of paired rounds, and their spread.
func ratio(a, b []measure, of func(measure) float64) string {
	var list []float64
	for i := range a {
		list = append(list, of(a[i])/of(b[i]))
	}
	slices.Sort(list)
	return fmt.Sprintf("%.2f (%.2f–%.2f)", list[len(list)/2], list[0], list[len(list)-1])
}

func medians(list []measure) measure {
	median := func(of func(measure) float64) float64 {
		var v []float64
		for _, m := range list {
			v = append(v, of(m))
		}
		slices.Sort(v)
		return v[len(v)/2]
	}
	return measure{
		ops: median(ops), cpu: median(cpu),
		p50: median(func(m measure) float64 { return m.p50 }), p99: median(func(m measure) float64 { return m.p99 }),
	}
}

func run(probe *redis.Client, c contestant, callers int) measure {
	spans := make([][]time.Duration, callers)
	before := serverCPU(probe)
	began := time.Now()
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 1))
			for end := began.Add(*span); time.Now().Before(end); {
				at := time.Now()
				_, err := c.work(context.Background(), rng.IntN(*keys))
				check(err)
				spans[i] = append(spans[i], time.Since(at))
			}
		})
	}
	group.Wait()
	took := time.Since(began)
	used := serverCPU(probe) - before
	all := slices.Concat(spans...)
	slices.Sort(all)
	n := float64(len(all))
	return measure{
		ops: n / took.Seconds(), cpu: used * 1e6 / n,
		p50: float64(all[len(all)/2].Nanoseconds()) / 1e3, p99: float64(all[len(all)*99/100].Nanoseconds()) / 1e3,
	}
}

// sizes says how much memory a key takes.
func sizes(probe *redis.Client) {
	ctx := context.Background()
	check(probe.FlushAll(ctx).Err())
	rate := redis_rate.NewLimiter(probe)
	_, err := rate.Allow(ctx, "0123456789abcdef", redis_rate.PerHour(1000))
	check(err)
	theirs := usage(probe)
	fmt.Printf("\n| | bytes a key (MEMORY USAGE) | × redis_rate |\n|---|---|---|\n| redis_rate, a name of 16 bytes | %d | 1 |\n", theirs)
	for _, s := range []algo.Spec{
		{Limit: 10, Period: time.Second}, {Limit: 600, Period: time.Minute, Burst: 50}, {Limit: 1000, Period: time.Hour},
		{Algorithm: algo.FixedWindow, Limit: 1000, Period: algo.Day}, {Algorithm: algo.SlidingWindow, Limit: 1000, Period: time.Hour},
	} {
		check(probe.FlushAll(ctx).Err())
		_, err := take(open("tg"), 1, compiled(s))(ctx, 7)
		check(err)
		ours := usage(probe)
		fmt.Printf("| tidegate, %v %d/%v | %d | %.2f |\n", s.Algorithm, s.Limit, s.Period, ours, float64(ours)/float64(theirs))
	}
}

func usage(probe *redis.Client) int64 {
	ctx := context.Background()
	k := probe.Keys(ctx, "*").Val()[0]
	return probe.MemoryUsage(ctx, k).Val()
}

func serverCPU(probe *redis.Client) float64 {
	user, _ := strconv.ParseFloat(info(probe, "cpu", "used_cpu_user"), 64)
	sys, _ := strconv.ParseFloat(info(probe, "cpu", "used_cpu_sys"), 64)
	return user + sys
}

func info(probe *redis.Client, section, field string) string {
	for line := range strings.Lines(probe.Info(context.Background(), section).Val()) {
		if v, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
