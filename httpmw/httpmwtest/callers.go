package httpmwtest

import (
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/httpmw/clientip"
)

func callers() []Case {
	return []Case{
		{"SpoofedAddresses", "With no option no header of any kind changes who is counted.", spoofedAddresses},
		{"TrustedProxy", "Behind a trusted proxy the client is who it names, in every spelling of the address.", trustedProxy},
		{"InventedKeys", "An unknown credential is no principal: rotating it gives no quota.", inventedKeys},
		{"NamespacesDoNotMeet", "A principal called like an address does not spend that address's quota.", namespacesDoNotMeet},
		{"HeaderKeys", "A header key counts by value, and by address without it.", headerKeys},
		{"ValueKeys", "A key of the program's own counts by what it extracts, and by address without it.", valueKeys},
		{"Preflights", "A CORS preflight is never counted and never denied; a bare OPTIONS is an ordinary request.", preflights},
		{"DecisionInAHandler", "A handler finds the decision and the identity in its request's context.", decisionInAHandler},
	}
}

func spoofedAddresses(p *Probe) {
	p.start(App{}, core.Limit{Name: "a", Key: core.ByIP, Quota: core.TokenBucket(5, time.Hour)})
	for i := range 5 {
		p.want("request", p.ask("GET", "/x", "X-Forwarded-For", fmt.Sprintf("198.51.100.%d", i)).StatusCode, 200)
	}
	for _, name := range []string{"X-Forwarded-For", "X-Real-IP", "True-Client-IP", "CF-Connecting-IP", "Forwarded", "X-Client-IP"} {
		value := "203.0.113.77"
		if name == "Forwarded" {
			value = "for=203.0.113.77"
		}
		p.want("after "+name, p.ask("GET", "/x", name, value).StatusCode, 429)
	}
}

func trustedProxy(p *Probe) {
	resolver, err := clientip.New(clientip.Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Header: "X-Forwarded-For"})
	if err != nil {
		p.tb.Fatal(err)
	}
	p.start(App{ClientIP: resolver}, core.Limit{Name: "a", Key: core.ByIP, Quota: core.TokenBucket(3, time.Hour)})
	for i, tt := range []struct {
		forwarded string
		want      int
	}{
		{"203.0.113.7", 200}, {"6.6.6.6, 203.0.113.7:5001", 200}, {"::ffff:203.0.113.7", 200}, {"203.0.113.7", 429},
		{"2001:db8::1", 200}, {"[2001:db8::2]:443", 200}, {"2001:DB8:0::3", 200}, {"2001:db8::4", 429}, {"2001:db8:0:1::1", 200},
	} {
		p.want(fmt.Sprintf("%d: %s", i, tt.forwarded), p.ask("GET", "/x", "X-Forwarded-For", tt.forwarded).StatusCode, tt.want)
	}
}

func inventedKeys(p *Probe) {
	known := map[string]string{"key-a": "a"}
	p.start(App{Identify: func(r *http.Request) core.Identity {
		return core.Identity{Principal: known[r.Header.Get("X-API-Key")]}
	}}, bucket("a", 3, time.Hour))
	passed := 0
	for i := range 30 {
		if p.ask("GET", "/x", "X-API-Key", fmt.Sprintf("invented-%d", i)).StatusCode == 200 {
			passed++
		}
	}
	p.want("passed of 30 with invented keys", passed, 3)
	p.want("the known key", p.ask("GET", "/x", "X-API-Key", "key-a").StatusCode, 200)
}

func namespacesDoNotMeet(p *Probe) {
	p.start(App{Identify: user}, bucket("a", 1, time.Hour))
	p.want("the user", p.statuses(2, "GET", "/x", "X-User", "127.0.0.1"), "200 429")
	p.want("the address", p.ask("GET", "/x").StatusCode, 200)
}

func headerKeys(p *Probe) {
	p.start(App{}, core.Limit{Name: "a", Key: core.ByHeader("X-Tenant"), Quota: core.TokenBucket(2, time.Hour)})
	p.want("a", p.statuses(3, "GET", "/x", "X-Tenant", "a"), "200 200 429")
	p.want("b", p.statuses(3, "GET", "/x", "X-Tenant", "b"), "200 200 429")
	p.want("none", p.statuses(3, "GET", "/x"), "200 200 429")
	p.want("empty", p.ask("GET", "/x", "X-Tenant", "").StatusCode, 429)
}

func valueKeys(p *Probe) {
	p.start(App{Values: map[string]func(*http.Request) string{
		"org": func(r *http.Request) string { return r.URL.Query().Get("org") },
	}}, core.Limit{Name: "a", Key: core.ByValue("org"), Quota: core.TokenBucket(1, time.Hour)})
	p.want("x", p.statuses(2, "GET", "/x?org=x"), "200 429")
	p.want("y", p.ask("GET", "/x?org=y").StatusCode, 200)
	p.want("none", p.statuses(2, "GET", "/x"), "200 429")
}

func preflights(p *Probe) {
	p.start(App{Routes: []Route{{Method: "GET", Path: "/x", Handle: ok}, {Method: "OPTIONS", Path: "/x", Handle: ok}}},
		core.Limit{Name: "a", Key: core.ByIP, Quota: core.TokenBucket(3, time.Hour)})
	for range 10 {
		r := p.ask("OPTIONS", "/x", "Origin", "https://a.example", "Access-Control-Request-Method", "GET")
		p.want("preflight", r.StatusCode, 200)
		p.want("RateLimit of a preflight", r.Header.Get("RateLimit"), "")
	}
	p.want("others", p.statuses(2, "GET", "/x"), "200 200")
	p.want("a bare OPTIONS", p.statuses(2, "OPTIONS", "/x", "Origin", "https://a.example"), "200 429")
}

func decisionInAHandler(p *Probe) {
	p.start(App{Identify: user, Early: true, Routes: []Route{{Method: "GET", Path: "/x", Handle: func(w http.ResponseWriter, r *http.Request) {
		d := core.DecisionFrom(r.Context())
		id, found := core.IdentityFrom(r.Context())
		if d == nil || !found {
			http.Error(w, "no decision", http.StatusInternalServerError)
			return
		}
		added, err := d.Add(r.Context(), "a", 3)
		fmt.Fprintf(w, "%s of %s, %d left, %d added, %v", id.Principal, d.Tier(), d.Limit(0).Remaining, added, err)
	}}}}, core.Limit{Name: "a", Tiers: core.Tiers{"pro": core.TokenBucket(5, time.Hour)}})
	p.want("handler", p.ask("GET", "/x", "X-User", "u", "X-Tier", "pro").body, "u of pro, 4 left, 3 added, <nil>")
	p.want("after what was added", p.statuses(2, "GET", "/x", "X-User", "u", "X-Tier", "pro"), "200 429")
}
