package core_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
	"github.com/tidegate/tidegate/store/memstore"
)

// A desk is a limiter over a store whose clock the test sets.
type desk struct {
	*core.Limiter
	t   *testing.T
	now atomic.Int64
}

func newDesk(t *testing.T, c core.Config) *desk {
	t.Helper()
	d := &desk{t: t}
	d.now.Store(1_700_000_000_000_000)
	if c.Store == nil {
		c.Store = memstore.New(memstore.Config{MaxKeys: 10_000, Clock: func() time.Time { return time.UnixMicro(d.now.Load()) }})
	}
	l, err := core.New(c)
	if err != nil {
		t.Fatal(err)
	}
	d.Limiter = l
	return d
}

func (d *desk) decide(r core.Request) *core.Decision {
	d.t.Helper()
	var decision core.Decision
	d.Decide(context.Background(), &r, &decision)
	return &decision
}

// pass decides n requests and returns how many were allowed.
func (d *desk) pass(n int, r core.Request) (allowed int) {
	d.t.Helper()
	for range n {
		if d.decide(r).Allowed() {
			allowed++
		}
	}
	return allowed
}

func by(principal string) core.Request {
	return core.Request{Method: "GET", Route: "GET /x", Identity: core.Identity{Principal: principal, Tier: "free"}}
}

func from(addr string) core.Request {
	return core.Request{Method: "GET", Route: "GET /x", Addr: netip.MustParseAddr(addr)}
}

func hourly(name string, n int64) core.Limit {
	return core.Limit{Name: name, Quota: core.TokenBucket(n, time.Hour)}
}

func remaining(t *testing.T, d *core.Decision, limit string) int64 {
	t.Helper()
	for i := range d.Len() {
		if r := d.Limit(i); r.Limit == limit {
			return r.Remaining
		}
	}
	t.Fatalf("limit %q did not count", limit)
	return 0
}

func TestTwoLimitsOfOneCallerAreTwoCounts(t *testing.T) {
	d := newDesk(t, core.Config{Limits: []core.Limit{
		{Name: "second", Quota: core.TokenBucket(5, time.Second)},
		{Name: "minute", Quota: core.TokenBucket(50, time.Minute)},
	}})
	for i := range 5 {
		if got := d.decide(by("a")); !got.Allowed() || remaining(t, got, "minute") != int64(49-i) {
			t.Errorf("request %d: %v, minute has %d", i, got.Outcome(), remaining(t, got, "minute"))
		}
	}
	if got := d.decide(by("a")); got.Outcome() != core.Denied || got.RetryAfter() != 200*time.Millisecond {
		t.Errorf("sixth: %v, retry after %v, want denied for 200ms", got.Outcome(), got.RetryAfter())
	}
}

func TestDeniedRequestChargesNoOtherLimit(t *testing.T) {
	d := newDesk(t, core.Config{Limits: []core.Limit{
		{Name: "global", Key: core.Global, Quota: core.TokenBucket(10, time.Minute)},
		{Name: "caller", Quota: core.TokenBucket(1, time.Minute)},
	}})
	if got := d.pass(10, by("a")); got != 1 {
		t.Errorf("a: %d allowed, want 1", got)
	}
	for _, caller := range strings.Split("bcdefghij", "") {
		if !d.decide(by(caller)).Allowed() {
			t.Errorf("%s is denied for what a did", caller)
		}
	}
	if d.decide(by("k")).Allowed() {
		t.Error("an eleventh caller passed the global limit of 10")
	}
}

func TestWhoIsCounted(t *testing.T) {
	d := newDesk(t, core.Config{Limits: []core.Limit{hourly("caller", 2)}})
	for _, tt := range []struct {
		who  string
		r    core.Request
		want int
	}{
		{"a principal", by("203.0.113.7"), 2},
		{"the address that a principal is called like", from("203.0.113.7"), 2},
		{"the same address inside IPv6", from("::ffff:203.0.113.7"), 0},
		{"the same address behind NAT64", from("64:ff9b::cb00:7107"), 0},
		{"another address behind NAT64", from("64:ff9b::0909:0909"), 2},
		{"an IPv6 address", from("2001:db8::1"), 2},
		{"a neighbour in its /64", from("2001:db8::2"), 0},
		{"another /64", from("2001:db8:0:1::1"), 2},
		{"6to4 is its IPv4 address", from("2002:cb00:7107::1"), 0},
		{"Teredo is its IPv4 address", from("2001:0:4136:e378:8000:63bf:34ff:8ef8"), 0},
		{"nobody's address", core.Request{}, 2},
		{"nobody's address again", core.Request{Method: "POST"}, 0},
	} {
		if got := d.pass(3, tt.r); got != tt.want {
			t.Errorf("%s: %d of 3 allowed, want %d", tt.who, got, tt.want)
		}
	}
}

