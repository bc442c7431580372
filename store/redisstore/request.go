package redisstore

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// A request is charges that one script decides as one, on their way to a server. It
// keeps copies: the caller may leave, and takes its slices along.
type request struct {
	charges []core.Charge
	results []core.Result
	names   []string      // the Redis key of each charge's state
	commit  bool          // a take; else a look
	part    bool          // others are decided elsewhere, and may undo it
	unspent []core.Result // of a part: the results as they are when it is undone
	plain   bool          // asks for nothing but costs, of keys that differ
	err     error
	stage   atomic.Int32
	done    chan struct{}
	timer   *time.Timer
}

// The stages of a request. Whoever moves it on may be the caller or the flight.
const (
	waiting  int32 = iota // in a queue
	sent                  // on its way
	gone                  // the caller has left
	answered              // results or err are there
)

var requests = sync.Pool{New: func() any {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return &request{done: make(chan struct{}, 1), timer: t}
}}

// newRequest returns a request for the charges whose indexes are given, or for all
// of them.
func (s *Store) newRequest(charges []core.Charge, which []int, commit bool) *request {
	r := requests.Get().(*request)
	r.stage.Store(waiting)
	r.commit, r.part, r.err = commit, which != nil, nil
	if which == nil {
		r.charges = append(r.charges[:0], charges...)
	} else {
		r.charges = r.charges[:0]
		for _, i := range which {
			r.charges = append(r.charges, charges[i])
		}
	}
	r.results = append(r.results[:0], make([]core.Result, len(r.charges))...)
	r.names = r.names[:0]
	for i := range r.charges {
		r.names = append(r.names, s.name(&r.charges[i].Key, formOf(r.charges[i].Quota).letter))
	}
	r.plain = r.isPlain()
	return r
}

func (r *request) isPlain() bool {
	for i := range r.charges {
		c := &r.charges[i]
		if c.Extra > 0 || c.MaxDelay > 0 || c.Shadow || c.Penalty != nil || c.Quota.Spec().Shaper || c.Quota.Algorithm() == algo.Concurrency {
			return false
		}
		for j := range i {
			if r.names[j] == r.names[i] {
				return false
			}
		}
	}
	return true
}

// alike reports whether two plain requests ask for the same.
func (r *request) alike(other *request) bool {
	if !r.plain || !other.plain || !r.commit || !other.commit || len(r.charges) != len(other.charges) {
		return false
	}
	for i := range r.charges {
		if r.names[i] != other.names[i] || r.charges[i].Cost != other.charges[i].Cost || r.charges[i].Quota != other.charges[i].Quota {
			return false
		}
	}
	return true
}

// free puts a request away that nobody will touch again.
func (r *request) free() {
	clear(r.charges) // keep no pointers
	requests.Put(r)
}

// finish tells the caller that the request has been answered, and reports whether
// the caller is still there.
func (r *request) finish() bool {
	if r.stage.CompareAndSwap(sent, answered) {
		r.done <- struct{}{}
		return true
	}
	return false
}
