package store_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
	"github.com/tidegate/tidegate/store"
	"github.com/tidegate/tidegate/store/memstore"
)

var (
	simSeed  = flag.Int64("lease.seed", -1, "the only seed that the simulation of leases runs")
	simSeeds = flag.Int64("lease.seeds", 1000, "how many seeds the simulation of leases runs")
)

// seeds returns which seeds to run: few where each costs much.
func seeds() (from, to int64) {
	switch {
	case *simSeed >= 0:
		return *simSeed, *simSeed + 1
	case raceEnabled:
		return 0, min(*simSeeds, 20)
	case testing.Short():
		return 0, min(*simSeeds, 100)
	}
	return 0, *simSeeds
}

// A scenario is a pattern of demand, and what is promised of it.
type scenario struct {
	name   string
	lasts  time.Duration
	rate   func(w *world, node int, t float64) float64 // arrivals a second at a node
	spec   func(limit int64) algo.Spec
	strict bool
	mixed  bool    // costs differ, some calls have a second charge, some units come back
	rough  int     // one seed of so many has calm weather
	within float64 // in calm: the share of one exact bucket's grants that may be lost. 0: unchecked
	calls  float64 // in calm: store calls a request. 0: unchecked
}

func steady(w *world, _ int, _ float64) float64 { return 0.8 * w.share() }
func flood(w *world, _ int, _ float64) float64  { return 3 * w.share() }

// moving has one node after the other be the only one that is asked.
func moving(w *world, node int, t float64) float64 {
	if int(t/0.5)%len(w.nodes) == node {
		return 2 * w.limit()
	}
	return 0
}

// adversary has every node ask for enough to hold units, and then all of them spend at
// once.
func adversary(w *world, _ int, t float64) float64 {
	if math.Mod(t, 1) < 0.94 {
		return 0.5 * w.share()
	}
	return 60 * w.share()
}

func aBucket(n int64) algo.Spec { return algo.Spec{Limit: n, Period: time.Second} }

func aWindow(n int64) algo.Spec {
	return algo.Spec{Algorithm: algo.FixedWindow, Limit: n / 2, Period: time.Second / 2}
}

var scenarios = []scenario{
	{name: "steady", lasts: 8 * time.Second, rate: steady, spec: aBucket, rough: 2, within: 0.005, calls: 0.15},
	{name: "overload", lasts: 4 * time.Second, rate: flood, spec: aBucket, rough: 2, within: 0.005},
	{name: "hot", lasts: 2 * time.Second, rate: moving, spec: aBucket, rough: 2},
	{name: "adversary", lasts: 1 * time.Second, rate: adversary, spec: aBucket, rough: 2},
	{name: "strict", lasts: 1 * time.Second, rate: adversary, spec: aBucket, strict: true, rough: 2},
	{name: "window", lasts: 2 * time.Second, rate: flood, spec: aWindow, rough: 2},
	{name: "mixed", lasts: 2 * time.Second, rate: flood, spec: aBucket, mixed: true, rough: 10},
}

// A world is one run: instances that lease from one store over a bad network.
type world struct {
	scenario
	seed    int64
	calm    bool
	quota   *algo.Quota
	bank    core.Store // what all share
	ideal   algo.State // of one exact bucket that is asked the same
	nodes   []*node
	books   books
	began   time.Time
	sins    sins
	group   sync.WaitGroup // of clients
	clients chan *request
}

// share is an even share of the limit, a second.
func (w *world) share() float64 { return w.limit() / float64(len(w.nodes)) }

func (w *world) limit() float64 {
	return float64(w.quota.Spec().Limit) / w.quota.Spec().Period.Seconds()
}

// A node is one instance, which may crash and start anew.
type node struct {
	w      *world
	index  int
	rng    *rand.Rand // of its clients
	link   *link
	offset time.Duration // of its clock
}

