package memstore

import (
	"slices"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// where says where a key's state is, or would be.
type where uint8

const (
	inSlot   where = iota
	inVacant       // in a slot that the key will be given when it is charged
	inSketch
	inWide
	nowhere // no room: denied
)

// A pending is one charge of a call that is being decided.
type pending struct {
	shard    *shard
	index    int // of the shard
	hash     uint64
	at       where
	ref      slotRef
	evicts   bool // the vacancy is another key's
	sketch   *sketch
	same     int // an earlier charge of the same key, or -1
	blocked  int64
	granted  bool
	before   algo.State // as stored, or as the same key's last pending charge leaves it
	after    algo.State
	asked    int64 // log: units wanted by this and earlier charges of the same key
	reserved int64 // log: bytes taken from the budget
}

// A job is the scratch of one call. Jobs are reused.
type job struct {
	list   []pending
	order  []int // indexes of the shards to lock, ascending
	turns  []int // indexes of the charges, in the order in which they are decided
	sketch bool  // the overflow's lock is held
}

func (s *Store) hire(n int) *job {
	j, _ := s.work.Get().(*job)
	if j == nil {
		j = &job{}
	}
	if cap(j.list) < n {
		j.list = make([]pending, n, max(n, 8))
		j.order = make([]int, 0, max(n, 8))
		j.turns = make([]int, 0, max(n, 8))
	}
	j.list, j.order, j.turns, j.sketch = j.list[:n], j.order[:0], j.turns[:0], false
	return j
}

// decide decides charges as one, under the locks of all their shards.
func (s *Store) decide(charges []core.Charge, results []core.Result, now int64, commit bool) {
	j := s.hire(len(charges))
	j.takeTurns(charges)
	s.lock(j, charges)
	s.locate(j, charges, now)
	allowed := true
	for _, i := range j.turns {
		s.judge(j, i, &charges[i], &results[i], now)
		if !j.list[i].granted && !charges[i].Shadow {
			allowed = false
		}
	}
	if allowed && commit {
		s.commit(j, charges, results, now)
	} else {
		s.tellUnspent(j, charges, results, now, commit)
	}
	if commit {
		s.countDenials(j, charges, results, now)
	}
	s.unlock(j)
	clear(j.list) // keep no pointers
	s.work.Put(j)
}

// takeTurns has the charges that count decided before the shadow charges, which
// may only have what those leave.
func (j *job) takeTurns(charges []core.Charge) {
	for _, shadow := range [...]bool{false, true} {
		for i := range charges {
			if charges[i].Shadow == shadow {
				j.turns = append(j.turns, i)
			}
		}
	}
}

// lock takes the locks of the charges' shards, in ascending order: calls that share
// shards cannot wait for each other in a circle.
func (s *Store) lock(j *job, charges []core.Charge) {
	for i := range charges {
		p := &j.list[i]
		p.shard, p.index, p.hash = s.place(&charges[i].Key)
		if at, found := slices.BinarySearch(j.order, p.index); !found {
			j.order = slices.Insert(j.order, at, p.index)
		}
	}
	for _, i := range j.order {
		s.shards[i].mu.Lock()
	}
}

func (s *Store) unlock(j *job) {
	if j.sketch {
		s.over.mu.Unlock()
	}
	for _, i := range j.order {
		s.shards[i].mu.Unlock()
	}
}

// lockSketches takes the lock of all sketches, which comes after every shard's.
func (s *Store) lockSketches(j *job) {
	if !j.sketch {
		s.over.mu.Lock()
		j.sketch = true
	}
}
