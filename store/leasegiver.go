package store

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidegate/tidegate/core"
)

// A giver returns units that nobody has used, in the background. It sleeps as long as
// no key is leased.
type giver struct {
	lease *Lease
	awake atomic.Bool
	bell  chan struct{}
	stop  chan struct{}
	done  chan struct{}
	mu    sync.Mutex
	due   []core.Refund
}

const (
	giveAtOnce  = 256         // refunds in one call
	giveTimeout = time.Second // for a give-back that nobody waits for
)

func (g *giver) start(l *Lease) {
	g.lease = l
	g.bell, g.stop, g.done = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	go g.run()
}

// wake has the giver look after a key that is leased.
func (g *giver) wake() {
	if g.awake.Load() {
		return
	}
	select {
	case g.bell <- struct{}{}:
	default:
	}
}

func (g *giver) run() {
	defer close(g.done)
	for {
		select {
		case <-g.stop:
			return
		case <-g.bell:
		}
		g.awake.Store(true)
		for g.work() {
			select {
			case <-g.stop:
				return
			case <-time.After(g.lease.config.Horizon / 2):
			}
		}
	}
}

// work gives back what is due, and reports whether there is more to look after.
func (g *giver) work() bool {
	busy := g.lease.sweep(false)
	if !busy {
		g.awake.Store(false)
		if busy = g.lease.sweep(false); busy { // a key that came between the two
			g.awake.Store(true)
		}
	}
	g.giveDue()
	return busy
}

func (g *giver) close() {
	close(g.stop)
	<-g.done
}

// owe has what is held of a key given back soon. Requires the key's lock. There is a
// bound on what may wait: beyond it, units stay charged.
func (g *giver) owe(h *holding, now int64) {
	g.mu.Lock()
	if len(g.due) < g.lease.config.MaxKeys {
		g.due = h.retire(g.due, now)
	} else {
		h.drop()
	}
	g.mu.Unlock()
}

// add has refunds given back soon.
func (g *giver) add(list []core.Refund) {
	if len(list) == 0 {
		return
	}
	g.mu.Lock()
	g.due = append(g.due, list[:min(len(list), max(0, g.lease.config.MaxKeys-len(g.due)))]...)
	g.mu.Unlock()
	g.wake()
}

// forget takes a key off what is due, because it is being reset.
func (g *giver) forget(k *core.Key) {
	g.mu.Lock()
	g.due = slices.DeleteFunc(g.due, func(r core.Refund) bool { return r.Key == *k })
	g.mu.Unlock()
}

func (g *giver) giveDue() {
	g.mu.Lock()
	due := g.due
	g.due = nil
	g.mu.Unlock()
	for part := range slices.Chunk(due, giveAtOnce) {
		ctx, cancel := context.WithTimeout(context.Background(), giveTimeout)
		g.lease.giveBack(ctx, part)
		cancel()
	}
}

// sweep retires what has ended, or all there is, and forgets keys that nobody asks
// about. It reports whether any are left.
func (l *Lease) sweep(all bool) (busy bool) {
	now := l.now()
	forget := now - 5*l.times.horizon // by then a demand is a hundredth of what it was
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		for k, h := range s.keys {
			if h.held() && (all || now >= h.ends) {
				l.giver.owe(h, now)
			}
			if h.idle() && (all || h.seen <= forget && now >= h.holdOff.until) {
				delete(s.keys, k)
			}
		}
		busy = busy || len(s.keys) > 0
		s.mu.Unlock()
	}
	return busy
}

// giveBack returns units to the store. What is lost on the way stays charged.
func (l *Lease) giveBack(ctx context.Context, list []core.Refund) {
	if err := l.inner.Give(ctx, list); err != nil {
		l.config.OnError(err)
	}
}
