package core

import (
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
