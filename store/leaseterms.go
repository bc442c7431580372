package store

import (
	"sync/atomic"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// terms are what the limit of a charge may have.
type terms struct {
	quota *algo.Quota // by which the store decides
	most  int64       // units that may be held here; 0: none
}

// leasable reports whether a charge may be paid by units that are held: those are
// worth something now, and nothing later.
func leasable(c *core.Charge) bool {
	return c.Prefetch > 0 && c.Cost > 0 && c.Extra == 0 && c.MaxDelay == 0 && c.Slot == 0 &&
		c.Penalty == nil && !c.Shadow
}

// terms returns the terms of a charge's limit.
func (l *Lease) terms(c *core.Charge) terms {
	exact := terms{quota: c.Quota}
	if !(c.Prefetch > 0) || c.Penalty != nil || c.Shadow || c.Slot != 0 {
		return exact
	}
	a := c.Quota.Algorithm()
	if a != algo.TokenBucket && a != algo.FixedWindow {
		return exact
	}
	// A hair more, lest 0.29 of 100 become 28.
	most := int64(min(1, c.Prefetch) * float64(c.Quota.Capacity()) * (1 + 1e-12))
	t := terms{quota: c.Quota, most: min(most, c.Quota.Capacity())}
	if l.config.Strict && t.most > 0 && a == algo.TokenBucket {
		t = l.strictTerms(c, t.most)
	}
	if l.closed.Load() {
		t.most = 0
	}
	return t
}

// A strictKey names a quota and how much of it each process may hold.
type strictKey struct {
	quota *algo.Quota
	most  int64
}

// strictTerms are a bucket's terms when what may be held is taken off the burst.
type strictTerms struct {
	quota *algo.Quota // nil: there is not that much burst
	small atomic.Bool // a cost came that fits into the quota, and not into this one
}

func (l *Lease) strictTerms(c *core.Charge, most int64) terms {
	key := strictKey{c.Quota, most}
	v, ok := l.strict.Load(key)
	if !ok {
		v, _ = l.strict.LoadOrStore(key, l.newStrictTerms(key))
	}
	s := v.(*strictTerms)
	if s.quota != nil && c.Cost > s.quota.Capacity() && c.Cost <= c.Quota.Capacity() {
		s.small.Store(true)
	}
	if s.quota == nil || s.small.Load() {
		return terms{quota: c.Quota}
	}
	return terms{quota: s.quota, most: most}
}

func (l *Lease) newStrictTerms(k strictKey) *strictTerms {
	spec := k.quota.Spec()
	n := int64(l.config.Instances)
	if k.most > (k.quota.Capacity()-1)/n {
		return &strictTerms{}
	}
	spec.Burst = k.quota.Capacity() - n*k.most
	q, err := algo.Compile(spec)
	if err != nil {
		return &strictTerms{} // cannot be told exactly in smaller numbers
	}
	return &strictTerms{quota: q}
}
