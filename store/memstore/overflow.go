package memstore

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/tidegate/tidegate/core/algo"
)

// An overflow counts the keys for which the table has no room. Each limit has a
// sketch for each quota that it gives, made when the first such key overflows.
type overflow struct {
	mu       sync.Mutex
	sketches map[string][]*sketch // by limit
	live     atomic.Int32         // how many there are, so that nobody locks for none
}

// A sketch is a count-min sketch (Cormode and Muthukrishnan, 2005) whose cells
// are states. Each key is counted in one cell of each row, and each of its cells
// has spent at least what it has: so the least of them is an upper bound. Cells are
// raised no further than that bound requires (conservative update: Estan and
// Varghese, 2002).
type sketch struct {
	quota   *algo.Quota
	cells   []uint64 // row by row; see algo.Quota.Pack
	width   uint64   // cells in a row
	freshAt int64    // by then, every cell equals a fresh one
}

const (
	sketchRows     = 4
	sketchMaxWidth = 64 << 10
	sketchMinWidth = 16
	cellBytes      = 8
)

func (sk *sketch) bytes() int64 { return int64(len(sk.cells)) * cellBytes }

// open returns the limit's sketch for a quota, and makes one if there is room: as
// wide as memory allows, but for an eighth of what is left, for others. It returns
// nil when there is no room. The caller holds the lock.
func (o *overflow) open(limit string, q *algo.Quota, room *budget) *sketch {
	for _, sk := range o.sketches[limit] {
		if sk.quota == q {
			return sk
		}
	}
	free := room.limit - room.used.Load()
	width := min(sketchMaxWidth, (free-free/8)/(sketchRows*cellBytes))
	if width < sketchMinWidth || !room.take(width*sketchRows*cellBytes) {
		return nil
	}
	sk := &sketch{quota: q, cells: make([]uint64, sketchRows*width), width: uint64(width)}
	if o.sketches == nil {
		o.sketches = map[string][]*sketch{}
	}
	o.sketches[limit] = append(o.sketches[limit], sk)
	o.live.Add(1)
	return sk
}

// estimate returns an upper bound of what a key of the limit has spent, and zero
// when no sketch knows of it. It forgets sketches that hold nothing any more. The
// caller holds the lock.
func (o *overflow) estimate(limit string, h uint64, q *algo.Quota, now int64, room *budget) algo.State {
	var most algo.State
	list := o.sketches[limit]
	kept := list[:0]
	for _, sk := range list {
		if now >= sk.freshAt {
			room.give(sk.bytes())
			o.live.Add(-1)
			continue
		}
		kept = append(kept, sk)
		most = q.Join(most, sk.estimate(h, now), now)
	}
	switch {
	case len(kept) == len(list):
	case len(kept) == 0:
		delete(o.sketches, limit)
	default:
		clear(list[len(kept):])
		o.sketches[limit] = kept
	}
	return most
}

func (sk *sketch) cell(row int, h uint64) *uint64 {
	// Each row sees other bits of the hash, mixed (splitmix64's constants).
	h += uint64(row+1) * 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	column, _ := bits.Mul64(h, sk.width)
	return &sk.cells[uint64(row)*sk.width+column]
}

// estimate returns the least of the key's cells.
func (sk *sketch) estimate(h uint64, now int64) algo.State {
	least := sk.quota.Unpack(*sk.cell(0, h), now)
	for row := 1; row < sketchRows && least.Under != nil; row++ {
		least = sk.quota.Meet(least, sk.quota.Unpack(*sk.cell(row, h), now), now)
	}
	return least
}

// raise makes every cell of the key spend at least s.
func (sk *sketch) raise(h uint64, s algo.State, now, resetAfter int64) {
	for row := range sketchRows {
		c := sk.cell(row, h)
		*c = sk.quota.Pack(sk.quota.Join(sk.quota.Unpack(*c, now), s, now), now)
	}
	// Cells round up, to whole seconds at the most.
	sk.freshAt = max(sk.freshAt, now+resetAfter+1_000_000)
}
