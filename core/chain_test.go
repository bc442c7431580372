package core_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/tidegate/tidegate/core"
)

// inner decides one limit for a request that outer was decided for.
func (d *desk) inner(limit string, r core.Request, outer *core.Decision) *core.Decision {
	d.t.Helper()
	var decision core.Decision
	r.Outer = outer
	if err := d.DecideOne(context.Background(), limit, &r, &decision); err != nil {
		d.t.Fatal(err)
	}
	return &decision
}

func TestADecisionKnowsThoseBeforeIt(t *testing.T) {
	own := hourly("own", 10)
	own.Manual = true
	d := newDesk(t, core.Config{Limits: []core.Limit{hourly("all", 10), own}})
	outer := d.decide(by("a"))
	got := d.inner("own", by("a"), outer)
	if got.Outer() != outer || got.Len() != 1 || got.Limit(0).Limit != "own" {
		t.Errorf("%d limits, the first %q, outer %v", got.Len(), got.Limit(0).Limit, got.Outer())
	}
	for limit, want := range map[string]int64{"all": 4, "own": 4} {
		if n, err := got.Add(t.Context(), limit, 5); n != 5 || err != nil {
			t.Errorf("Add to %s: %d, %v", limit, n, err)
		}
		if r, found := got.Find(limit); !found || r.Limit != limit || r.Remaining != 9 {
			t.Errorf("Find(%s): %+v, %v", limit, r, found)
		}
		if p, _ := d.Peek(t.Context(), limit, "a", 1); p.Limit(0).Remaining != want {
			t.Errorf("%s has %d left, want %d", limit, p.Limit(0).Remaining, want)
		}
	}
	if _, err := got.Add(t.Context(), "none", 1); err == nil {
		t.Error("Add to no limit succeeded")
	}
}

func TestWhatWasChargedBeforeIsNotChargedAgain(t *testing.T) {
	d := newDesk(t, core.Config{Limits: []core.Limit{hourly("a", 10), hourly("b", 10), hourly("c", 10)}})
	for i := range 2 {
		one := d.inner("b", by("x"), nil)
		r := by("x")
		r.Outer = one
		all := d.decide(r)
		if all.Len() != 2 || all.Limit(0).Limit != "a" || all.Limit(1).Limit != "c" || all.Limit(1).Index != 2 {
			t.Errorf("%d limits: %s, %s", all.Len(), all.Limit(0).Limit, all.Limit(1).Limit)
		}
		for _, name := range []string{"a", "b", "c"} {
			if p, found := all.Find(name); !found || p.Remaining != int64(9-i) {
				t.Errorf("%s has %d left, want %d", name, p.Remaining, 9-i)
			}
		}
	}
	other := newDesk(t, core.Config{Limits: []core.Limit{hourly("b", 10)}})
	r := by("x")
	r.Outer = other.decide(by("x"))
	if got := d.decide(r).Len(); got != 3 {
		t.Errorf("%d limits after another limiter's of the same name, want 3", got)
	}
}

