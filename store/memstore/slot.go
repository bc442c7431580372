package memstore

import (
	"sync"
	"sync/atomic"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// groupSlots is how many keys stand together. Their first words fill one cache
// line, so looking for a key reads one line, and one more when it is there.
const groupSlots = 8

// groupBytes is the size of a group: 40 bytes a key.
const groupBytes = groupSlots * 40

// A group is eight slots. It has no pointers. Fields are written under the
// shard's lock and may be read without it.
type group struct {
	tags [groupSlots]atomic.Uint64 // first half of the key; 0: never used
	body [groupSlots]body
}

type body struct {
	lo   atomic.Uint64 // second half of the key
	a, b atomic.Int64  // algo.State
	meta atomic.Uint64 // quota id << 32 | version; the version is odd while it is being written
}

// A shard is one table and the states that do not fit it, under one lock.
type shard struct {
	mu     sync.Mutex
	groups []group
	wide   map[identity]*wide
	_      [24]byte // shards are written by different cores
}

// A slotRef names a slot. The zero slotRef names none.
type slotRef struct {
	group *group
	index int
}

func (r slotRef) ok() bool { return r.group != nil }

func (r slotRef) body() *body { return &r.group.body[r.index] }

// tagOf returns the first half of a key as it stands in a group, where 0 is taken.
func tagOf(k *core.Key) uint64 {
	if k.Hi == 0 {
		return 1
	}
	return k.Hi
}

// candidates returns the two groups in which a key of this hash may stand.
func (sh *shard) candidates(h uint64) (*group, *group) {
	n := uint64(len(sh.groups))
	first := (h & (1<<28 - 1)) * n >> 28
	second := (h >> 28 & (1<<28 - 1)) * n >> 28
	if second == first {
		second = (first + 1) % n
	}
	return &sh.groups[first], &sh.groups[second]
}

// find returns the key's slot. Without the lock the answer is a hint.
func (sh *shard) find(k *core.Key, h uint64) slotRef {
	tag := tagOf(k)
	first, second := sh.candidates(h)
	for i := range first.tags {
		if first.tags[i].Load() == tag && first.body[i].lo.Load() == k.Lo {
			return slotRef{first, i}
		}
	}
	for i := range second.tags {
		if second.tags[i].Load() == tag && second.body[i].lo.Load() == k.Lo {
			return slotRef{second, i}
		}
	}
	return slotRef{}
}

// holds reports whether the slot is still the key's.
func (r slotRef) holds(k *core.Key) bool {
	return r.group.tags[r.index].Load() == tagOf(k) && r.body().lo.Load() == k.Lo
}

// state returns what the slot holds. q is the quota that it most likely was
// written under.
func (r slotRef) state(q *algo.Quota) algo.State {
	b := r.body()
	return stateOf(b.a.Load(), b.b.Load(), uint32(b.meta.Load()>>32), q)
}

func stateOf(a, b int64, id uint32, q *algo.Quota) algo.State {
	switch {
	case id == 0:
		return algo.State{}
	case q != nil && id == q.ID():
		return algo.State{A: a, B: b, Under: q}
	}
	under := algo.ByID(id)
	if q != nil && under.Algorithm() != q.Algorithm() {
		return algo.State{} // a limit whose algorithm has changed starts anew
	}
	return algo.State{A: a, B: b, Under: under}
}

// snapshot reads the slot without the lock. ok is false when it was being
// written, or is no longer the key's.
func (r slotRef) snapshot(k *core.Key, q *algo.Quota) (s algo.State, ok bool) {
	b := r.body()
	meta := b.meta.Load()
	if meta&1 != 0 || !r.holds(k) {
		return s, false
	}
	s = stateOf(b.a.Load(), b.b.Load(), uint32(meta>>32), q)
	return s, b.meta.Load() == meta
}

// write stores a state. The caller holds the lock.
func (r slotRef) write(s algo.State) {
	b := r.body()
	version := b.begin()
	b.a.Store(s.A)
	b.b.Store(s.B)
	b.end(version, s.Under)
}

// claim gives the slot to another key. The caller holds the lock.
func (r slotRef) claim(k *core.Key, s algo.State) {
	b := r.body()
	version := b.begin()
	r.group.tags[r.index].Store(tagOf(k))
	b.lo.Store(k.Lo)
	b.a.Store(s.A)
	b.b.Store(s.B)
	b.end(version, s.Under)
}

func (b *body) begin() uint32 {
	meta := b.meta.Load()
	b.meta.Store(meta | 1)
	return uint32(meta)
}

func (b *body) end(version uint32, under *algo.Quota) {
	id := uint32(0)
	if under != nil {
		id = under.ID()
	}
	b.meta.Store(uint64(id)<<32 | uint64(version+2)&^1)
}
