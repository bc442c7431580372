package httpmwtest

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/httpmw/clientip"
)

func mounts() []Case {
	return []Case{
		{"RouteLimitKnowsTheCaller", "A limit on a route counts the caller that the mount around it knows, and the handler can charge the limits of both.", routeLimitKnowsTheCaller},
		{"RouteLimitKnowsTheAddress", "A limit on a route counts the address that the mount around it found.", routeLimitKnowsTheAddress},
		{"RouteLimitKnowsTheRest", "A limit on a route costs and tells what the mount around it says.", routeLimitKnowsTheRest},
		{"RouteDenialChargesNothing", "When a limit on a route denies, the limits of the mount around it are not charged; an early mount's are.", routeDenialChargesNothing},
		{"LimitOutside", "A limit that is mounted outside too is charged once, and not when a limit inside denies.", limitOutside},
		{"RouteOutageTellsNothing", "A limit on a route that is closed while the store fails answers 503 without the quota fields of the mount around it.", routeOutageTellsNothing},
		{"IdentityOutside", "An identity that middleware outside put in the context is the caller's, and no mount hides it.", identityOutside},
		{"EmptyKeysInAHandler", "In a handler an empty key stands for the request's own caller, address, route and header.", emptyKeysInAHandler},
		{"DecisionOfNone", "A handler may ask for the decision of a request that was not decided.", decisionOfNone},
		{"MisspeltNames", "A cost or value for a name that does not exist fails at start-up, and says which exist.", misspeltNames},
		{"UpdateThatCannotBeServed", "A table that needs what a mounted adapter lacks is refused, and the old one stays.", updateThatCannotBeServed},
	}
}

func routeLimitKnowsTheCaller(p *Probe) {
	handle := func(w http.ResponseWriter, r *http.Request) {
		d := core.DecisionFrom(r.Context())
		id, _ := core.IdentityFrom(r.Context())
		all, err := d.Add(r.Context(), "all", 2)
		own, err2 := d.Add(r.Context(), "own", 0)
		_, found := d.Find("all")
		fmt.Fprintf(w, "%s %s %s; %d %v, %d %v, %v", d.Identity().Principal, d.Tier(), id.Principal, all, err, own, err2, found)
	}
	p.start(App{Identify: user, Routes: []Route{{Method: "POST", Path: "/x", Limit: "own", Handle: handle}}},
		bucket("all", 100, time.Hour),
		manual(core.Limit{Name: "own", Tiers: core.Tiers{"free": core.TokenBucket(1, time.Hour), "pro": core.TokenBucket(2, time.Hour)}}))
	r := p.ask("POST", "/x", "X-User", "bob", "X-Tier", "pro")
	p.want("handler", r.body, "bob pro bob; 2 <nil>, 0 <nil>, true")
	p.want("RateLimit", strings.Join(r.Header.Values("RateLimit"), "|"), `"all";r=99;t=36, "own";r=1;t=1800`)
	p.want("bob, pro", p.statuses(2, "POST", "/x", "X-User", "bob", "X-Tier", "pro"), "200 429")
	p.want("amy, free", p.statuses(2, "POST", "/x", "X-User", "amy", "X-Tier", "free"), "200 429")
	p.want("nobody", p.statuses(2, "POST", "/x"), "200 429")
}

func routeLimitKnowsTheAddress(p *Probe) {
	resolver, err := clientip.New(clientip.Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Header: "X-Forwarded-For"})
	if err != nil {
		p.tb.Fatal(err)
	}
	p.start(App{ClientIP: resolver, Routes: []Route{{Method: "GET", Path: "/x", Limit: "own", Handle: ok}}},
		manual(core.Limit{Name: "own", Key: core.ByIP, Quota: core.TokenBucket(1, time.Hour)}))
	p.want("one", p.statuses(2, "GET", "/x", "X-Forwarded-For", "203.0.113.1"), "200 429")
	p.want("another", p.statuses(2, "GET", "/x", "X-Forwarded-For", "203.0.113.2"), "200 429")
}

func routeLimitKnowsTheRest(p *Probe) {
	p.start(App{
		Identify: user, SetHeaders: true,
		Costs:  map[string]func(*http.Request) int64{"own": func(*http.Request) int64 { return 3 }},
		Routes: []Route{{Method: "GET", Path: "/x", Limit: "own", Handle: ok}},
	}, bucket("all", 100, time.Hour), manual(bucket("own", 8, time.Hour)))
	r := p.ask("GET", "/x", "X-User", "a")
	p.want("fields", r.Header.Get("RateLimit")+r.Header.Get("RateLimit-Policy"), "")
	p.want("others at 3 of 8", p.statuses(2, "GET", "/x", "X-User", "a"), "200 429")
}

