package core_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tidegate/tidegate/core"
)

func TestPatterns(t *testing.T) {
	const yes, no = true, false
	for _, tt := range []struct {
		pattern string
		syntax  core.RouteSyntax
		method  string
		route   string
		want    bool
	}{
		{"GET /orders/{id}", core.Braces, "GET", "GET /orders/{order}", yes},
		{"GET /orders/{id}", core.Colons, "GET", "/orders/:id", yes},
		{"GET /orders/{id}", core.Colons, "HEAD", "/orders/:id", yes},
		{"HEAD /orders/{id}", core.Colons, "GET", "/orders/:id", yes},
		{"GET /orders/{id}", core.Colons, "POST", "/orders/:id", no},
		{"/orders/{id}", core.Colons, "PATCH", "/orders/:id", yes},
		{"/orders/{id}", core.Colons, "INVENTED", "/orders/:id", yes},
		{"/orders/{id}", core.Colons, "GET", "/orders", no},
		{"/orders/new", core.Colons, "GET", "/orders/:id", no},
		{"/files/{path...}", core.Colons, "GET", "/files/*path", yes},
		{"/files/{path...}", core.Colons, "GET", "/files/*", yes},
		{"/files/{path...}", core.Braces, "GET", "/files/{rest...}", yes},
		{"/files/{path...}", core.Braces, "GET", "GET /files/", yes},
		{"/files/", core.Braces, "GET", "/files/", yes},
		{"/files/", core.Colons, "GET", "/files/", yes},
		{"/files/", core.Colons, "GET", "/files", no},
		{"/files/", core.Colons, "GET", "/files/*path", no},
		{"/files/", core.Braces, "GET", "/files/{path...}", no},
		{"GET /", core.Colons, "GET", "/*any", no},
		{"GET /", core.Colons, "GET", "/*", no},
		{"GET /", core.Braces, "GET", "GET /{path...}", no},
		{"GET /", core.Colons, "GET", "/", yes},
		{"GET /{path...}", core.Colons, "GET", "/*any", yes},
		{"GET /{path...}", core.Braces, "GET", "/", yes},
		{"GET /static/...", core.Colons, "GET", "/static*", yes},
		{"GET /static/{path...}", core.Colons, "GET", "/static*", yes},
		{"POST /jobs/{id}:cancel", core.Colons, "POST", `/jobs/:id\:cancel`, yes},
		{"POST /jobs/{id}:cancel", core.Colons, "POST", `/jobs/:id\:stop`, no},
		{"POST /jobs/{id}/x", core.Colons, "POST", `/jobs/:id\:a:b/x`, yes},
		{"/", core.Braces, "GET", "/{$}", yes},
		{"/", core.Braces, "GET", "/", yes},
		{"/admin/...", core.Colons, "GET", "/admin/users/:id", yes},
		{"/admin/...", core.Colons, "GET", "/admin", no},
		{"/admin/...", core.Colons, "GET", "/administrators", no},
		{"/admin/...", core.Braces, "GET", "/admin/", yes},
		{"/tenants/{t}/...", core.Colons, "GET", "/tenants/:name/users", yes},
		{"/...", core.Colons, "GET", "/x", yes},
		{"/...", core.Colons, "GET", "/", no},
		{"POST /x", core.Braces, "POST", "POST example.com/x", yes},
		{"/user_{name}", core.Colons, "GET", "/user_:name", yes},
		{"/v1/a:b", core.Colons, "GET", `/v1/a\:b`, yes},
		{"/x", core.Colons, "GET", "", no},
		{"/x", core.Braces, "GET", "/{broken", no},
	} {
		d := newDesk(t, core.Config{Limits: []core.Limit{{Name: "a", Match: []string{tt.pattern}, Quota: core.TokenBucket(9, time.Hour)}}})
		got := d.decide(core.Request{Method: tt.method, Route: tt.route, Syntax: tt.syntax}).Len() == 1
		if got != tt.want {
			t.Errorf("%s matches %s %s: %v, want %v", tt.pattern, tt.method, tt.route, got, tt.want)
		}
	}
}