// newWorld lets the seed choose how many nodes there are, and what happens to them.
func newWorld(t testing.TB, s scenario, seed int64, sins sins) *world {
	rng := rand.New(rand.NewPCG(uint64(seed), 1))
	time.Sleep(time.Duration(1e9 + rng.Int64N(1e9))) // bubbles begin at a window's edge
	w := &world{scenario: s, seed: seed, sins: sins, began: time.Now()}
	w.calm = rng.IntN(10*s.rough) < 10
	n := 3 + rng.IntN(3)
	w.quota = compile(s.spec(int64(100 * n)))
	w.bank = memstore.New(memstore.Config{MaxKeys: 100})
	w.clients = make(chan *request)
	w.books.open(w)
	for i := range n {
		node := &node{w: w, index: i, rng: rand.New(rand.NewPCG(uint64(seed), uint64(100+i)))}
		node.offset = time.Duration(node.rng.Int64N(int64(2*time.Second))) - time.Second
		w.nodes = append(w.nodes, node)
	}
	for _, node := range w.nodes {
		node.start(t)
	}
	return w
}

// start begins a node anew: what its predecessor held is lost.
func (n *node) start(t testing.TB) {
	if n.link != nil {
		n.w.books.crash(n.link)
	}
	n.link = newLink(n)
	clock := func() time.Time { return time.Now().Add(n.offset) }
	if n.w.sins.frozen {
		began := clock()
		clock = func() time.Time { return began }
	}
	l, err := store.NewLease(n.w.sins.between(n.link), store.LeaseConfig{
		Strict: n.w.strict && !n.w.sins.generous, Instances: len(n.w.nodes), Clock: clock,
	})
	if err != nil {
		t.Error(err)
		return
	}
	n.link.lease = l
}

// run lets the world's time pass, and returns what it came to.
func (w *world) run(t testing.TB) {
	var lives sync.WaitGroup
	for _, n := range w.nodes {
		lives.Go(func() { n.live(t) })
	}
	lives.Wait()
	close(w.clients)
	w.group.Wait()
	w.books.end()
	for _, n := range w.nodes {
		_ = n.link.lease.Close()
	}
	w.books.close()
}

// live has clients arrive at a node, by a Poisson process that is thinned where the
// rate is below its peak.
func (n *node) live(t testing.TB) {
	w := n.w
	var peak float64
	for at := 0.0; at < w.lasts.Seconds(); at += 0.01 {
		peak = max(peak, w.rate(w, n.index, at))
	}
	crash := n.rng.ExpFloat64() * 2
	for at := n.rng.ExpFloat64() / peak; at < w.lasts.Seconds(); at += n.rng.ExpFloat64() / peak {
		if n.rng.Float64()*peak > w.rate(w, n.index, at) {
			continue
		}
		time.Sleep(time.Duration(at*1e9) - time.Since(w.began))
		if !w.calm && at > crash {
			crash = at + n.rng.ExpFloat64()*2
			old := n.link
			n.start(t)
			w.group.Go(func() { _ = old.lease.Close() }) // its give-backs are lost with it
		}
		r := w.draw(n)
		select {
		case w.clients <- r:
		default: // all that there are wait for answers
			w.group.Go(func() { w.serve(r) })
		}
	}
}

// serve asks for one client after the other.
func (w *world) serve(r *request) {
	for r != nil {
		r.ask()
		r = <-w.clients
	}
}

// A request is one client's.
type request struct {
	link   *link
	cost   int64
	second bool
	regret bool
	direct int64 // units that the store has granted it itself
	called bool
}

func (w *world) draw(n *node) *request {
	r := &request{link: n.link, cost: 1}
	if w.mixed {
		r.cost = 1 + n.rng.Int64N(3)
		r.second, r.regret = n.rng.IntN(4) == 0, n.rng.IntN(4) == 0
	}
	return r
}

type requestKey struct{}

var (
	simKey    = core.Key{Hi: 1, Lo: 1, Tag: 1}
	secondKey = core.Key{Hi: 2, Lo: 2, Tag: 1}
	scarce    = bucket(20, time.Second)
)