// headers is a Source.
type headers struct {
	values map[string]string
	costs  map[string]int64
}

func (h headers) Header(name string) string   { return h.values[name] }
func (h headers) KeyValue(name string) string { return h.values["value "+name] }
func (h headers) Cost(limit string) (int64, bool) {
	c, ok := h.costs[limit]
	return c, ok
}

func TestHeaderAndValueKeys(t *testing.T) {
	d := newDesk(t, core.Config{Limits: []core.Limit{
		{Name: "tenant", Match: []string{"GET /t"}, Key: core.ByHeader("X-Tenant"), Quota: core.TokenBucket(1, time.Hour)},
		{Name: "value", Match: []string{"GET /v"}, Key: core.ByValue("org"), Quota: core.TokenBucket(1, time.Hour)},
		{Name: "pair", Match: []string{"GET /p"}, Keys: core.Keys(core.ByHeader("A"), core.ByHeader("B")), Quota: core.TokenBucket(1, time.Hour)},
	}})
	ask := func(route, addr string, pairs ...string) bool {
		h := headers{values: map[string]string{}}
		for i := 0; i < len(pairs); i += 2 {
			h.values[pairs[i]] = pairs[i+1]
		}
		r := from(addr)
		r.Route, r.Source = route, h
		return d.decide(r).Allowed()
	}
	for i, tt := range []struct {
		want bool
		args []string
	}{
		{true, []string{"GET /t", "192.0.2.1", "X-Tenant", "a"}},
		{true, []string{"GET /t", "192.0.2.1", "X-Tenant", "b"}},
		{false, []string{"GET /t", "192.0.2.9", "X-Tenant", "a"}},
		{true, []string{"GET /t", "192.0.2.1"}}, // without the header: the address
		{false, []string{"GET /t", "192.0.2.1", "X-Tenant", "  "}},
		{true, []string{"GET /t", "192.0.2.2"}},
		{true, []string{"GET /v", "192.0.2.1", "value org", "x"}},
		{false, []string{"GET /v", "192.0.2.1", "value org", "x"}},
		{true, []string{"GET /v", "192.0.2.1"}},
		{true, []string{"GET /p", "192.0.2.1", "A", "aa", "B", "b"}},
		{true, []string{"GET /p", "192.0.2.1", "A", "a", "B", "ab"}},
		{true, []string{"GET /p", "192.0.2.1", "A", "a:b", "B", "c"}},
		{true, []string{"GET /p", "192.0.2.1", "A", "a", "B", "b:c"}},
		{false, []string{"GET /p", "192.0.2.1", "A", "aa", "B", "b"}},
	} {
		if got := ask(tt.args[0], tt.args[1], tt.args[2:]...); got != tt.want {
			t.Errorf("%d: %q allowed: %v, want %v", i, tt.args, got, tt.want)
		}
	}
}

func TestCostsAreTheRequestsOwn(t *testing.T) {
	d := newDesk(t, core.Config{Limits: []core.Limit{{Name: "units", Cost: 2, Quota: core.TokenBucket(10, time.Hour)}}})
	r := by("a")
	for _, tt := range []struct {
		cost      int64
		allowed   bool
		remaining int64
		never     bool
	}{{8, true, 2, false}, {5, false, 2, false}, {11, false, 2, true}, {0, true, 2, false}, {-3, true, 2, false}, {1, true, 1, false}} {
		r.Source = headers{costs: map[string]int64{"units": tt.cost}}
		got := d.decide(r)
		if got.Allowed() != tt.allowed || remaining(t, got, "units") != tt.remaining || (got.RetryAfter() == core.Never) != tt.never {
			t.Errorf("cost %d: %v, %d remaining, retry after %v", tt.cost, got.Outcome(), remaining(t, got, "units"), got.RetryAfter())
		}
	}
	if got := d.decide(by("b")); remaining(t, got, "units") != 8 {
		t.Errorf("the limit's own cost of 2 left %d of 10", remaining(t, got, "units"))
	}
}

