package redisstore

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// DefaultHold is the [core.Charge.Hold] of slots that say nothing.
const DefaultHold = 30 * time.Second

func holdOf(c *core.Charge) time.Duration {
	if c.Hold > 0 {
		return c.Hold
	}
	return DefaultHold
}

// slotName is a slot as the scripts know it: Lua's numbers do not hold 64 bits.
func slotName(slot uint64) string { return strconv.FormatUint(slot, 36) }

// A slot of a concurrency limit ends in Redis when its hold has passed, so that those
// of a process that died come free. The slots that this process holds are renewed
// three times in a hold, all of them in one trip for each caller's place.

// holds are the slots that this process has.
type holds struct {
	mu      sync.Mutex
	slots   map[slotKey]held
	running bool
	pausing time.Duration // until the next renewal, when it was last worked out
	sooner  chan struct{} // tells the renewing of a slot that cannot wait so long
	stop    chan struct{}
	stopped bool
}

type slotKey struct {
	name string // the Redis key
	slot uint64
}

type held struct {
	units int64
	hold  time.Duration
	group uint64
}

// keep notes the slots that a call was granted.
func (s *Store) keep(charges []core.Charge, results []core.Result, err error) {
	var failure *core.StoreError
	if err != nil && !(errors.As(err, &failure) && failure.Failed != nil) {
		return
	}
	for i := range charges {
		if !results[i].Granted && !charges[i].Shadow {
			return // nothing was taken
		}
	}
	for i := range charges {
		c, r := &charges[i], &results[i]
		if units := c.Cost + r.Extra; c.Quota.Algorithm() == algo.Concurrency && r.Granted && r.Receipt != (algo.Receipt{}) && units > 0 {
			s.holds.add(s, slotKey{s.name(&c.Key, formOf(c.Quota).letter), c.Slot}, held{units, holdOf(c), group(&c.Key)})
		}
	}
}

func (h *holds) add(s *Store, k slotKey, v held) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		return
	}
	if h.slots == nil {
		h.slots, h.stop, h.sooner = map[slotKey]held{}, make(chan struct{}), make(chan struct{}, 1)
	}
	h.slots[k] = v
	if h.running && v.hold/3 < h.pausing {
		h.pausing = v.hold / 3
		select {
		case h.sooner <- struct{}{}:
		default:
		}
	}
	if !h.running {
		h.running = true
		s.giving.Go(func() { h.renew(s) })
	}
}

// letGo forgets the slots that are being given back: they are renewed no more,
// whatever becomes of the call.
func (s *Store) letGo(refunds []core.Refund) {
	s.holds.mu.Lock()
	defer s.holds.mu.Unlock()
	for i := range refunds {
		f := &refunds[i]
		if f.Quota.Algorithm() == algo.Concurrency {
			delete(s.holds.slots, slotKey{s.name(&f.Key, formOf(f.Quota).letter), f.Slot})
		}
	}
}

// renew runs while anything is held.
func (h *holds) renew(s *Store) {
	for {
		wait := h.pause()
		if wait == 0 {
			return
		}
		select {
		case <-h.stop:
			return
		case <-h.sooner: // all are renewed now, and from then on more often
		case <-time.After(wait):
		}
		for _, group := range h.groups() {
			args := append([]any{"evalsha", s.scripts.renew.sha, len(group)}, renewArgs(group)...)
			_, _ = s.run(context.Background(), s.scripts.renew, args) // or else at the next turn
		}
	}
}

// pause returns how long until the next renewal is due, or 0 when nothing is held any
// more and the renewing ends.
func (h *holds) pause() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	var shortest time.Duration
	for _, v := range h.slots {
		if shortest == 0 || v.hold < shortest {
			shortest = v.hold
		}
	}
	if shortest == 0 {
		h.running = false
	}
	h.pausing = shortest / 3
	return h.pausing
}

// groups returns the slots held, by place and by key.
func (h *holds) groups() []map[string]map[uint64]held {
	h.mu.Lock()
	defer h.mu.Unlock()
	byGroup := map[uint64]map[string]map[uint64]held{}
	for k, v := range h.slots {
		g := byGroup[v.group]
		if g == nil {
			g = map[string]map[uint64]held{}
			byGroup[v.group] = g
		}
		if g[k.name] == nil {
			g[k.name] = map[uint64]held{}
		}
		g[k.name][k.slot] = v
	}
	var list []map[string]map[uint64]held
	for _, g := range byGroup {
		list = append(list, g)
	}
	return list
}

// renewArgs returns the keys and arguments of renew.lua.
func renewArgs(group map[string]map[uint64]held) []any {
	var names, rest []any
	for name, slots := range group {
		names = append(names, name)
		rest = append(rest, len(slots))
		for slot, v := range slots {
			rest = append(rest, slotName(slot), v.units, v.hold.Microseconds())
		}
	}
	return append(names, rest...)
}

func (h *holds) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.stopped {
		h.stopped = true
		if h.stop != nil {
			close(h.stop)
		}
	}
}