func TestCancelGivesEverythingBackOnce(t *testing.T) {
	counting := hourly("counting", 10)
	counting.Count = []int{401}
	d := newDesk(t, core.Config{Limits: []core.Limit{hourly("plain", 10), counting}})
	left := func() (n [2]int64) {
		for i, name := range []string{"plain", "counting"} {
			p, err := d.Peek(t.Context(), name, "a", 1)
			if err != nil {
				t.Fatal(err)
			}
			n[i] = p.Limit(0).Remaining
		}
		return n
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel() // the client has left: the charge is due back all the same
	got := d.decide(by("a"))
	for range 2 {
		if err := got.Cancel(gone); err != nil {
			t.Error(err)
		}
	}
	if err := got.Commit(t.Context(), 200); err != nil {
		t.Error(err)
	}
	if err := got.Revise(t.Context(), 200, 401); err != nil {
		t.Error(err)
	}
	if left() != [2]int64{10, 10} {
		t.Errorf("left after Cancel: %v", left())
	}
	got = d.decide(by("a"))
	_ = got.Commit(t.Context(), 200)
	if _ = got.Cancel(t.Context()); left() != [2]int64{9, 10} {
		t.Errorf("left after Commit and Cancel: %v", left())
	}
}

func TestReviseSettlesAgain(t *testing.T) {
	l := hourly("a", 10)
	l.Count = []int{401, 403}
	d := newDesk(t, core.Config{Limits: []core.Limit{l, hourly("plain", 100)}})
	got := d.decide(by("a"))
	if err := got.Revise(t.Context(), 200, 401); err != nil {
		t.Error(err)
	}
	from := 200
	_ = got.Commit(t.Context(), from)
	for _, tt := range []struct {
		to   int
		left int64
	}{{204, 10}, {401, 9}, {403, 9}, {500, 10}, {401, 9}} {
		if err := got.Revise(t.Context(), from, tt.to); err != nil {
			t.Fatal(err)
		}
		from = tt.to
		if p, _ := d.Peek(t.Context(), "a", "a", 1); p.Limit(0).Remaining != tt.left {
			t.Errorf("after %d: %d left, want %d", tt.to, p.Limit(0).Remaining, tt.left)
		}
	}
	if p, _ := d.Peek(t.Context(), "plain", "a", 1); p.Limit(0).Remaining != 99 {
		t.Errorf("a limit that counts everything has %d left, want 99", p.Limit(0).Remaining)
	}
}

func TestACarrierHidesNobody(t *testing.T) {
	alice, bob := core.Identity{Principal: "alice"}, core.Identity{Principal: "bob"}
	outside := core.WithIdentity(t.Context(), alice)
	carrier := &core.Carrier{Context: outside}
	if id, ok := core.IdentityFrom(carrier); !ok || id != alice {
		t.Errorf("a decision about nobody: %+v, %v, want alice", id, ok)
	}
	d := newDesk(t, core.Config{Limits: []core.Limit{}})
	d.Decide(carrier, &core.Request{Identity: bob}, &carrier.Decision)
	if id, _ := core.IdentityFrom(carrier); id != bob {
		t.Errorf("a decision about bob: %+v", id)
	}
	if id, _ := core.IdentityFrom(core.WithIdentity(carrier, alice)); id != alice {
		t.Errorf("the nearest: %+v, want alice", id)
	}
	if _, ok := core.IdentityFrom(t.Context()); ok {
		t.Error("an empty context has an identity")
	}
}

// headerSource is a request with one header.
type headerSource string

func (s headerSource) Header(string) string      { return string(s) }
func (s headerSource) KeyValue(string) string    { return "wrong" }
func (s headerSource) Cost(string) (int64, bool) { panic("asked for the cost of a direct call") }

// An empty key means what the context knows, and what it does not know is an error:
// one count for all would be nobody's.
func TestAnEmptyKeyIsNeverACountForAll(t *testing.T) {
	keys := []core.KeyPart{core.ByPrincipal, core.ByIP, core.ByRoute, core.ByHeader("X-A"), core.ByValue("org")}
	var limits []core.Limit
	for _, key := range keys {
		limits = append(limits, core.Limit{Name: key.String(), Manual: true, Key: key, Quota: core.TokenBucket(10, time.Hour)})
	}
	d := newDesk(t, core.Config{Limits: limits})
	inside := func(r core.Request) context.Context {
		c := &core.Carrier{Context: context.Background()}
		d.Decide(c.Context, &r, &c.Decision)
		return c
	}
	who := core.WithIdentity(context.Background(), core.Identity{Principal: "p"})
	full := by("p")
	full.Addr, full.Source = from("192.0.2.1").Addr, headerSource("x")
	bare := core.Request{Method: "GET", Source: headerSource("")}
	for name, tt := range map[string]struct {
		ctx   context.Context
		known string
	}{
		"nothing":               {context.Background(), ""},
		"an identity":           {who, "principal"},
		"a request":             {inside(full), "principal ip route header:X-A"},
		"an anonymous one":      {inside(from("192.0.2.2")), "principal ip route header:X-A"},
		"one without anything":  {inside(bare), "route"},
		"its identity replaced": {core.WithIdentity(inside(bare), core.Identity{Principal: "q"}), "principal route"},
	} {
		var known []string
		for _, l := range limits {
			got, err := d.Allow(tt.ctx, l.Name, "", 1)
			if err == nil {
				known = append(known, l.Name)
			} else if got.Allowed() {
				t.Errorf("%s, %s: allowed with the error %v", name, l.Name, err)
			}
		}
		if got := strings.Join(known, " "); got != tt.known {
			t.Errorf("with %s known: %q, want %q", name, got, tt.known)
		}
	}
	for limit, want := range map[string]struct {
		key  string
		left int64
	}{"route": {"GET /x", 7}, "header:X-A": {"x", 8}, "ip": {"192.0.2.1", 8}, "principal": {"p", 7}} {
		d.Allow(inside(full), limit, "", 1)
		p, err := d.Peek(context.Background(), limit, want.key, 1)
		if err != nil || p.Limit(0).Remaining != want.left {
			t.Errorf("%s of %q has %d left, %v; want %d", limit, want.key, p.Limit(0).Remaining, err, want.left)
		}
	}
}