func TestTiers(t *testing.T) {
	limits := []core.Limit{
		{Name: "a", Tiers: core.Tiers{"free": core.TokenBucket(2, time.Hour), "pro": core.TokenBucket(4, time.Hour), "max": core.Unlimited, "none": core.TokenBucket(0, time.Hour)}},
	}
	for _, tt := range []struct {
		config core.Config
		id     core.Identity
		want   int
	}{
		{core.Config{}, core.Identity{Principal: "p", Tier: "pro"}, 4},
		{core.Config{}, core.Identity{Principal: "p", Tier: "max"}, 6},
		{core.Config{}, core.Identity{Principal: "p", Tier: "none"}, 0},
		{core.Config{}, core.Identity{Principal: "p", Tier: "gold"}, 0}, // the strictest
		{core.Config{DefaultTier: "free"}, core.Identity{Principal: "p", Tier: "gold"}, 2},
		{core.Config{DefaultTier: "free"}, core.Identity{Tier: "max"}, 2}, // anonymous, whatever it says
		{core.Config{Tiers: []string{"pro", "free", "max", "none"}}, core.Identity{}, 4},
		{core.Config{Limits: []core.Limit{{Name: "a", Tiers: core.Tiers{"*": core.TokenBucket(3, time.Hour)}}}}, core.Identity{Principal: "p", Tier: "any"}, 3},
		{core.Config{Limits: []core.Limit{{Name: "a", Tiers: core.Tiers{"*": core.TokenBucket(3, time.Hour)}}}}, core.Identity{}, 3},
		{core.Config{Limits: []core.Limit{{Name: "a", Tiers: core.Tiers{"*": core.TokenBucket(1, time.Hour), "pro": core.TokenBucket(5, time.Hour)}}}}, core.Identity{}, 1},
		{core.Config{Limits: []core.Limit{{Name: "a", Tiers: core.Tiers{"*": core.TokenBucket(5, time.Hour), "pro": core.TokenBucket(2, time.Hour)}}}}, core.Identity{}, 2},
		{core.Config{Limits: []core.Limit{{Name: "a", Tiers: core.Tiers{"*": core.Unlimited, "pro": core.TokenBucket(2, time.Hour)}}}}, core.Identity{}, 2},
	} {
		if tt.config.Limits == nil {
			tt.config.Limits = limits
		}
		d := newDesk(t, tt.config)
		if got := d.pass(6, core.Request{Identity: tt.id}); got != tt.want {
			t.Errorf("%+v with default %q: %d of 6 allowed, want %d", tt.id, tt.config.DefaultTier, got, tt.want)
		}
	}
}

func TestWhatCountsAtEachStage(t *testing.T) {
	early := hourly("early", 10)
	early.Key, early.Stage = core.ByIP, core.Early
	manual := hourly("manual", 10)
	manual.Manual = true
	d := newDesk(t, core.Config{Limits: []core.Limit{early, hourly("main", 10), manual}})
	for stages, want := range map[core.StageSet]string{
		0: "early main", core.BothStages: "early main", core.EarlyStage: "early", core.MainStage: "main",
	} {
		r := by("a")
		r.Stages = stages
		got := d.decide(r)
		var names []string
		for i := range got.Len() {
			names = append(names, got.Limit(i).Limit)
		}
		if strings.Join(names, " ") != want {
			t.Errorf("stages %d: %v, want %s", stages, names, want)
		}
	}
}

func TestExemptionsCoverEveryKindOfLimit(t *testing.T) {
	penal := hourly("penal", 1)
	penal.Penalty = &algo.Penalty{After: 1, Within: time.Minute, Block: time.Hour}
	penal.Except = []string{"GET /free"}
	d := newDesk(t, core.Config{
		Limits: []core.Limit{penal},
		Exempt: []core.Exemption{
			{Match: []string{"GET /health"}},
			{IP: []netip.Prefix{netip.MustParsePrefix("::ffff:192.0.2.0/120")}},
			{Principals: []string{"monitor"}, Match: []string{"GET /x"}},
		},
	})
	exempt := func(r core.Request) bool { return d.decide(r).Outcome() == core.Exempt }
	health := by("a")
	health.Route = "GET /health"
	if !exempt(health) || !exempt(from("192.0.2.200")) || !exempt(by("monitor")) {
		t.Error("a route, an address or a principal is not exempt")
	}
	if exempt(by("a")) || exempt(from("192.0.3.1")) {
		t.Error("others are exempt")
	}
	other := by("monitor")
	other.Route = "GET /y"
	if exempt(other) {
		t.Error("a principal is exempt on a route that its exemption does not name")
	}
	free := by("a")
	free.Route = "GET /free"
	if got := d.decide(free); got.Len() != 0 || !got.Allowed() {
		t.Error("an excepted route is counted")
	}
}

func TestShadowReportsAndNeverDenies(t *testing.T) {
	shadow := hourly("shadow", 1)
	shadow.Exceeded = core.Shadow
	d := newDesk(t, core.Config{Limits: []core.Limit{shadow, hourly("real", 3)}})
	if got := d.pass(5, by("a")); got != 3 {
		t.Errorf("%d of 5 allowed, want the 3 of the real limit", got)
	}
	d.decide(by("b"))
	got := d.decide(by("b"))
	if r := got.Limit(0); !got.Allowed() || r.Granted || !r.Shadow || r.Refuses || got.RetryAfter() != 0 {
		t.Errorf("second of b: %v, %+v", got.Outcome(), r)
	}
}

