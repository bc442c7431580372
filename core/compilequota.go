package core

import (
	"errors"
	"github.com/tidegate/tidegate/core/algo"
	"maps"
	"slices"
	"strings"
)

func (t *table) compileQuotas(path string, r *rule, p *problems) {
	r.quotas = make([]*algo.Quota, len(t.tiers))
	if len(r.Tiers) == 0 {
		if !r.Quota.set {
			p.add(path+".limit", "is missing, want N/period such as 10/s, or a quota for each tier")
			return
		}
		q := r.compileQuota(path, r.Quota, p)
		for i := range r.quotas {
			r.quotas[i] = q
		}
		return
	}
	if r.Quota.set {
		p.add(path+".limit", "is set beside tiers, want one of them")
	}
	t.checkTierNames(path, r, p)
	strictest := Unlimited
	for i, tier := range t.tiers[:len(t.tiers)-1] {
		quota, found := r.Tiers[tier]
		if !found {
			if quota, found = r.Tiers["*"]; !found {
				p.add(path+".tiers", "has no quota for the tier %q, want every tier of the list or \"*\" for the rest", tier)
				continue
			}
		}
		r.quotas[i] = r.compileQuota(path+".tiers."+tierPath(r, tier), quota, p)
		if !quota.looser(strictest) {
			strictest = quota
			r.quotas[len(t.tiers)-1] = r.quotas[i]
		}
	}
	r.checkOneAlgorithm(path, p)
}

// tierPath returns the name under which the tier's quota stands in the file.
func tierPath(r *rule, tier string) string {
	if _, found := r.Tiers[tier]; found {
		return tier
	}
	return "*"
}

func (t *table) checkTierNames(path string, r *rule, p *problems) {
	var unknown []string
	for name := range r.Tiers {
		if name != "*" && !slices.Contains(t.tiers, name) || name == "" {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		p.add(path+".tiers."+name, "is not in the list of tiers (%s)", strings.Join(t.tiers[:len(t.tiers)-1], ", "))
	}
}

func (r *rule) checkOneAlgorithm(path string, p *problems) {
	want := r.algorithm()
	for _, tier := range slices.Sorted(maps.Keys(r.Tiers)) {
		q := r.Tiers[tier]
		if q.set && !q.unlimited && q.spec.Algorithm != want {
			p.add(path+".tiers."+tier, "is a %v and another tier a %v, want one algorithm in a limit", q.spec.Algorithm, want)
			return
		}
	}
}

func (r *rule) compileQuota(path string, q Quota, p *problems) *algo.Quota {
	if !q.set {
		p.add(path, "is missing, want N/period such as 10/s, or unlimited")
		return nil
	}
	if q.unlimited {
		return nil
	}
	spec := q.spec
	switch {
	case spec.Algorithm == algo.Concurrency:
		p.add(path+".limit", "concurrency is not supported yet")
		return nil
	case spec.Algorithm == algo.LeakyBucket && spec.Queue > 0 && r.Exceeded == ExceededDefault:
		p.add(path+".queue", "a leaky-bucket that queues is not supported yet, write exceeded: reject for the meter without waiting")
		return nil
	}
	compiled, err := algo.Compile(spec)
	if err != nil {
		addAlgo(path, err, p)
		return nil
	}
	if r.cost > compiled.Capacity() && spec.Limit != 0 {
		p.add(path+".limit", "holds at most %d units, below the cost of %d: no request could ever pass", compiled.Capacity(), r.cost)
	}
	return compiled
}

// addAlgo adds the field errors of package algo, below path.
func addAlgo(path string, err error, p *problems) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, inner := range joined.Unwrap() {
			addAlgo(path, inner, p)
		}
		return
	}
	var field *algo.FieldError
	if errors.As(err, &field) {
		p.add(path+"."+field.Field, "%s", field.Problem)
		return
	}
	p.add(path, "%v", err)
}