func routeDenialChargesNothing(p *Probe) {
	p.start(App{Identify: user, Early: true, Routes: []Route{
		{Method: "POST", Path: "/x", Limit: "own", Handle: ok}, {Method: "GET", Path: "/free", Handle: ok},
	}}, bucket("all", 10, time.Hour), manual(bucket("own", 1, time.Hour)),
		core.Limit{Name: "address", Key: core.ByIP, Stage: core.Early, Quota: core.TokenBucket(10, time.Hour)})
	p.want("statuses", p.statuses(4, "POST", "/x", "X-User", "a"), "200 429 429 429")
	r := p.ask("POST", "/x", "X-User", "a")
	p.want("RateLimit", strings.Join(r.Header.Values("RateLimit"), "|"), `"own";r=0;t=3600`)
	if !strings.Contains(r.body, `"all":{"limit":10,"remaining":9,"exceeded":false}`) {
		p.errorf("body %s, want 9 of all remaining", r.body)
	}
	p.want("after 4 denials", p.ask("GET", "/free", "X-User", "a").Header.Get("RateLimit"), `"all";r=8;t=360, "address";r=4;t=360`)
}

func limitOutside(p *Probe) {
	own := bucket("own", 10, time.Hour)
	l := p.limiter(core.Config{Limits: []core.Limit{own, bucket("all", 2, time.Hour)}})
	p.start(App{Limiter: l, Identify: user, Outer: "own", Routes: []Route{{Method: "GET", Path: "/x", Limit: "own", Handle: ok}}})
	r := p.ask("GET", "/x", "X-User", "a")
	p.want("RateLimit", strings.Join(r.Header.Values("RateLimit"), "|"), `"own";r=9;t=360, "all";r=1;t=1800`)
	p.want("statuses", p.statuses(4, "GET", "/x", "X-User", "a"), "200 429 429 429")
	d, err := l.Peek(context.Background(), "own", "a", 1)
	if err != nil {
		p.tb.Fatal(err)
	}
	p.want("left of own after 2 grants and 3 denials", d.Limit(0).Remaining, int64(8))
}

// failsFor cannot answer charges of one limit.
type failsFor struct {
	core.Store
	limit string
}

func (s failsFor) Take(ctx context.Context, charges []core.Charge, results []core.Result) error {
	for _, c := range charges {
		if c.Limit == s.limit {
			return &core.StoreError{Kind: "refused", Err: context.DeadlineExceeded}
		}
	}
	return s.Store.Take(ctx, charges, results)
}

func routeOutageTellsNothing(p *Probe) {
	own := manual(bucket("own", 1, time.Hour))
	own.StoreFailure = core.FailClosed
	store := p.limiter(core.Config{Limits: []core.Limit{}}).Store()
	l := p.limiter(core.Config{Store: failsFor{store, "own"}, Limits: []core.Limit{bucket("all", 10, time.Hour), own}})
	p.start(App{Limiter: l, Identify: user, Routes: []Route{{Method: "GET", Path: "/x", Limit: "own", Handle: ok}}})
	r := p.ask("GET", "/x", "X-User", "a")
	p.want("status", r.StatusCode, 503)
	p.want("quota fields", r.Header.Get("RateLimit")+r.Header.Get("RateLimit-Policy"), "")
	d, _ := l.Peek(context.Background(), "all", "a", 1)
	p.want("left of the mount around it", d.Limit(0).Remaining, int64(10))
}

func identityOutside(p *Probe) {
	p.around(func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(w, r.WithContext(core.WithIdentity(r.Context(), user(r))))
		})
	})
	handle := func(w http.ResponseWriter, r *http.Request) {
		id, _ := core.IdentityFrom(r.Context())
		fmt.Fprint(w, id.Principal, " ", id.Tier)
	}
	p.start(App{Early: true, Routes: []Route{{Method: "GET", Path: "/x", Limit: "own", Handle: handle}}},
		core.Limit{Name: "a", Tiers: core.Tiers{"free": core.TokenBucket(1, time.Hour), "pro": core.TokenBucket(2, time.Hour)}},
		manual(bucket("own", 100, time.Hour)))
	p.want("bob", p.ask("GET", "/x", "X-User", "bob", "X-Tier", "pro").body, "bob pro")
	p.want("bob again", p.statuses(2, "GET", "/x", "X-User", "bob", "X-Tier", "pro"), "200 429")
	p.want("amy", p.ask("GET", "/x", "X-User", "amy", "X-Tier", "free").body, "amy free")
	p.start(App{Early: true, Identify: func(*http.Request) core.Identity { return core.Identity{} }, Routes: []Route{{Method: "GET", Path: "/x", Handle: handle}}},
		core.Limit{Name: "a", Tiers: core.Tiers{"free": core.TokenBucket(1, time.Hour)}})
	p.want("of a mount that knows nobody", p.ask("GET", "/x", "X-User", "bob", "X-Tier", "pro").body, "bob pro")
}