func TestRejectBeatsFallback(t *testing.T) {
	soft := hourly("soft", 1)
	soft.Exceeded = core.Fallback
	hard := hourly("hard", 2)
	d := newDesk(t, core.Config{Limits: []core.Limit{soft, hard}})
	d.decide(by("a"))
	if got := d.decide(by("a")); !got.Fallback() || got.Allowed() {
		t.Errorf("soft alone denies: fallback %v", got.Fallback())
	}
	if _, err := d.Allow(core.WithIdentity(t.Context(), core.Identity{Principal: "a"}), "hard", "", 1); err != nil {
		t.Fatal(err)
	}
	if got := d.decide(by("a")); got.Fallback() || got.Outcome() != core.Denied {
		t.Errorf("both deny: fallback %v, want a denial", got.Fallback())
	}
}

func TestCountByOutcome(t *testing.T) {
	login := hourly("login", 3)
	login.Count = []int{401, 403}
	d := newDesk(t, core.Config{Limits: []core.Limit{login}})
	try := func(status int) bool {
		got := d.decide(by("a"))
		if !got.Allowed() {
			return false
		}
		if !got.Counts() {
			t.Fatal("Counts is false")
		}
		for range 2 { // the second is not heard
			if err := got.Commit(t.Context(), status); err != nil {
				t.Fatal(err)
			}
			status = 200
		}
		return true
	}
	for range 10 {
		if !try(200) {
			t.Fatal("a success was counted")
		}
	}
	for range 3 {
		if !try(401) {
			t.Fatal("denied before three failures")
		}
	}
	if try(200) {
		t.Error("a fourth attempt passed")
	}
	// Attempts at the same time cannot slip through: all are charged before any outcome.
	var passed atomic.Int64
	var wg sync.WaitGroup
	var hold sync.WaitGroup
	hold.Add(64)
	for range 64 {
		wg.Go(func() {
			got := d.decide(by("b"))
			hold.Done()
			hold.Wait()
			if got.Allowed() {
				passed.Add(1)
				_ = got.Commit(context.Background(), 401)
			}
		})
	}
	wg.Wait()
	if passed.Load() != 3 {
		t.Errorf("%d attempts at once passed, want 3", passed.Load())
	}
}

func TestAddChargesAsFarAsUnitsGo(t *testing.T) {
	d := newDesk(t, core.Config{Limits: []core.Limit{hourly("tokens", 10)}})
	got := d.decide(by("a"))
	for _, tt := range []struct{ units, want int64 }{{4, 4}, {0, 0}, {100, 5}, {1, 0}} {
		if n, err := got.Add(t.Context(), "tokens", tt.units); n != tt.want || err != nil {
			t.Errorf("Add %d charged %d, %v, want %d", tt.units, n, err, tt.want)
		}
	}
	if d.decide(by("a")).Allowed() {
		t.Error("allowed after everything was added")
	}
	if _, err := got.Add(t.Context(), "other", 1); err == nil {
		t.Error("Add to a limit that did not count succeeded")
	}
	if _, err := got.Add(t.Context(), "tokens", -1); err == nil {
		t.Error("Add of -1 succeeded")
	}
}

func TestPenaltyIsTold(t *testing.T) {
	l := hourly("a", 1)
	l.Penalty = &algo.Penalty{After: 2, Within: time.Minute, Block: 2 * time.Hour}
	d := newDesk(t, core.Config{Limits: []core.Limit{l}})
	d.decide(by("a"))
	if got := d.decide(by("a")); got.Blocked() || got.RetryAfter() != time.Hour {
		t.Errorf("first denial: blocked %v, retry after %v", got.Blocked(), got.RetryAfter())
	}
	if got := d.decide(by("a")); !got.Blocked() || got.RetryAfter() != 2*time.Hour {
		t.Errorf("second denial: blocked %v, retry after %v, want the block", got.Blocked(), got.RetryAfter())
	}
	if err := d.Reset(t.Context(), "", "a"); err != nil {
		t.Fatal(err)
	}
	if !d.decide(by("a")).Allowed() {
		t.Error("denied after a reset")
	}
}

func TestManyLimitsOfOneRequest(t *testing.T) {
	var limits []core.Limit
	for i := range 20 {
		limits = append(limits, hourly(fmt.Sprintf("limit-%d", i), int64(100-i)))
	}
	d := newDesk(t, core.Config{Limits: limits})
	first := d.decide(by("a"))
	second := d.decide(by("a"))
	for i := range 20 {
		if got, want := first.Limit(i).Remaining, int64(99-i); got != want {
			t.Errorf("first, limit %d: %d remaining, want %d", i, got, want)
		}
		if got, want := second.Limit(i).Remaining, int64(98-i); got != want {
			t.Errorf("second, limit %d: %d remaining, want %d", i, got, want)
		}
	}
}

// broken is a store that cannot answer.
type broken struct {
	core.Store
	shared bool
}

