package redisstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tidegate/tidegate/core"
)

// A lane is the way to one server. Requests that come while others are on their way
// wait, and then travel together: the busier a server is, the more of them share a
// trip. A request that comes alone leaves at once, on its own goroutine.
type lane struct {
	send    func(batch []*request)
	timeout time.Duration
	apart   bool // trips may outlast the timeout, so nobody's goroutine makes them

	mu      sync.Mutex
	queue   []*request
	flights int
	limit   int // of flights at once
}

const (
	maxBatch   = 256     // requests in one trip: a script that decides them takes a millisecond
	maxQueue   = 1 << 14 // requests that wait for one server
	maxFlights = 10
)

var (
	errFull    = errors.New("too many requests wait for the server")
	errLate    = errors.New("no answer in time")
	errWaiting = errors.New("the server is busy with earlier requests")
)

// join queues a request. It returns the batch that the caller is to send, if any.
func (l *lane) join(r *request) ([]*request, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) >= maxQueue {
		return nil, &core.StoreError{Kind: KindFull, Err: errFull}
	}
	l.queue = append(l.queue, r)
	if !l.ready() {
		return nil, nil
	}
	return l.board(), nil
}

// ready reports whether another flight is worth starting. The first leaves at once.
// Each one more must be twice as full: flights that run side by side share what
// waits, and a trip with half the passengers costs as much.
func (l *lane) ready() bool {
	return l.flights < l.limit && len(l.queue) >= 1<<l.flights
}

// board takes a batch off the queue, without those whose callers have left.
func (l *lane) board() []*request {
	n := min(len(l.queue), maxBatch)
	batch := make([]*request, 0, n)
	for _, r := range l.queue[:n] {
		if r.stage.CompareAndSwap(waiting, sent) {
			batch = append(batch, r)
		} else {
			r.free()
		}
	}
	rest := copy(l.queue, l.queue[n:])
	clear(l.queue[rest:])
	l.queue = l.queue[:rest]
	l.flights++
	return batch
}

// fly sends a batch. What has gathered meanwhile is sent by another goroutine, so
// that the caller of this one gets back to its own business.
func (l *lane) fly(batch []*request) {
	if len(batch) > 0 {
		l.send(batch)
	}
	if next := l.land(); next != nil {
		go l.flyOn(next)
	}
}

func (l *lane) flyOn(batch []*request) {
	for batch != nil {
		if len(batch) > 0 {
			l.send(batch)
		}
		batch = l.land()
	}
}

// land ends a flight, and returns the batch of the one that follows it.
func (l *lane) land() []*request {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flights--
	if !l.ready() {
		return nil
	}
	return l.board()
}

// start queues a request, and sends a batch if it is time for one: on a goroutine of
// its own, or of the caller's.
func (l *lane) start(r *request, here bool) error {
	batch, err := l.join(r)
	if err != nil {
		r.free()
		return err
	}
	switch {
	case batch == nil:
	case here && !l.apart:
		l.fly(batch)
	default:
		go l.flyOn(batch)
	}
	return nil
}

// wait returns when the request has been answered, its time is up or the caller's
// context has ended. Only after nil may the request be read, and must be freed.
func (l *lane) wait(ctx context.Context, r *request) error {
	select {
	case <-r.done:
		return nil
	default:
	}
	r.timer.Reset(l.timeout)
	defer r.timer.Stop()
	var kind string
	var cause error
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		kind, cause = KindCanceled, context.Cause(ctx)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			kind = KindTimeout
		}
	case <-r.timer.C:
		kind, cause = KindTimeout, errLate
	}
	if r.stage.CompareAndSwap(waiting, gone) {
		if kind == KindTimeout && cause == errLate {
			cause = errWaiting
		}
		return &core.StoreError{Kind: kind, Err: cause}
	}
	if r.stage.CompareAndSwap(sent, gone) {
		return &core.StoreError{Kind: kind, MaybeSpent: r.commit, Err: cause}
	}
	<-r.done // the answer came at the same moment
	return nil
}
