package httpmwtest

import (
	"fmt"
	"strings"
	"time"

	"github.com/tidegate/tidegate/core"
)

func routes() []Case {
	return []Case{
		{"RouteParameters", "All values of a route's parameter share one count.", routeParameters},
		{"EverySpelling", "Every spelling of a path that the framework serves draws from one count.", everySpelling},
		{"Unrouted", "Requests that no route serves are one route, whatever their path and method.", unrouted},
		{"InventedMethods", "A method that the client invents gives no fresh count.", inventedMethods},
		{"LiteralColons", "A route with a colon that is one is a route of its own, and a pattern spelled so matches it.", literalColons},
		{"TheRootIsNotEverything", "The pattern / is the root route; a catch-all is matched by /{path...}.", rootIsNotEverything},
		{"OneLimitOnOneRoute", "A limit on one route counts it whatever its match says, and only once.", oneLimitOnOneRoute},
		{"TwoStages", "An early and a main mount charge their own limits once each, and tell of both in one list.", twoStages},
		{"MountedTwice", "Mounting a stage twice charges once and sets each header once.", mountedTwice},
		{"EarlyDenial", "An early denial keeps the main limits uncharged.", earlyDenial},
	}
}

func routeParameters(p *Probe) {
	p.start(App{Identify: user, Routes: []Route{{Method: "GET", Path: "/orders/{id}", Handle: ok}}},
		core.Limit{Name: "a", Match: []string{"GET /orders/{anything}"}, Quota: core.TokenBucket(5, time.Hour)})
	for i := range 6 {
		want := 200
		if i == 5 {
			want = 429
		}
		p.want(fmt.Sprint("order ", i), p.ask("GET", fmt.Sprintf("/orders/%d", i), "X-User", "a").StatusCode, want)
	}
}

func everySpelling(p *Probe) {
	p.start(App{Routes: []Route{{Method: "GET", Path: "/login", Handle: ok}}},
		core.Limit{Name: "a", Match: []string{"/login"}, Key: core.ByIP, Quota: core.TokenBucket(50, time.Hour)})
	counted := 0
	for _, path := range []string{"/login", "/LOGIN", "/login/", "//login", "/./login", "/%6Cogin", "/login?x=1", "/login?", "/x/../login", "/login%2F", "/login//", "http://test/login"} {
		status, limited := p.raw("GET " + path)
		if status == 200 && !limited {
			p.errorf("GET %s is served and not counted", path)
		}
		if limited {
			counted++
		}
	}
	p.want("RateLimit after all spellings", p.ask("GET", "/login").Header.Get("RateLimit"), fmt.Sprintf(`"a";r=%d;t=72`, 49-counted))
}

func unrouted(p *Probe) {
	p.start(App{}, core.Limit{Name: "a", Keys: core.Keys(core.ByIP, core.ByRoute), Quota: core.TokenBucket(3, time.Hour)})
	var got []string
	for i, method := range []string{"GET", "POST", "PUT", "GET"} {
		got = append(got, fmt.Sprint(p.ask(method, fmt.Sprintf("/nowhere/%d", i)).StatusCode))
	}
	p.want("statuses", strings.Join(got, " "), "404 404 404 429")
	p.want("a route", p.ask("GET", "/x").StatusCode, 200)
}

func inventedMethods(p *Probe) {
	p.start(App{}, core.Limit{Name: "a", Keys: core.Keys(core.ByIP, core.ByRoute), Quota: core.TokenBucket(2, time.Hour)})
	denied := 0
	for i := range 6 {
		if p.ask(fmt.Sprintf("INVENTED%d", i), "/x").StatusCode == 429 {
			denied++
		}
	}
	p.want("denied of 6", denied, 4)
}

func literalColons(p *Probe) {
	var list []Route
	for _, path := range []string{"/orders:batch", "/orders:cancel", "/orders/{id}", "/orders/{id}/items:batch"} {
		list = append(list, Route{Method: "POST", Path: path, Handle: ok})
	}
	p.start(App{Identify: user, Routes: list},
		core.Limit{Name: "each", Keys: core.Keys(core.ByPrincipal, core.ByRoute), Quota: core.TokenBucket(3, time.Hour)},
		core.Limit{Name: "batch", Match: []string{"POST /orders:batch"}, Quota: core.TokenBucket(1, time.Hour)},
		core.Limit{Name: "items", Match: []string{"POST /orders/{id}/items:batch"}, Quota: core.TokenBucket(2, time.Hour)})
	p.want("batch", p.statuses(2, "POST", "/orders:batch", "X-User", "a"), "200 429")
	p.want("cancel", p.statuses(4, "POST", "/orders:cancel", "X-User", "a"), "200 200 200 429")
	p.want("items", p.ask("POST", "/orders/7/items:batch", "X-User", "a").StatusCode, 200)
	p.want("items of another", p.statuses(2, "POST", "/orders/8/items:batch", "X-User", "a"), "200 429")
	p.want("a parameter", p.ask("POST", "/orders/7", "X-User", "a").StatusCode, 200)
	p.want("another value", p.statuses(3, "POST", "/orders/:batch", "X-User", "a"), "200 200 429")
}