func TestBadPatternsSayWhatWasExpected(t *testing.T) {
	for _, text := range []string{"", "orders", "get /x", "FETCH /x", "GET x", "/a b", "/x?y", "/x#y", "/{a", "/a}", "/{a/b}", "/{a...}/b", "GET  /x", "/\t"} {
		if p, err := core.ParsePattern(text); err == nil {
			t.Errorf("%q is read as %v, want an error", text, p)
		}
	}
	if p, err := core.ParsePattern("GET /a/{b}"); err != nil || p.String() != "GET /a/{b}" {
		t.Errorf("got %v, %v", p, err)
	}
}

// What belongs to another syntax, or what routers clean away, would match nothing:
// the error says what to write.
func TestPatternsThatNoRouteCanBe(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"GET /orders/:id", `want "/orders/{id}"`},
		{"/:tenant/orders/:id", `want "/{tenant}/orders/{id}"`},
		{"/:", `want "/{name}"`},
		{"/orders/*", `want "/orders/..."`},
		{"/*", `want "/..."`},
		{"/files/*path", `want "/files/{path...}"`},
		{"/a/*/b", `want "/a/{name}/b"`},
		{"/a/*b/:c", `want "/a/{b}/{c}"`},
		{"/:id/...", `want "/{id}/..."`},
		{"/x/../y", `want "/y"`},
		{"/x/./y/", `want "/x/y/"`},
		{"/..", `want "/"`},
		{"//", `want "/"`},
		{"/a//b", `want "/a/b"`},
		{"/a//...", `want "/a/..."`},
		{"/a...", `want "a/..." for every route below`},
		{"/a/.../b", "... is not at the end"},
		{"/{$}/b", "{$} is not at the end"},
		{"/{rest...}/...", "want one of them"},
		{"/a\x00b", "control character"},
		{"/a\u0085b", "control character"},
		{"/a\xffb", "no UTF-8"},
	} {
		if _, err := core.ParsePattern(tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %v, want an error with %s", tt.text, err, tt.want)
		}
	}
	for _, text := range []string{"/orders:batch", "/v1/a:b/{id}", "/a*b", "/a..b", "/.well-known/x", "/...", "/a/{$}", "/a/", "/{a}/{b...}", "/@me", "/caf\u00e9"} {
		if _, err := core.ParsePattern(text); err != nil {
			t.Errorf("%q: %v, want a pattern", text, err)
		}
	}
}