var errBroken = &core.StoreError{Kind: "timeout", MaybeSpent: true, Err: context.DeadlineExceeded}

func (broken) Take(context.Context, []core.Charge, []core.Result) error { return errBroken }
func (broken) Peek(context.Context, []core.Charge, []core.Result) error { return errBroken }
func (broken) Give(context.Context, []core.Refund) error                { return errBroken }
func (b broken) Traits() core.Traits                                    { return core.Traits{Shared: b.shared} }

// spy is an Observer.
type spy struct {
	mu       sync.Mutex
	decided  []*core.Decision
	failed   []error
	reloaded []error
}

func (s *spy) Decided(_ context.Context, d *core.Decision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decided = append(s.decided, d)
}

func (s *spy) Failed(_ context.Context, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = append(s.failed, err)
}

func (s *spy) Reloaded(err error) { s.reloaded = append(s.reloaded, err) }

func TestStoreFailureFollowsEachLimitsPolicy(t *testing.T) {
	policy := func(name string, p core.FailurePolicy) core.Limit {
		l := hourly(name, 1)
		l.StoreFailure = p
		return l
	}
	shadow := policy("shadow", core.FailClosed)
	shadow.Exceeded = core.Shadow
	for _, tt := range []struct {
		limits []core.Limit
		def    core.FailurePolicy
		want   core.Outcome
	}{
		{[]core.Limit{policy("a", core.FailDefault)}, core.FailDefault, core.Allowed},
		{[]core.Limit{policy("a", core.FailDefault)}, core.FailClosed, core.Unavailable},
		{[]core.Limit{policy("a", core.FailOpen)}, core.FailClosed, core.Allowed},
		{[]core.Limit{policy("a", core.FailOpen), policy("b", core.FailClosed)}, core.FailDefault, core.Unavailable},
		{[]core.Limit{policy("a", core.FailOpen), shadow}, core.FailDefault, core.Allowed},
	} {
		watch := &spy{}
		d := newDesk(t, core.Config{Store: broken{}, Limits: tt.limits, Failure: tt.def, Observer: watch})
		got := d.decide(by("a"))
		if got.Outcome() != tt.want || !errors.Is(got.Err(), core.ErrStore) || !errors.Is(got.Err(), context.DeadlineExceeded) {
			t.Errorf("%v: %v, %v", tt.limits, got.Outcome(), got.Err())
		}
		if r := got.Limit(0); !r.Unknown || r.Remaining != 0 {
			t.Errorf("numbers were invented: %+v", r)
		}
		if len(watch.failed) != 1 || len(watch.decided) != 1 {
			t.Errorf("the observer saw %d failures and %d decisions, want one each", len(watch.failed), len(watch.decided))
		}
	}
}

// What an observer has kept does not change with later requests.
func TestAnObserverMayKeepDecisions(t *testing.T) {
	watch := &spy{}
	d := newDesk(t, core.Config{Limits: []core.Limit{hourly("a", 100)}, Observer: watch})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { d.pass(5, by("a")) })
	}
	wg.Wait()
	for range 10 {
		if _, err := d.Allow(t.Context(), "a", "a", 1); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Peek(t.Context(), "a", "a", 1); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[int64]bool{}
	for _, kept := range watch.decided {
		seen[remaining(t, kept, "a")] = true
	}
	if len(watch.decided) != 50 || len(seen) != 50 {
		t.Errorf("%d decisions told, with %d different numbers left, want 50 of each", len(watch.decided), len(seen))
	}
}

// Whatever a caller sends as a key is one key of fixed size.
func TestOddAndGiantKeys(t *testing.T) {
	d := newDesk(t, core.Config{Limits: []core.Limit{{Name: "a", Key: core.ByHeader("K"), Quota: core.TokenBucket(1, time.Hour)}}})
	for i, value := range []string{"x", strings.Repeat("x", 1<<20), "\xff\xfe", "a\x00b", "a\x00c", "{x}", "a:b|c%d", "é", "\r\n"} {
		r := from("192.0.2.1")
		r.Source = headers{values: map[string]string{"K": value}}
		if got := d.pass(3, r); got != 1 {
			t.Errorf("%d: %d of 3 allowed, want 1", i, got)
		}
	}
}

func TestACallerWhoLeftIsNoFailure(t *testing.T) {
	watch := &spy{}
	d := newDesk(t, core.Config{Store: broken{}, Limits: []core.Limit{hourly("a", 1)}, Observer: watch})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := by("a")
	var got core.Decision
	d.Decide(ctx, &r, &got)
	if len(watch.failed) != 0 {
		t.Errorf("reported %v", watch.failed)
	}
}

func TestSharedStoresNeedMoreForLocal(t *testing.T) {
	l := hourly("a", 1)
	l.StoreFailure = core.FailLocal
	_, err := core.New(core.Config{Store: broken{shared: true}, Limits: []core.Limit{l}})
	if err == nil || !strings.Contains(err.Error(), "store.NewFailsafe") {
		t.Errorf("got %v, want what to do", err)
	}
}

