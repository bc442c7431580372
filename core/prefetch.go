package core

import "github.com/tidegate/tidegate/core/algo"

// prefetchOf returns the share of a quota that may be held for a key of the rule.
func prefetchOf(r *rule, table float64, p *problems) float64 {
	path := limitPath(r.index) + ".prefetch"
	obstacle := r.unleasable()
	switch {
	case r.Prefetch == NoPrefetch:
		return 0
	case r.Prefetch < 0 || r.Prefetch > 1 || r.Prefetch != r.Prefetch:
		p.add(path+".max_fraction", "is %v, want a share above 0 and at most 1", r.Prefetch)
		return 0
	case r.Prefetch > 0 && obstacle != "":
		p.add(path, "is set, and %s; leave it out", obstacle)
		return 0
	case r.Prefetch > 0:
		return r.Prefetch
	case obstacle != "" || r.policy == FailClosed:
		return 0 // exact, unless they ask
	}
	return table
}

// unleasable says why units of the limit cannot be held by a process, or "".
func (r *rule) unleasable() string {
	switch {
	case r.Exceeded == Wait:
		return "a limit that makes requests wait is decided in one place"
	case len(r.Count) > 0:
		return "a limit that counts by outcome gives units back one by one"
	case r.Penalty != nil:
		return "denials of a limit with a penalty are counted in one place"
	}
	for _, q := range r.quotas {
		if q != nil && q.Algorithm() != algo.TokenBucket && q.Algorithm() != algo.FixedWindow {
			return "only a token-bucket or a fixed-window can be held in parts"
		}
	}
	return ""
}
