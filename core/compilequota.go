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
			p.add(path+".limit", "is missing, want the field Quota, such as core.TokenBucket(10, time.Second), or Tiers")
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
	rest := r.compileRest(path, p)
	last := len(t.tiers) - 1
	strictest := r.Tiers["*"]
	r.quotas[last] = rest
	for i, tier := range t.tiers[:last] {
		quota, found := r.Tiers[tier]
		switch {
		case found:
			r.quotas[i] = r.compileQuota(path+".tiers."+tier, quota, p)
		case r.Tiers["*"].set:
			r.quotas[i] = rest
		default:
			p.add(path+".tiers", "has no quota for the tier %q, want every tier of the list or \"*\" for the rest", tier)
		}
		// A caller of no known tier has the strictest quota of all.
		if found && (!strictest.set || !quota.looser(strictest)) {
			strictest, r.quotas[last] = quota, r.quotas[i]
		}
	}
	r.checkOneAlgorithm(path, p)
	r.checkOneForm(path, p)
}

// compileRest compiles the quota of tiers that are not named.
func (r *rule) compileRest(path string, p *problems) *algo.Quota {
	rest, found := r.Tiers["*"]
	if !found {
		return nil
	}
	return r.compileQuota(path+".tiers.*", rest, p)
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

// checkOneForm refuses a sliding window with buckets for some tiers only. They are
// stored in another form than two counters, and a caller whose tier changes would
// start anew.
func (r *rule) checkOneForm(path string, p *problems) {
	first := ""
	for _, tier := range slices.Sorted(maps.Keys(r.Tiers)) {
		spec := r.Tiers[tier].spec // of no algorithm that has buckets when it is unlimited
		if spec.Algorithm != algo.SlidingWindow || spec.Limit == 0 {
			continue
		}
		if first == "" {
			first = tier
		}
		switch with, without := spec.Cells != 0, r.Tiers[first].spec.Cells == 0; {
		case with && without:
			p.add(path+".tiers."+tier, "has buckets and the tier %q has none, want them for every tier of a limit or for none", first)
			return
		case !with && !without:
			p.add(path+".tiers."+tier, "has no buckets and the tier %q has some, want them for every tier of a limit or for none", first)
			return
		}
	}
}

// inForm returns spec in the form of the limit's other quotas. A limit of 0 counts
// nothing, and stands beside either.
func (r *rule) inForm(spec algo.Spec) algo.Spec {
	if spec.Algorithm != algo.SlidingWindow || spec.Limit != 0 || spec.Cells != 0 {
		return spec
	}
	for _, q := range r.Tiers {
		spec.Cells = max(spec.Cells, q.spec.Cells)
	}
	return spec
}

func (r *rule) compileQuota(path string, q Quota, p *problems) *algo.Quota {
	if !q.set {
		p.add(path, "is missing, want a Quota such as core.TokenBucket(10, time.Second), or core.Unlimited")
		return nil
	}
	if q.unlimited {
		return nil
	}
	spec := r.inForm(q.spec)
	if spec.Algorithm == algo.LeakyBucket && spec.Queue > 0 && r.Exceeded == ExceededDefault {
		p.add(path+".queue", "a leaky-bucket that queues is not supported yet, write exceeded: reject for the meter without waiting")
		return nil
	}
	compiled, err := algo.Compile(spec)
	if err != nil {
		addAlgo(path, withoutDefaults(spec, err), p)
		return nil
	}
	if r.cost > compiled.Capacity() && spec.Limit != 0 {
		p.add(path+".limit", "holds at most %d units, below the cost of %d: no request could ever pass", compiled.Capacity(), r.cost)
	}
	return compiled
}

// withoutDefaults returns what is wrong with a quota as it was written. A burst that
// nobody set is the limit, and would be wrong a second time.
func withoutDefaults(spec algo.Spec, err error) error {
	if spec.Algorithm != algo.TokenBucket || spec.Burst != 0 || spec.Limit == 0 {
		return err
	}
	spec.Burst = 1
	if _, written := algo.Compile(spec); written != nil {
		return written
	}
	return err
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