func TestUpdateKeepsWhatWasSpent(t *testing.T) {
	watch := &spy{}
	config := func(n int64) core.Config {
		return core.Config{Limits: []core.Limit{{Name: "a", Quota: core.FixedWindow(n, time.Minute)}}}
	}
	first := config(100)
	first.Observer = watch
	d := newDesk(t, first)
	d.pass(2, by("a"))
	for _, tt := range []struct {
		limit     int64
		allowed   bool
		remaining int64
	}{{10, true, 7}, {1, false, 0}, {100, true, 96}} {
		if err := d.Update(config(tt.limit)); err != nil {
			t.Fatal(err)
		}
		if got := d.decide(by("a")); got.Allowed() != tt.allowed || remaining(t, got, "a") != tt.remaining {
			t.Errorf("limit %d: %v with %d left, want %d", tt.limit, got.Outcome(), remaining(t, got, "a"), tt.remaining)
		}
	}
	if err := d.Update(core.Config{Limits: []core.Limit{{Name: "a"}}}); err == nil {
		t.Error("a wrong table was taken")
	}
	if got := d.decide(by("a")); remaining(t, got, "a") != 95 {
		t.Errorf("after a wrong table: %d left, want 95 of the old", remaining(t, got, "a"))
	}
	if len(watch.reloaded) != 4 || watch.reloaded[0] != nil || watch.reloaded[3] == nil {
		t.Errorf("the observer heard %v", watch.reloaded)
	}
}

func TestUpdatesUnderLoad(t *testing.T) {
	config := func(n int) core.Config {
		limits := []core.Limit{hourly("a", int64(1000+n))}
		if n%2 == 1 {
			limits = append(limits, hourly("b", 1000), core.Limit{Name: "c", Tiers: core.Tiers{"free": core.TokenBucket(1000, time.Hour), "x": core.Unlimited}})
		}
		return core.Config{Limits: limits}
	}
	d := newDesk(t, config(0))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			ctx := core.WithIdentity(context.Background(), core.Identity{Principal: "a", Tier: "free"})
			for {
				select {
				case <-stop:
					return
				default:
				}
				if n := d.decide(by("a")).Len(); n != 1 && n != 3 {
					t.Errorf("a request saw %d limits, want a whole table", n)
				}
				_, _ = d.Allow(ctx, "a", "", 1)
				_, _ = d.Peek(ctx, "c", "", 1)
			}
		})
	}
	for i := range 1000 {
		if err := d.Update(config(i)); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	wg.Wait()
}

func TestDirectCalls(t *testing.T) {
	d := newDesk(t, core.Config{Limits: []core.Limit{
		hourly("principal", 3),
		{Name: "ip", Key: core.ByIP, Quota: core.TokenBucket(3, time.Hour)},
		{Name: "route", Key: core.ByRoute, Quota: core.TokenBucket(3, time.Hour)},
		{Name: "global", Key: core.Global, Quota: core.TokenBucket(3, time.Hour)},
		{Name: "header", Key: core.ByHeader("X-A"), Quota: core.TokenBucket(3, time.Hour)},
		{Name: "pair", Keys: core.Keys(core.ByIP, core.ByRoute), Quota: core.TokenBucket(3, time.Hour)},
		{Name: "free", Quota: core.Unlimited},
	}})
	ctx := context.Background()
	for _, tt := range []struct{ limit, key, wrong string }{
		{"principal", "a", ""}, {"ip", "192.0.2.1", ""}, {"route", "GET /orders/{id}", ""}, {"global", "", ""},
		{"header", "x", ""}, {"free", "a", ""}, {"none", "a", "no limit"}, {"pair", "a", "2 parts"},
		{"global", "a", "empty key"}, {"ip", "nonsense", "address"}, {"route", "nonsense", "route"}, {"principal", "", "no caller"},
		{"route", "GET /orders/...", "not one route"}, {"route", "/orders", "not one route"}, {"header", " ", "not blank"},
	} {
		got, err := d.Allow(ctx, tt.limit, tt.key, 2)
		if tt.wrong != "" {
			if got.Allowed() || got.Fallback() || got.Err() == nil {
				t.Errorf("Allow(%s, %q) returned an error and a decision that is %v", tt.limit, tt.key, got.Outcome())
			}
			if err == nil || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("Allow(%s, %q): %v, want an error with %q", tt.limit, tt.key, err, tt.wrong)
			}
			if _, err := d.Peek(ctx, tt.limit, tt.key, 1); err == nil {
				t.Errorf("Peek(%s, %q) succeeded", tt.limit, tt.key)
			}
			if err := d.Wait(ctx, tt.limit, tt.key, 1); err == nil {
				t.Errorf("Wait(%s, %q) succeeded", tt.limit, tt.key)
			}
			if err := d.Reset(ctx, tt.limit, tt.key); err == nil {
				t.Errorf("Reset(%s, %q) succeeded", tt.limit, tt.key)
			}
			continue
		}
		if err != nil || !got.Allowed() {
			t.Fatalf("Allow(%s, %q): %v, %v", tt.limit, tt.key, got.Outcome(), err)
		}
		if tt.limit == "free" {
			continue
		}
		for range 2 { // looking twice changes nothing
			if got, err := d.Peek(ctx, tt.limit, tt.key, 2); err != nil || got.Allowed() || got.Limit(0).Remaining != 1 {
				t.Errorf("Peek(%s, %q): %v, %v, want 1 left and 2 denied", tt.limit, tt.key, got.Outcome(), err)
			}
		}
		if err := d.Reset(ctx, tt.limit, tt.key); err != nil {
			t.Fatal(err)
		}
		if got, _ := d.Peek(ctx, tt.limit, tt.key, 3); !got.Allowed() {
			t.Errorf("after Reset(%s, %q): %v", tt.limit, tt.key, got.Outcome())
		}
	}
	if got, err := d.Allow(ctx, "principal", "a", -1); err == nil || got.Allowed() {
		t.Error("Allow of -1 units succeeded")
	}
	if got, err := d.AllowRequest(ctx, "none", core.Request{}, 1); err == nil || got.Allowed() {
		t.Error("AllowRequest of no limit succeeded")
	}
	if got, err := d.AllowRequest(ctx, "pair", from("192.0.2.1"), 3); err != nil || !got.Allowed() {
		t.Errorf("AllowRequest: %v, %v", got.Outcome(), err)
	}
	if err := d.Reset(ctx, "", ""); err == nil {
		t.Error("Reset of nothing succeeded")
	}
}

