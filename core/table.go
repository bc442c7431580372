package core

import (
	"fmt"
	"github.com/tidegate/tidegate/core/algo"
	"slices"
	"strings"
)

// A table is a compiled [Config]: immutable but for its cache of routes. A
// request loads it once and sees it whole.
type table struct {
	limits      []*rule
	byName      map[string]*rule
	tiers       []string // the last one, "", is a caller of no known tier
	defaultTier int
	exempt      []exemption
	hasher      *hasher
	routes      routeCache
}

// A rule is a compiled [Limit].
type rule struct {
	Limit
	index    int
	parts    []KeyPart
	seeds    []sum128 // secrets of header and value parts
	hash     sum128   // of name and algorithm
	match    []Pattern
	except   []Pattern
	quotas   []*algo.Quota // by tier; nil is unlimited
	solo     []*Bill       // by tier: this limit alone
	policy   FailurePolicy
	isHidden bool
	cost     int64
	prefetch float64
}

func compile(c Config) (*table, error) {
	var p problems
	t := &table{byName: map[string]*rule{}, routes: routeCache{bound: maxCachedRoutes}}
	t.compileTiers(c, &p)
	if c.Limits == nil {
		p.add("limits", "is missing, want a list of limits, or an empty one to say none")
	}
	if c.IPv6Prefix != 0 && (c.IPv6Prefix < 32 || c.IPv6Prefix > 128) {
		p.add("client.ipv6_prefix", "is %d, want 32 to 128", c.IPv6Prefix)
	}
	t.compileExemptions(c, &p)
	t.hasher = newHasher(c.Secret, orDefault(c.IPv6Prefix, 64))
	for i := range c.Limits {
		t.compileLimit(i, c.Limits[i], c, &p)
	}
	return t, p.err()
}

func limitPath(i int) string { return indexed("limits", i) }

func indexed(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

func (t *table) compileTiers(c Config, p *problems) {
	names := slices.Clone(c.Tiers)
	if len(names) == 0 {
		for _, l := range c.Limits {
			for name := range l.Tiers {
				if name != "*" && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
		slices.Sort(names)
	}
	for i, name := range names {
		if name == "" || name == "*" {
			p.add(fmt.Sprintf("tiers[%d]", i), "is %q, want a name", name)
		}
		if slices.Contains(names[:i], name) {
			p.add(fmt.Sprintf("tiers[%d]", i), "repeats %q, want each tier once", name)
		}
	}
	t.tiers = append(names, "")
	t.defaultTier = len(names)
	switch {
	case c.DefaultTier != "":
		if t.defaultTier = slices.Index(names, c.DefaultTier); t.defaultTier < 0 {
			p.add("default_tier", "is %q, want one of the tiers (%s)", c.DefaultTier, strings.Join(names, ", "))
			t.defaultTier = 0
		}
	case len(c.Tiers) > 0:
		t.defaultTier = 0
	}
}

func compilePatterns(path string, texts []string, p *problems) []Pattern {
	var list []Pattern
	for i, text := range texts {
		pattern, err := ParsePattern(text)
		if err != nil {
			p.add(fmt.Sprintf("%s[%d]", path, i), "%v", err)
			continue
		}
		list = append(list, pattern)
	}
	return list
}

func (t *table) compileLimit(i int, l Limit, c Config, p *problems) {
	path := limitPath(i)
	if err := validName(l.Name); err != nil {
		p.add(path+".name", "%v", err)
	} else if other, found := t.byName[l.Name]; found {
		p.add(path+".name", "is %q, which limits[%d] is called too; want unique names", l.Name, other.index)
	}
	r := &rule{Limit: l, index: i, parts: l.keys(), isHidden: l.hidden(), cost: orDefault(l.Cost, 1)}
	r.match = compilePatterns(path+".match", l.Match, p)
	r.except = compilePatterns(path+".except", l.Except, p)
	r.policy = orDefault(orDefault(l.StoreFailure, c.Failure), FailOpen)
	checkKey(path, l, r.parts, p)
	checkActions(path, l, p)
	t.compileQuotas(path, r, p)
	r.prefetch = prefetchOf(r, c.Prefetch, p)
	r.hash = sip(t.hasher.derive("limit", l.Name), r.stateName())
	r.seeds = make([]sum128, len(r.parts))
	for j, part := range r.parts {
		r.seeds[j] = t.hasher.derive("part", canonicalPart(part))
	}
	for tier, name := range t.tiers {
		r.solo = append(r.solo, newBill([]*rule{r}, tier, name, int(BothStages)))
	}
	t.limits = append(t.limits, r)
	if _, found := t.byName[l.Name]; !found {
		t.byName[l.Name] = r
	}
}

// canonicalPart spells a part so that header names compare without case.
func canonicalPart(p KeyPart) string {
	if p.kind == partHeader {
		return strings.ToLower(p.String())
	}
	return p.String()
}

// stateName names what the limit's keys store. A limit whose algorithm changes
// starts anew: the old state would mean something else.
func (r *rule) stateName() string {
	name := r.algorithm().String()
	for _, q := range r.quotas {
		if q != nil && q.Wide() {
			return name + "/wide"
		}
	}
	return name
}

// tier returns the index of the caller's tier.
func (t *table) tier(id Identity) int {
	if id.Principal == "" {
		return t.defaultTier
	}
	for i, name := range t.tiers[:len(t.tiers)-1] {
		if name == id.Tier {
			return i
		}
	}
	return t.defaultTier
}
