package redisstore

import (
	"context"

	"github.com/tidegate/tidegate/core"
)

// In a cluster the keys of different callers stand on different servers, and no
// script reaches both. Such a request is cut into parts: each is decided and charged
// by itself, at the same time, and when one denies, what the others took is given
// back before the caller is answered. So nobody is ever admitted above a limit; for
// the time of a round trip others may be denied by units that then come back.

// split returns the indexes of the charges of each caller.
func split(charges []core.Charge) [][]int {
	var parts [][]int
	for i := range charges {
		g, found := group(&charges[i].Key), false
		for p := range parts {
			if group(&charges[parts[p][0]].Key) == g {
				parts[p], found = append(parts[p], i), true
				break
			}
		}
		if !found {
			parts = append(parts, []int{i})
		}
	}
	return parts
}

// A part is one part under way.
type part struct {
	which   []int
	lane    *lane
	request *request // nil once it has been read, or left
	err     error
}

func (s *Store) decideParts(ctx context.Context, charges []core.Charge, results []core.Result, indexes [][]int, commit bool) error {
	parts := make([]part, len(indexes))
	for i, which := range indexes {
		parts[i] = part{which: which, request: s.newRequest(charges, which, commit)}
		p := &parts[i]
		if p.lane, p.err = s.laneOf(ctx, p.request.names[0]); p.err != nil {
			p.request.free()
			p.request = nil
		} else if p.err = p.lane.start(p.request, i == len(indexes)-1); p.err != nil {
			p.request = nil
		}
	}
	for i := range parts {
		parts[i].collect(ctx, results)
	}
	failed := gather(parts)
	if failed != nil && failed.Failed == nil { // every part
		freeParts(parts)
		return failed
	}
	denied := false
	for i := range parts {
		for _, at := range parts[i].which {
			denied = denied || parts[i].err == nil && !results[at].Granted && !charges[at].Shadow
		}
	}
	if commit && denied {
		s.takeBack(ctx, results, parts)
	} else {
		freeParts(parts)
	}
	if failed == nil {
		return nil
	}
	return failed
}

// gather makes one error of what the parts failed with, or nil. It lists the charges
// of those that failed, unless all did.
func gather(parts []part) *core.StoreError {
	var e *core.StoreError
	var failed []int
	all := true
	for i := range parts {
		if parts[i].err == nil {
			all = false
			continue
		}
		of := failure(parts[i].err)
		if e == nil {
			e = &core.StoreError{Kind: of.Kind, Err: of.Err}
		}
		e.MaybeSpent = e.MaybeSpent || of.MaybeSpent
		failed = append(failed, parts[i].which...)
	}
	if e != nil && !all {
		e.Failed = failed
	}
	return e
}

// collect waits for a part and puts its results where they belong.
func (p *part) collect(ctx context.Context, results []core.Result) {
	if p.request == nil {
		return
	}
	if p.err = p.lane.wait(ctx, p.request); p.err != nil {
		p.request = nil // it is the flight's now
		return
	}
	p.err = p.request.err
	for j, i := range p.which {
		results[i] = p.request.results[j]
	}
	if p.err != nil {
		p.request.free()
		p.request = nil
	}
}

// takeBack gives back what some parts took while others denied.
func (s *Store) takeBack(ctx context.Context, results []core.Result, parts []part) {
	var list []core.Refund
	for i := range parts {
		r := parts[i].request
		if r == nil {
			continue
		}
		if back := r.refunds(); back != nil {
			list = append(list, back...)
			for j, at := range parts[i].which {
				results[at] = r.unspent[j]
			}
		}
		r.free()
	}
	// The caller may have left. Its charges are due back all the same, and when they
	// are lost the answer stands: they were charged, which is the safe side.
	_ = s.Give(context.WithoutCancel(ctx), list)
}

func freeParts(parts []part) {
	for i := range parts {
		if parts[i].request != nil {
			parts[i].request.free()
		}
	}
}