type ownKey struct{}

func TestTheCallerOfAContext(t *testing.T) {
	d := newDesk(t, core.Config{Limits: []core.Limit{
		{Name: "a", Tiers: core.Tiers{"free": core.TokenBucket(1, time.Hour), "pro": core.TokenBucket(5, time.Hour)}},
	}})
	r := core.Request{Identity: core.Identity{Principal: "p", Tier: "pro"}}
	carrier := &core.Carrier{Context: context.WithValue(t.Context(), ownKey{}, "kept")}
	d.Decide(carrier.Context, &r, &carrier.Decision)
	if core.DecisionFrom(carrier) != &carrier.Decision {
		t.Error("the context does not carry the decision")
	}
	if id, ok := core.IdentityFrom(carrier); !ok || id != r.Identity || carrier.Decision.Identity() != id {
		t.Errorf("identity %+v, want %+v", id, r.Identity)
	}
	if carrier.Value(ownKey{}) != "kept" {
		t.Error("the context beneath is hidden")
	}
	// Work further on is charged to the same caller, in the same tier.
	got, err := d.Allow(carrier, "a", "", 1)
	if err != nil || remaining(t, &got, "a") != 3 || got.Tier() != "pro" {
		t.Errorf("%v, tier %s, %d left, want 3 of pro's 5", err, got.Tier(), remaining(t, &got, "a"))
	}
	// Somebody else, named by key, has no known tier.
	if got, _ := d.Allow(carrier, "a", "other", 1); remaining(t, &got, "a") != 0 {
		t.Errorf("%d left to another, want 0 of the strictest", remaining(t, &got, "a"))
	}
	if core.DecisionFrom(context.Background()) != nil {
		t.Error("an empty context carries a decision")
	}
}

func TestWaitServesInTurnAndEvenly(t *testing.T) {
	for name, q := range map[string]core.Quota{
		"token bucket": core.TokenBucket(2, time.Second).WithBurst(1),
		"leaky bucket": core.LeakyBucket(2, time.Second),
		"log":          core.SlidingLog(1, 500*time.Millisecond),
		"window":       core.FixedWindow(1, 500*time.Millisecond).FromFirstRequest(),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, err := core.New(core.Config{Store: memstore.New(memstore.Config{MaxKeys: 100}), Limits: []core.Limit{{Name: "a", Quota: q}}})
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				for i := range 4 {
					if err := l.Wait(t.Context(), "a", "k", 1); err != nil {
						t.Fatal(err)
					}
					if got, want := time.Since(start), time.Duration(i)*500*time.Millisecond; got != want {
						t.Errorf("turn %d after %v, want %v", i, got, want)
					}
				}
			})
		})
	}
}