func FuzzParsePattern(f *testing.F) {
	for _, seed := range []string{"GET /orders/{id}", "/files/{path...}", "/a/...", "/{$}", "}{"} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, text, route string) {
		p, err := core.ParsePattern(text)
		if err == nil && p.String() != text {
			t.Errorf("%q is written as %q", text, p)
		}
		l, err := core.New(core.Config{Store: broken{}, Limits: []core.Limit{{Name: "a", Key: core.ByRoute, Quota: core.TokenBucket(1, time.Second)}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, syntax := range []core.RouteSyntax{core.Braces, core.Colons} {
			var d core.Decision
			l.Decide(context.Background(), &core.Request{Method: text, Route: route, Syntax: syntax}, &d)
		}
	})
}

func TestByRouteCountsEachRouteOnce(t *testing.T) {
	d := newDesk(t, core.Config{Limits: []core.Limit{{Name: "a", Key: core.ByRoute, Quota: core.TokenBucket(1, time.Hour)}}})
	ask := func(syntax core.RouteSyntax, method, route string) bool {
		return d.decide(core.Request{Method: method, Route: route, Syntax: syntax}).Allowed()
	}
	for i, tt := range []struct {
		got, want bool
	}{
		{ask(core.Colons, "GET", "/orders/:id"), true},
		{ask(core.Colons, "HEAD", "/orders/:id"), false},
		{ask(core.Braces, "GET", "GET /orders/{other}"), false}, // one route in every framework
		{ask(core.Colons, "POST", "/orders/:id"), true},
		{ask(core.Colons, "GET", ""), true},
		{ask(core.Colons, "POST", ""), false}, // what no route serves is one route
		{ask(core.Colons, "INVENTED", "/orders/:id"), true},
		{ask(core.Colons, "OTHERWISE", "/orders/:id"), false},
	} {
		if tt.got != tt.want {
			t.Errorf("%d: allowed %v, want %v", i, tt.got, tt.want)
		}
	}
}

func TestCheckRoutesNamesWhatFitsNothing(t *testing.T) {
	d := newDesk(t, core.Config{
		Exempt: []core.Exemption{{Match: []string{"GET /health"}}},
		Limits: []core.Limit{
			{Name: "a", Match: []string{"GET /orders", "DELETE /orders"}, Quota: core.Unlimited},
			{Name: "b", Except: []string{"/nowhere"}, Key: core.ByValue("org"), Quota: core.Unlimited},
		},
	})
	err := d.CheckRoutes([]core.Route{
		{Method: "GET", Path: "/orders", Syntax: core.Colons}, core.ServeMuxRoute("/health"),
	})
	var paths []string
	for _, e := range core.FieldErrors(err) {
		paths = append(paths, e.Path)
	}
	if got := strings.Join(paths, " "); got != "limits[0].match[1] limits[1].except[0]" {
		t.Errorf("named %q in %v", got, err)
	}
	all := []core.Route{{Path: "/orders"}, core.ServeMuxRoute("GET /health"), {Path: "/nowhere"}}
	if err := d.CheckRoutes(all); err != nil {
		t.Errorf("every pattern fits a route: %v", err)
	}
	if got := strings.Join(d.Names(), " "); got != "a b" || !d.HasLimit("a") || d.HasLimit("x") {
		t.Errorf("names %q, or HasLimit", got)
	}
}

func TestDecideOneIgnoresMatchAndStage(t *testing.T) {
	l := core.Limit{Name: "a", Match: []string{"GET /other"}, Manual: true, Cost: 2, Quota: core.TokenBucket(4, time.Hour)}
	d := newDesk(t, core.Config{Limits: []core.Limit{l}, Exempt: []core.Exemption{{Principals: []string{"monitor"}}}})
	one := func(r core.Request) *core.Decision {
		var got core.Decision
		if err := d.DecideOne(t.Context(), "a", &r, &got); err != nil {
			t.Fatal(err)
		}
		return &got
	}
	for i, want := range []core.Outcome{core.Allowed, core.Allowed, core.Denied} {
		if got := one(by("x")); got.Outcome() != want {
			t.Errorf("%d: %v, want %v", i, got.Outcome(), want)
		}
	}
	if got := one(by("monitor")); got.Outcome() != core.Exempt {
		t.Errorf("exempt: %v", got.Outcome())
	}
}

func TestABillIsTheSameForARouteAndTier(t *testing.T) {
	d := newDesk(t, core.Config{Limits: []core.Limit{hourly("a", 9)}})
	first, second := d.decide(by("x")).Bill(), d.decide(by("y")).Bill()
	if first != second || first == nil {
		t.Fatal("two requests of one route have two bills")
	}
	if got := first.Recall("k"); got != nil {
		t.Errorf("recalled %v, want nothing", got)
	}
	if got := first.Memo("k", 1); got != 1 {
		t.Errorf("got %v, want 1", got)
	}
	if got := second.Memo("k", 2); got != 1 || second.Recall("k") != 1 {
		t.Errorf("got %v, want the first", got)
	}
}

func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{1, 3, 10} {
		b.Run(fmt.Sprintf("limits=%d", n), func(b *testing.B) {
			var limits []core.Limit
			for i := range n {
				limits = append(limits, core.Limit{Name: fmt.Sprintf("limit-%d", i), Quota: core.TokenBucket(1e9, time.Second)})
			}
			benchmarkDecide(b, limits, []string{"GET /x"})
		})
	}
	b.Run("table=10000", func(b *testing.B) {
		var limits []core.Limit
		var routes []string
		for i := range 10_000 {
			route := fmt.Sprintf("GET /r%d", i%1000)
			limits = append(limits, core.Limit{Name: fmt.Sprintf("limit-%d", i), Match: []string{route}, Quota: core.Unlimited})
			if i < 1000 {
				limits[i].Quota = core.TokenBucket(1e9, time.Second)
				routes = append(routes, route)
			}
		}
		benchmarkDecide(b, limits, routes)
	})
}

func benchmarkDecide(b *testing.B, limits []core.Limit, routes []string) {
	l, err := core.New(core.Config{Store: newStore(), Limits: limits})
	if err != nil {
		b.Fatal(err)
	}
	r := by("caller")
	var d core.Decision
	ctx := context.Background()
	for _, r.Route = range routes {
		l.Decide(ctx, &r, &d)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		r.Route = routes[i%len(routes)]
		i++
		l.Decide(ctx, &r, &d)
	}
	if !d.Allowed() || d.Len() == 0 {
		b.Errorf("%v by %d limits", d.Outcome(), d.Len())
	}
}
