package memstore

import (
	"errors"

	"github.com/tidegate/tidegate/core"
)

var (
	errFull      = &core.StoreError{Kind: "full", Err: errors.New("memstore: no memory left for another block")}
	errNoPenalty = errors.New("memstore: Block on a limit without a penalty")
)

// Stats says how full a store is, and what it was forced to.
type Stats struct {
	// Keys that differ from fresh ones and are counted one by one.
	Keys int

	// Bytes in use by tables, logs, records and sketches. It never passes 64 ×
	// MaxKeys.
	Bytes int64

	// Evicted counts keys that gave way to others while they owed something.
	Evicted int64

	// Overflowed counts charges that went to a sketch because their key found no slot.
	Overflowed int64

	// Refused counts charges and denial records for which there was no memory.
	Refused int64
}

// Stats looks at every slot, which takes some milliseconds for a million keys,
// and holds up nobody.
func (s *Store) Stats() Stats {
	st := Stats{
		Bytes:      s.room.used.Load() + s.tableBytes(),
		Evicted:    s.stats.evicted.Load(),
		Overflowed: s.stats.overflowed.Load(),
		Refused:    s.stats.refused.Load(),
	}
	now := s.now()
	for i := range s.shards {
		sh := &s.shards[i]
		for g := range sh.groups {
			st.Keys += sh.groups[g].live(now)
		}
		sh.mu.Lock()
		for _, w := range sh.wide {
			if !w.idle(now) {
				st.Keys++
			}
		}
		sh.mu.Unlock()
	}
	return st
}

func (s *Store) tableBytes() int64 {
	return int64(len(s.shards)) * int64(len(s.shards[0].groups)) * groupBytes
}

func (g *group) live(now int64) (n int) {
	for i := range g.tags {
		b := &g.body[i]
		meta := b.meta.Load()
		st := stateOf(b.a.Load(), b.b.Load(), uint32(meta>>32), nil)
		if st.Under != nil && b.meta.Load() == meta && !st.Under.Fresh(st, now) {
			n++
		}
	}
	return n
}
