package memstore

import (
	"github.com/tidegate/tidegate/core/algo"
)

// vacancy looks for a slot for a key that has none: a free one, in the emptier of
// its two groups, or one whose key gives way. The slots of other charges of the
// same call are taken. The caller holds the lock.
func (sh *shard) vacancy(h uint64, now int64, call []pending) (ref slotRef, evicts bool) {
	first, second := sh.candidates(h)
	free1, n1, least1 := first.survey(now, call)
	free2, n2, least2 := second.survey(now, call)
	switch {
	case n1 > 0 && n1 >= n2:
		return free1, false
	case n2 > 0:
		return free2, false
	case least1.ref.ok() && (!least2.ref.ok() || least1.owes <= least2.owes):
		return least1.ref, true
	}
	return least2.ref, least2.ref.ok()
}

// A debtor is a slot whose key owes little.
type debtor struct {
	ref  slotRef
	owes int64 // how long until it owes nothing, which orders debts across quotas
}

// survey finds a group's first free slot, how many it has, and the key that
// could give way at the least loss.
func (g *group) survey(now int64, call []pending) (free slotRef, n int, least debtor) {
	for i := range g.tags {
		ref := slotRef{g, i}
		s := ref.state(nil)
		if s.Under != nil && !s.Under.Fresh(s, now) {
			if owes, ok := negligible(s, now); ok && (!least.ref.ok() || owes < least.owes) && !taken(call, ref) {
				least = debtor{ref, owes}
			}
			continue
		}
		if taken(call, ref) {
			continue
		}
		if n == 0 {
			free = ref
		}
		n++
	}
	return free, n, least
}

func taken(call []pending, ref slotRef) bool {
	for i := range call {
		if call[i].ref == ref {
			return true
		}
	}
	return false
}

// negligible reports whether a key may be forgotten though it is not fresh: it
// regains at most one unit, and that is at most a sixteenth of its quota. It
// takes a new key to force this, which would have had a fresh quota anyway.
func negligible(s algo.State, now int64) (owes int64, ok bool) {
	if s.Under.Owes(s, now) > 1 || s.Under.Capacity() < 16 {
		return 0, false
	}
	_, o := s.Under.Peek(s, now, algo.Ask{})
	return o.ResetAfter, true
}