func emptyKeysInAHandler(p *Probe) {
	keys := []core.KeyPart{core.ByPrincipal, core.ByIP, core.ByRoute, core.ByHeader("X-Tenant")}
	limits := []core.Limit{bucket("all", 1000, time.Hour)}
	for _, key := range keys {
		limits = append(limits, manual(core.Limit{Name: key.String(), Key: key, Quota: core.TokenBucket(100, time.Hour)}))
	}
	l := p.limiter(core.Config{Limits: limits})
	handle := func(w http.ResponseWriter, r *http.Request) {
		for _, key := range keys {
			d, err := l.Allow(r.Context(), key.String(), "", 1)
			fmt.Fprint(w, d.Limit(0).Remaining, err, " ")
		}
	}
	p.start(App{Limiter: l, Identify: user, Routes: []Route{{Method: "GET", Path: "/a", Handle: handle}, {Method: "GET", Path: "/b", Handle: handle}}})
	p.want("first", p.ask("GET", "/a", "X-User", "u", "X-Tenant", "one").body, "99 <nil> 99 <nil> 99 <nil> 99 <nil> ")
	p.want("another user, route, tenant", p.ask("GET", "/b", "X-User", "v", "X-Tenant", "two").body, "99 <nil> 98 <nil> 99 <nil> 99 <nil> ")
	p.want("the first again", p.ask("GET", "/a", "X-User", "u", "X-Tenant", "one").body, "98 <nil> 97 <nil> 98 <nil> 98 <nil> ")
	d, err := l.Peek(context.Background(), "route", "GET /a", 1)
	p.want("left of the route by its name", fmt.Sprint(d.Limit(0).Remaining, err), "98 <nil>")
}

func decisionOfNone(p *Probe) {
	handle := func(w http.ResponseWriter, r *http.Request) {
		d := core.DecisionFrom(r.Context())
		_, err := d.Add(r.Context(), "a", 1)
		fmt.Fprint(w, d.Allowed(), " ", d.Len(), " ", d.Tier(), d.Identity().Principal, d.Limit(0).Remaining, " ", err != nil)
	}
	p.start(App{
		Skip:   func(r *http.Request) bool { return r.Header.Get("X-Skip") != "" },
		Routes: []Route{{Method: "GET", Path: "/x", Handle: handle}, {Method: "OPTIONS", Path: "/x", Handle: handle}},
	}, bucket("a", 1, time.Hour))
	p.want("skipped", p.ask("GET", "/x", "X-Skip", "1").body, "true 0 0 true")
	p.want("a preflight", p.ask("OPTIONS", "/x", "Origin", "https://a.example", "Access-Control-Request-Method", "GET").body, "true 0 0 true")
}

func misspeltNames(p *Probe) {
	l := p.limiter(core.Config{Limits: []core.Limit{{Name: "orders", Key: core.ByValue("tenant"), Quota: core.TokenBucket(1, time.Hour)}}})
	cost := func(*http.Request) int64 { return 1 }
	value := func(*http.Request) string { return "1" }
	for name, app := range map[string]App{
		"orders": {Costs: map[string]func(*http.Request) int64{"oders": cost}, Values: map[string]func(*http.Request) string{"tenant": value}},
		"tenant": {Values: map[string]func(*http.Request) string{"tenant": value, "tennant": value}},
	} {
		said := func() (said string) {
			defer func() { said = fmt.Sprint(recover()) }()
			app.Limiter = l
			p.mount(p.tb, app)
			return said
		}()
		if !strings.Contains(said, "which") || !strings.Contains(said, "are "+name) {
			p.errorf("start-up said %q, want it to name %s", said, name)
		}
	}
}

func updateThatCannotBeServed(p *Probe) {
	soft, org := bucket("a", 1, time.Hour), bucket("a", 1, time.Hour)
	soft.Exceeded, org.Key = core.Fallback, core.ByValue("org")
	l := p.limiter(core.Config{Limits: []core.Limit{bucket("a", 1, time.Hour), manual(bucket("own", 1, time.Hour))}})
	p.start(App{Limiter: l, Identify: user, Routes: []Route{{Method: "GET", Path: "/x", Handle: ok}, {Method: "GET", Path: "/own", Limit: "own", Handle: ok}}})
	ownSoft := manual(soft)
	ownSoft.Name = "own"
	for _, tt := range []struct {
		path  string
		limit core.Limit
	}{{"limits[1].exceeded", soft}, {"limits[1].key", org}, {"limits[1].exceeded", ownSoft}} {
		err := l.Update(core.Config{Limits: []core.Limit{bucket("new", 1, time.Hour), tt.limit}})
		if list := core.FieldErrors(err); len(list) == 0 || list[0].Path != tt.path {
			p.errorf("Update: %v, want %s refused", err, tt.path)
		}
	}
	p.want("the old table", p.statuses(2, "GET", "/x", "X-User", "a"), "200 429")
	l = p.limiter(core.Config{Limits: []core.Limit{bucket("a", 1, time.Hour)}})
	p.start(App{Limiter: l, Identify: user, Fallback: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(203) }})
	if err := l.Update(core.Config{Limits: []core.Limit{soft}}); err != nil {
		p.errorf("Update to a table that can be served: %v", err)
	}
	p.want("the new table", p.statuses(2, "GET", "/x", "X-User", "a"), "200 203")
}