func rootIsNotEverything(p *Probe) {
	p.start(App{Identify: user, Routes: []Route{{Method: "GET", Path: "/{path...}", Handle: ok}}},
		core.Limit{Name: "root", Match: []string{"GET /"}, Quota: core.TokenBucket(1, time.Hour)},
		core.Limit{Name: "all", Match: []string{"GET /{path...}"}, Quota: core.TokenBucket(3, time.Hour)})
	var got []string
	for _, path := range []string{"/", "/a", "/a/b", "/c"} {
		got = append(got, fmt.Sprint(p.ask("GET", path, "X-User", "a").StatusCode))
	}
	p.want("statuses", strings.Join(got, " "), "200 200 200 429")
}

func oneLimitOnOneRoute(p *Probe) {
	only := core.Limit{Name: "only", Match: []string{"GET /matched"}, Quota: core.TokenBucket(2, time.Hour)}
	p.start(App{Identify: user, Routes: []Route{
		{Method: "GET", Path: "/mounted", Limit: "only", Handle: ok},
		{Method: "GET", Path: "/matched", Limit: "only", Handle: ok},
		{Method: "GET", Path: "/free", Handle: ok},
	}}, only, bucket("all", 100, time.Hour))
	r := p.ask("GET", "/mounted", "X-User", "a")
	p.want("RateLimit", strings.Join(r.Header.Values("RateLimit"), "|"), `"only";r=1;t=1800, "all";r=99;t=36`)
	p.want("mounted and matched", p.ask("GET", "/matched", "X-User", "a").Header.Get("RateLimit"), `"only";r=0;t=1800, "all";r=98;t=36`)
	p.want("denied", p.ask("GET", "/mounted", "X-User", "a").StatusCode, 429)
	p.want("another route", p.ask("GET", "/free", "X-User", "a").StatusCode, 200)
}

func stagedLimits() []core.Limit {
	return []core.Limit{
		{Name: "first", Key: core.Keys(core.ByPrincipal)[0], Quota: core.TokenBucket(10, time.Hour)},
		{Name: "address", Key: core.ByIP, Stage: core.Early, Quota: core.TokenBucket(3, time.Hour)},
		{Name: "last", Quota: core.TokenBucket(10, time.Hour)},
	}
}

func twoStages(p *Probe) {
	p.start(App{Identify: user, Early: true}, stagedLimits()...)
	r := p.ask("GET", "/x", "X-User", "a")
	p.want("RateLimit", strings.Join(r.Header.Values("RateLimit"), "|"), `"first";r=9;t=360, "address";r=2;t=1200, "last";r=9;t=360`)
	p.want("RateLimit-Policy", strings.Join(r.Header.Values("RateLimit-Policy"), "|"), `"first";q=10;w=3600, "address";q=3;w=3600, "last";q=10;w=3600`)
	p.want("again", p.ask("GET", "/x", "X-User", "b").Header.Get("RateLimit"), `"first";r=9;t=360, "address";r=1;t=1200, "last";r=9;t=360`)
}

func mountedTwice(p *Probe) {
	p.start(App{Identify: user, Twice: true}, stagedLimits()...)
	r := p.ask("GET", "/x", "X-User", "a")
	p.want("RateLimit", strings.Join(r.Header.Values("RateLimit"), "|"), `"first";r=9;t=360, "address";r=2;t=1200, "last";r=9;t=360`)
	p.want("RateLimit-Policy lines", len(r.Header.Values("RateLimit-Policy")), 1)
}

func earlyDenial(p *Probe) {
	p.start(App{Identify: user, Early: true}, stagedLimits()...)
	p.want("statuses", p.statuses(5, "GET", "/x", "X-User", "a"), "200 200 200 429 429")
	r := p.ask("GET", "/x", "X-User", "a")
	p.want("RateLimit", strings.Join(r.Header.Values("RateLimit"), "|"), `"address";r=0;t=1200`)
	p.advance(20 * time.Minute)
	p.want("main limits", p.ask("GET", "/x", "X-User", "a").Header.Get("RateLimit"), `"first";r=9;t=360, "address";r=0;t=1200, "last";r=9;t=360`)
}