func (r *request) ask() {
	w := r.link.node.w
	charges := []core.Charge{{Key: simKey, Limit: "limit", Quota: w.quota, Cost: r.cost, Prefetch: 0.1}}
	if r.second {
		charges = append(charges, core.Charge{Key: secondKey, Limit: "second", Quota: scarce, Cost: 1})
	}
	w.books.offer(r.cost)
	results := make([]core.Result, len(charges))
	ctx := context.WithValue(context.Background(), requestKey{}, r)
	err := r.link.lease.Take(ctx, charges, results)
	granted := err == nil
	for _, got := range results {
		granted = granted && got.Granted
	}
	w.books.answer(r, granted, err, &results[0])
	if granted && r.regret {
		time.Sleep(time.Duration(r.cost) * 7 * time.Millisecond)
		if w.books.regret(r) {
			refund := core.Refund{Key: simKey, Limit: "limit", Quota: w.quota, Units: r.cost, Receipt: results[0].Receipt}
			_ = r.link.lease.Give(ctx, []core.Refund{refund})
		}
	}
}

// simulate runs one seed of a scenario.
func simulate(t *testing.T, s scenario, seed int64, sins sins) *world {
	var w *world
	synctest.Test(t, func(t *testing.T) {
		w = newWorld(t, s, seed, sins)
		w.run(t)
	})
	return w
}

// TestLeaseSimulation runs a fleet in bad weather for many seeds. It is exact about what
// must never be, and in calm weather about what leases are for.
func TestLeaseSimulation(t *testing.T) {
	from, to := seeds()
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			var all tally
			for seed := from; seed < to && !t.Failed(); seed++ {
				w := simulate(t, s, seed, sins{})
				for _, problem := range w.books.problems {
					t.Errorf("seed %d: %s\nreplay: go test ./store -run 'TestLeaseSimulation/%s$' -lease.seed=%d", seed, problem, s.name, seed)
				}
				all.add(w)
			}
			t.Log(all.String())
		})
	}
}

// TestLeaseSimulationLong: over half a minute, what has been admitted is what one exact
// bucket would have.
func TestLeaseSimulationLong(t *testing.T) {
	if raceEnabled || testing.Short() {
		t.Skip("takes seconds")
	}
	for _, s := range scenarios {
		if s.within == 0 {
			continue
		}
		s.lasts, s.rough = 30*time.Second, 1
		for seed := range int64(10) {
			w := simulate(t, s, seed, sins{})
			require.Empty(t, w.books.problems, "%s, seed %d", s.name, seed)
			require.InDelta(t, 1, w.books.ratio(), s.within, "%s, seed %d", s.name, seed)
		}
	}
}

// TestLeaseSimulationReplays: a seed is one history, so a failure can be looked at.
func TestLeaseSimulationReplays(t *testing.T) {
	for _, s := range scenarios {
		a, b := simulate(t, s, 7, sins{}), simulate(t, s, 7, sins{})
		require.Equal(t, a.books.history, b.books.history, s.name)
		require.NotEqual(t, a.books.history, simulate(t, s, 8, sins{}).books.history, s.name)
	}
}

// A tally sums up the runs of a scenario.
type tally struct {
	runs, calm        int
	ratio, lost       float64 // of calm runs
	rough             float64 // the ratio of the others
	excess, out       float64 // the worst, of the burst
	calls, requests   int64
	callsMax, lostMax float64
}

func (a *tally) add(w *world) {
	b := &w.books
	a.runs++
	a.excess = max(a.excess, b.worst/float64(w.quota.Capacity()))
	a.out = max(a.out, float64(b.mostOut)/float64(w.quota.Capacity()))
	if !w.calm {
		a.rough += b.ratio()
		return
	}
	a.calm++
	a.ratio += b.ratio()
	a.lost += b.lost()
	a.lostMax = max(a.lostMax, b.lost())
	a.calls += b.calls
	a.requests += b.offered
	a.callsMax = max(a.callsMax, b.callsEach())
}

func (a *tally) String() string {
	calm, rough := float64(max(1, a.calm)), float64(max(1, a.runs-a.calm))
	return fmt.Sprintf("%d runs: worst excess %.2f%% of the burst, with %.2f%% outstanding at most; in rough weather admitted/exact %.4f\n"+
		"%d calm: admitted/exact %.4f, lost %.4f (%.4f at most), calls/request %.3f (%.3f at most)",
		a.runs, 100*a.excess, 100*a.out, a.rough/rough,
		a.calm, a.ratio/calm, a.lost/calm, a.lostMax, float64(a.calls)/float64(max(1, a.requests)), a.callsMax)
}