func TestWaitGivesUpAtOnceWhenItCannotSucceed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := core.New(core.Config{Store: memstore.New(memstore.Config{MaxKeys: 100}), Limits: []core.Limit{{Name: "a", Quota: core.TokenBucket(1, time.Minute)}}})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		var denied *core.DeniedError
		if err := l.Wait(t.Context(), "a", "k", 2); !errors.As(err, &denied) || denied.RetryAfter != core.Never || !strings.Contains(err.Error(), "ever hold") {
			t.Errorf("a cost above the burst: %v", err)
		}
		if err := l.Wait(t.Context(), "a", "k", 1); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 59*time.Second)
		defer cancel()
		if err := l.Wait(ctx, "a", "k", 1); !errors.As(err, &denied) || !strings.Contains(err.Error(), "retry in") {
			t.Errorf("a wait beyond the deadline: %v", err)
		}
		if time.Since(start) != 0 {
			t.Errorf("took %v, want no time", time.Since(start))
		}
		time.Sleep(time.Minute)
		if d, _ := l.Peek(t.Context(), "a", "k", 1); !d.Allowed() {
			t.Error("a wait that was refused was charged")
		}
	})
}

func TestWaitThatIsCancelledGivesItsTurnBackIfNobodyStandsBehind(t *testing.T) {
	for _, behind := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l, err := core.New(core.Config{Store: memstore.New(memstore.Config{MaxKeys: 100}), Limits: []core.Limit{{Name: "a", Quota: core.TokenBucket(1, time.Second)}}})
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			_ = l.Wait(t.Context(), "a", "k", 1)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				if err := l.Wait(ctx, "a", "k", 1); !errors.Is(err, context.Canceled) {
					t.Errorf("got %v, want the context's error", err)
				}
			}()
			synctest.Wait()
			second := make(chan time.Duration, 1)
			if behind {
				go func() { _ = l.Wait(t.Context(), "a", "k", 1); second <- time.Since(start) }()
				synctest.Wait()
			}
			time.Sleep(100 * time.Millisecond)
			cancel()
			synctest.Wait()
			if !behind {
				go func() { _ = l.Wait(t.Context(), "a", "k", 1); second <- time.Since(start) }()
			}
			want := time.Second
			if behind {
				want = 2 * time.Second // its turn stays where it was
			}
			if got := <-second; got != want {
				t.Errorf("behind %v: the next turn came after %v, want %v", behind, got, want)
			}
		})
	}
}

func TestZeroValuesAndMisuse(t *testing.T) {
	if _, err := core.New(core.Config{}); err == nil {
		t.Error("New without a store succeeded")
	}
	for name, d := range map[string]*core.Decision{"zero": {}, "nil": nil} {
		if !d.Allowed() || d.Outcome() != core.Allowed || d.Len() != 0 || d.Bill() != nil || d.Tier() != "" || d.RetryAfter() != 0 ||
			d.Blocked() || d.Fallback() || d.Counts() || d.Err() != nil || d.Outer() != nil || d.Addr().IsValid() ||
			d.Identity() != (core.Identity{}) || d.Limit(0) != (core.LimitResult{}) {
			t.Errorf("the %s Decision is not an allowed request that no limit counts", name)
		}
		if err := errors.Join(d.Commit(t.Context(), 200), d.Revise(t.Context(), 200, 401), d.Cancel(t.Context())); err != nil {
			t.Error(err)
		}
		if _, err := d.Add(t.Context(), "a", 1); err == nil {
			t.Errorf("Add to the %s Decision succeeded", name)
		}
		if _, found := d.Find("a"); found {
			t.Errorf("the %s Decision found a limit", name)
		}
	}
	desk := newDesk(t, core.Config{Limits: []core.Limit{}})
	if got := desk.decide(core.Request{}); !got.Allowed() {
		t.Error("an empty table denies")
	}
	var decision core.Decision
	if err := desk.DecideOne(t.Context(), "none", &core.Request{}, &decision); err == nil {
		t.Error("DecideOne of no limit succeeded")
	}
	if desk.Store() == nil || desk.Close() != nil {
		t.Error("Store or Close")
	}
}

func TestDecideDoesNotAllocate(t *testing.T) {
	var limits []core.Limit
	for i := range 3 {
		limits = append(limits, core.Limit{Name: fmt.Sprintf("limit-%d", i), Match: []string{"GET /x"}, Quota: core.TokenBucket(1e9, time.Hour)})
	}
	denies := hourly("denies", 1)
	for name, table := range map[string][]core.Limit{"one": limits[:1], "three": limits, "denied": append(limits[:2:2], denies)} {
		d := newDesk(t, core.Config{Limits: table})
		r := by("a")
		var decision core.Decision
		ctx := context.Background()
		got := testing.AllocsPerRun(500, func() { d.Decide(ctx, &r, &decision) })
		if got > 0 && !raceEnabled {
			t.Errorf("%s: %v allocations, want 0", name, got)
		}
	}
}

func newStore() core.Store { return memstore.New(memstore.Config{MaxKeys: 10_000}) }
