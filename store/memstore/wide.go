package memstore

import (
	"sync/atomic"
	"unsafe"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// A wide is the state of a key that does not fit a slot: a log, and the denials
// of a limit with a penalty.
type wide struct {
	log     algo.Log
	slots   algo.Slots
	record  algo.Record
	penalty algo.Penalty // that the record was last written under
}

// wideBytes is what a wide costs besides its rings: itself, and its place in a map
// that is half empty after it has grown.
const wideBytes = int64(unsafe.Sizeof(wide{})) + 2*int64(unsafe.Sizeof(identity{})+unsafe.Sizeof((*wide)(nil))+1)

type identity struct{ hi, lo uint64 }

func identityOf(k *core.Key) identity { return identity{k.Hi, k.Lo} }

func (w *wide) bytes() int64 { return wideBytes + w.log.Bytes() + w.slots.Bytes() + w.record.Bytes() }

func (w *wide) idle(now int64) bool {
	return w.log.LogOwes(now) == 0 && w.slots.Held() == 0 && w.record.Idle(w.penalty, now)
}

// A budget is memory that may be taken, in bytes.
type budget struct {
	limit int64
	used  atomic.Int64
}

func (b *budget) take(n int64) bool {
	if b.used.Add(n) <= b.limit {
		return true
	}
	b.used.Add(-n)
	return false
}

func (b *budget) give(n int64) { b.used.Add(-n) }

// How many of its shard's wides a call looks at before it may add one: enough
// that the idle are found as fast as new ones come, and more when memory is short.
const (
	sweepStep = 2
	sweepHard = 64
)

// tidy forgets idle wides of a shard that a call may add to. It runs before the
// call looks at any wide. The map's order is random, so each call sees others.
func (s *Store) tidy(sh *shard, now int64) {
	n := sweepStep
	if s.room.used.Load() > s.room.limit-s.room.limit/16 {
		n = sweepHard
	}
	for id, w := range sh.wide {
		if n--; n < 0 {
			return
		}
		if w.idle(now) {
			s.forget(sh, id, w)
		}
	}
}

func (s *Store) forget(sh *shard, id identity, w *wide) {
	s.room.give(w.bytes())
	delete(sh.wide, id)
}

// growth returns how many bytes one more entry in the key's log, or one more holder,
// may take.
func growth(w *wide, q *algo.Quota) int64 {
	concurrent := q.Algorithm() == algo.Concurrency
	switch {
	case w == nil && concurrent:
		return wideBytes + (&algo.Slots{}).Grown()
	case w == nil:
		return wideBytes + (&algo.Log{}).Grown()
	case concurrent:
		return w.slots.Grown() - w.slots.Bytes()
	}
	return w.logFor(q).Grown() - w.log.Bytes()
}

// logFor returns the key's log, or an empty one when it was written by another
// algorithm: such a limit starts anew.
func (w *wide) logFor(q *algo.Quota) *algo.Log {
	if w == nil || w.log.Under() != nil && w.log.Under().Algorithm() != q.Algorithm() {
		return &algo.Log{}
	}
	return &w.log
}

// peek answers a charge against the key's log or slots; w may be nil.
func (w *wide) peek(c *core.Charge, now int64, want algo.Ask) algo.Outcome {
	if c.Quota.Algorithm() != algo.Concurrency {
		return c.Quota.PeekLog(w.logFor(c.Quota), now, want)
	}
	if w == nil {
		return c.Quota.PeekSlot(&algo.Slots{}, want)
	}
	return c.Quota.PeekSlot(&w.slots, want)
}

// take charges the key's log or slots.
func (w *wide) take(c *core.Charge, now int64) algo.Outcome {
	if c.Quota.Algorithm() == algo.Concurrency {
		return c.Quota.TakeSlot(&w.slots, c.Slot, c.Ask())
	}
	log := w.logFor(c.Quota)
	o := c.Quota.TakeLog(log, now, c.Ask())
	w.log = *log
	return o
}

// addWide returns the key's wide, made if need be. Its bytes are accounted for by
// the caller.
func (sh *shard) addWide(id identity) *wide {
	if w := sh.wide[id]; w != nil {
		return w
	}
	if sh.wide == nil {
		sh.wide = map[identity]*wide{}
	}
	w := &wide{}
	sh.wide[id] = w
	return w
}

// denied counts a denial against a limit with a penalty, and returns for how many
// microseconds the key is blocked. When there is no room the denial is not
// counted: the request is denied all the same.
func (s *Store) denied(sh *shard, c *core.Charge, now int64) int64 {
	id := identityOf(&c.Key)
	need := wideBytes + (&algo.Record{}).Grown()
	w := sh.wide[id]
	if w != nil {
		need = w.record.Grown() - w.record.Bytes()
	}
	if !s.room.take(need) {
		s.stats.refused.Add(1)
		return 0
	}
	var before int64
	if w != nil {
		before = w.bytes()
	} else {
		w = sh.addWide(id)
	}
	w.penalty = *c.Penalty
	blocked := w.record.Denied(*c.Penalty, now)
	s.room.used.Add(w.bytes() - before - need)
	return blocked
}
