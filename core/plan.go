package core

import (
	"strings"
	"sync"
	"sync/atomic"
)

// applies reports whether the rule counts requests of a route.
func (r *rule) applies(at place) bool {
	if r.Manual {
		return false
	}
	if len(r.match) > 0 && !matchesAny(r.match, at) {
		return false
	}
	return !matchesAny(r.except, at)
}

func matchesAny(patterns []Pattern, at place) bool {
	if at.path == "" {
		return false // no route serves the request
	}
	for _, p := range patterns {
		if p.matches(at) {
			return true
		}
	}
	return false
}

// A routeKey is a route as a framework names it.
type routeKey struct {
	syntax        RouteSyntax
	method, route string
}

// A plan is what a table has for one route.
type plan struct {
	hash   sum128 // of the canonical route, as a key's part
	exempt []int  // exemptions whose match fits
	bills  [][stageSets]*Bill
}

// stageSets is the number of sets of stages: bit 1 for main, bit 2 for early.
const stageSets = 4

// A routeCache remembers the plan of each route. Frameworks have a fixed set of
// routes; the bound is for whatever else may come along.
type routeCache struct {
	mu    sync.Mutex
	plans atomic.Pointer[map[routeKey]*plan]
	bound int
}

// maxCachedRoutes is well above the routes, times methods, of any program.
const maxCachedRoutes = 1 << 14

func (t *table) plan(k routeKey) *plan {
	if !methods[k.method] {
		k.method = "OTHER"
	}
	if plans := t.routes.plans.Load(); plans != nil {
		if p := (*plans)[k]; p != nil {
			return p
		}
	}
	return t.addPlan(k)
}

func (t *table) addPlan(k routeKey) *plan {
	p := t.makePlan(canonicalRoute(k.syntax, k.method, k.route))
	t.routes.mu.Lock()
	defer t.routes.mu.Unlock()
	next := map[routeKey]*plan{}
	if old := t.routes.plans.Load(); old != nil {
		if len(*old) >= t.routes.bound {
			return p
		}
		for key, plan := range *old {
			next[key] = plan
		}
	}
	k.method, k.route = strings.Clone(k.method), strings.Clone(k.route)
	next[k] = p
	t.routes.plans.Store(&next)
	return p
}

func (t *table) makePlan(at place) *plan {
	p := &plan{hash: t.hasher.hashRoute(at)}
	for i, e := range t.exempt {
		if len(e.match) == 0 || matchesAny(e.match, at) {
			p.exempt = append(p.exempt, i)
		}
	}
	var rules []*rule
	for _, r := range t.limits {
		if r.applies(at) {
			rules = append(rules, r)
		}
	}
	p.bills = make([][stageSets]*Bill, len(t.tiers))
	for tier, name := range t.tiers {
		for set := range stageSets {
			p.bills[tier][set] = newBill(rules, tier, name, set)
		}
	}
	return p
}
