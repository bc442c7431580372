package core

import (
	"fmt"
	"testing"
	"time"
)

// Whatever route texts come along, the cache of routes has a bound, and what it does
// not remember is decided all the same.
func TestRoutesBeyondTheBoundAreDecidedAndNotRemembered(t *testing.T) {
	table, err := compile(Config{Limits: []Limit{{Name: "a", Match: []string{"/r/..."}, Quota: TokenBucket(1, time.Second)}}})
	if err != nil {
		t.Fatal(err)
	}
	table.routes.bound = 10
	for i := range 100 {
		p := table.plan(routeKey{Colons, "GET", fmt.Sprintf("/r/%d", i)})
		if got := len(p.bills[0][BothStages].lines); got != 1 {
			t.Fatalf("route %d: %d limits, want 1", i, got)
		}
	}
	if got := len(*table.routes.plans.Load()); got != 10 {
		t.Errorf("%d routes remembered, want 10", got)
	}
	a := table.plan(routeKey{Colons, "GET", "/r/1"})
	if table.plan(routeKey{Colons, "GET", "/r/1"}) != a {
		t.Error("a remembered route was worked out again")
	}
}

func TestKeysOfOneCallerShareATag(t *testing.T) {
	table, err := compile(Config{Secret: []byte("s"), Limits: []Limit{
		{Name: "principal", Quota: TokenBucket(1, time.Second)},
		{Name: "pair", Keys: Keys(ByRoute, ByIP, ByPrincipal), Quota: TokenBucket(1, time.Second)},
		{Name: "ip", Key: ByIP, Quota: TokenBucket(1, time.Second)},
		{Name: "route", Key: ByRoute, Quota: TokenBucket(1, time.Second)},
		{Name: "global", Key: Global, Quota: TokenBucket(1, time.Second)},
		{Name: "header", Keys: Keys(ByRoute, ByHeader("A")), Quota: TokenBucket(1, time.Second)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	keys := func(principal string) map[string]Key {
		k := keyer{table: table, request: &Request{Identity: Identity{Principal: principal}, Source: fixedSource("v")}}
		all := map[string]Key{}
		for _, r := range table.limits {
			all[r.Name] = k.key(r)
		}
		return all
	}
	a, b, anonymous := keys("a"), keys("b"), keys("")
	if a["principal"].Tag != a["pair"].Tag || a["principal"].Tag == b["principal"].Tag {
		t.Error("a caller's keys do not share a tag of their own")
	}
	if anonymous["principal"].Tag != anonymous["ip"].Tag || anonymous["pair"].Tag != anonymous["ip"].Tag {
		t.Error("an anonymous caller's tag is not the address's")
	}
	if a["route"].Tag == a["global"].Tag || a["route"].Tag != table.byName["route"].hash.hi {
		t.Error("keys of nobody are not tagged by their limit")
	}
	if a["header"].Tag == 0 || a["header"].Tag == a["route"].Tag {
		t.Error("a header's key is not tagged by its value")
	}
	seen := map[Key]string{}
	for _, caller := range []map[string]Key{a, b} {
		for name, key := range caller {
			if other, found := seen[Key{Hi: key.Hi, Lo: key.Lo}]; found && other != name {
				t.Errorf("%s and %s share a key", name, other)
			}
			seen[Key{Hi: key.Hi, Lo: key.Lo}] = name
		}
	}
}
