package core

import (
	"encoding/binary"
	"sync"

	"github.com/tidegate/tidegate/core/algo"
)

// A Bill is what a request of one route and tier is charged for at one point on
// its way: a line for each limit that counts it, in the table's order. Requests
// of the same route and tier share one Bill until the table changes, so what can
// be worked out from its limits alone is worked out once; see [Bill.Memo].
type Bill struct {
	tier  string
	lines []line
	memo  sync.Map
}

// A line is one limit and what it gives to the bill's tier.
type line struct {
	rule  *rule
	quota *algo.Quota
}

func newBill(rules []*rule, tier int, name string, set int) *Bill {
	b := &Bill{tier: name}
	for _, r := range rules {
		if set&(1<<r.Stage) != 0 && r.quotas[tier] != nil {
			b.lines = append(b.lines, line{r, r.quotas[tier]})
		}
	}
	return b
}

// A remainder is the lines that a bill is left without, as numbers of their places.
type remainder string

// without returns the bill less what l has charged already, in outer or before it.
func (b *Bill) without(l *Limiter, outer *Decision) *Bill {
	var gone []byte
	for i := range b.lines {
		if outer.charged(l, b.lines[i].rule.Name) {
			gone = binary.AppendUvarint(gone, uint64(i))
		}
	}
	if gone == nil {
		return b
	}
	key := remainder(gone)
	if rest, ok := b.Recall(key).(*Bill); ok {
		return rest
	}
	rest := &Bill{tier: b.tier}
	for _, ln := range b.lines {
		if !outer.charged(l, ln.rule.Name) {
			rest.lines = append(rest.lines, ln)
		}
	}
	return b.Memo(key, rest).(*Bill)
}

// charged reports whether the limit of l counted the request, in d or before it.
func (d *Decision) charged(l *Limiter, limit string) bool {
	for ; d != nil; d = d.request.Outer {
		if d.limiter == l && d.index(limit) >= 0 {
			return true
		}
	}
	return false
}

// Memo remembers v under key, and returns it or what was remembered before. It must
// depend on nothing but the key and the bill's limits.
func (b *Bill) Memo(key, v any) any {
	v, _ = b.memo.LoadOrStore(key, v)
	return v
}

// Recall returns what Memo remembers under key, or nil.
func (b *Bill) Recall(key any) any {
	v, _ := b.memo.Load(key)
	return v
}
