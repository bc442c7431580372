package store

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// LeaseConfig configures a [Lease]. Its zero value is the recommended setting.
type LeaseConfig struct {
	// Horizon is the span whose demand a lease is meant for, and the time constant
	// by which demand is averaged. Units are held for at most twice as long. At least
	// 1ms. Default 100ms.
	Horizon time.Duration

	// HoldOff is how long the store is not asked again for a busy key that it has
	// denied, even when it told a shorter wait: never longer than a quarter of the
	// time in which the quota comes back. Negative: only for the told wait. Default
	// 50ms.
	HoldOff time.Duration

	// MaxKeys bounds how many keys are leased at a time, and so memory. Keys beyond it
	// are exact. Default 10 000.
	MaxKeys int

	// Strict takes what all instances together may hold off the burst of every leased
	// bucket, so that no span ever sees more than burst + rate·T. A limit whose largest
	// cost does not fit into what is left of the burst is not leased.
	Strict bool

	// Instances is how many processes lease from the store at most. Only for Strict,
	// which needs it.
	Instances int

	// OnError is told when units that nobody has used could not be given back; they
	// stay charged. It must not block. nil: nobody is told.
	OnError func(error)

	// Clock is the time. It is called concurrently. Default: the process's, which does
	// not go back.
	Clock func() time.Time
}

// The defaults of [LeaseConfig].
const (
	DefaultHorizon = 100 * time.Millisecond
	DefaultHoldOff = 50 * time.Millisecond
	DefaultLeases  = 10_000
)

func (c LeaseConfig) withDefaults() (LeaseConfig, error) {
	if c.Horizon == 0 {
		c.Horizon = DefaultHorizon
	}
	if c.Horizon < time.Millisecond {
		return c, fmt.Errorf("store: Horizon is %v, want at least 1ms", c.Horizon)
	}
	if c.HoldOff == 0 {
		c.HoldOff = DefaultHoldOff
	}
	if c.MaxKeys <= 0 {
		c.MaxKeys = DefaultLeases
	}
	if c.Strict && c.Instances < 1 {
		return c, fmt.Errorf("store: Instances is %d, and Strict wants to know how many there are", c.Instances)
	}
	if c.OnError == nil {
		c.OnError = func(error) {}
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	return c, nil
}

// A Lease holds units of busy keys in this process, and pays from them without a
// call. How many it asks for beside what is needed at the moment follows the demand
// of the last moments, so a slow key is exact and a busy one costs some ten calls a
// second, whatever its rate.
//
// Units are charged to the store before anybody has them here. So all processes
// together never admit more than the quota in the long run, and in any one span at
// most the units more that were held when it began: never above
// [core.Charge.Prefetch] of the quota, times the processes, and 0 when Strict. What
// is not used within two horizons is given back. A process that dies takes what it
// holds with it.
//
// Only token buckets and fixed windows are leased, by charges that name a Prefetch
// and have no penalty, shadow or wait; all others pass through. A fixed window's
// units end with the window, by the store's clock.
//
// A call whose charges are all held is decided here. Otherwise what is held is set
// aside, the store decides the rest in one call, and what was set aside is put back
// when it denies. Remaining, NextAfter and ResetAfter of a leased key are what this
// process knows. When the store fails, what is held still pays.
//
// Reset drops what is held here. Other processes use up what they hold, for two
// horizons at the most. What is held when a limit's period changes may stay charged:
// the store has no words for it any more. Callers of different tiers that share one key
// are mostly exact.
//
// Methods may be called concurrently. Paying from what is held takes one lock and
// allocates nothing.
type Lease struct {
	inner  core.Store
	config LeaseConfig
	times  leaseTimes
	began  time.Time
	shift  time.Duration // from the last whole microsecond to began
	seed   uint64
	shards [leaseShards]leaseShard
	calls  sync.Pool // of *leaseCall
	strict sync.Map  // of strictKey to *strictTerms
	closed atomic.Bool
	giver  giver
}

// leaseTimes are the configured spans in microseconds.
type leaseTimes struct {
	horizon, life, holdOff int64
}

// NewLease returns a Lease in front of a store, which it closes when it is closed. It
// fails when there is no store, and when the configuration contradicts itself.
func NewLease(inner core.Store, c LeaseConfig) (*Lease, error) {
	if inner == nil {
		return nil, errors.New("store: NewLease got no store")
	}
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	l := &Lease{inner: inner, config: c, began: c.Clock(), seed: rand.Uint64()}
	l.shift = time.Duration(l.began.Nanosecond()) % time.Microsecond
	l.times = leaseTimes{horizon: c.Horizon.Microseconds(), holdOff: max(0, c.HoldOff.Microseconds())}
	l.times.life = 2 * l.times.horizon
	for i := range l.shards {
		l.shards[i] = leaseShard{keys: map[core.Key]*holding{}, most: max(minLeaseShard, c.MaxKeys/leaseShards)}
	}
	l.calls.New = func() any { return new(leaseCall) }
	l.giver.start(l)
	return l, nil
}

// now returns microseconds since the lease began. Whole ones are those of the wall
// clock, because that is how a store cuts time.
func (l *Lease) now() int64 {
	return (l.config.Clock().Sub(l.began) + l.shift).Microseconds()
}

func (l *Lease) shard(k *core.Key) *leaseShard {
	hi, lo := bits.Mul64(k.Hi^l.seed, k.Lo|1)
	return &l.shards[(hi^lo)%leaseShards]
}

// Take implements [core.Store].
func (l *Lease) Take(ctx context.Context, charges []core.Charge, results []core.Result) error {
	if len(charges) == 1 && l.payAtOnce(&charges[0], &results[0]) {
		return nil
	}
	if !l.concerned(charges) {
		return l.inner.Take(ctx, charges, results)
	}
	call := l.calls.Get().(*leaseCall)
	err := call.run(ctx, l, charges, results)
	call.end()
	l.calls.Put(call)
	return err
}

// payAtOnce is Take for the most common call: one charge that what is held here pays.
func (l *Lease) payAtOnce(c *core.Charge, r *core.Result) bool {
	if !leasable(c) {
		return false
	}
	now := l.now()
	s := l.shard(&c.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.keys[c.Key]
	if h == nil || h.quota != c.Quota || !h.pays(c.Cost, now) {
		return false
	}
	h.count(now, c.Cost, l.times.horizon)
	h.tell(r, now)
	r.Granted, r.Receipt = true, h.receipt
	return true
}

// concerned reports whether any of the charges is of a limit that is leased.
func (l *Lease) concerned(charges []core.Charge) bool {
	for i := range charges {
		if c := &charges[i]; c.Prefetch > 0 && l.terms(c) != (terms{quota: c.Quota}) {
			return true
		}
	}
	return false
}

// Peek implements [core.Store]. It asks the store, and adds what is held here.
func (l *Lease) Peek(ctx context.Context, charges []core.Charge, results []core.Result) error {
	if !l.concerned(charges) {
		return l.inner.Peek(ctx, charges, results)
	}
	now := l.now()
	list, held := make([]core.Charge, len(charges)), make([]int64, len(charges))
	for i, c := range charges {
		t := l.terms(&c)
		if t.most > 0 {
			held[i] = l.held(&c, now)
		}
		here := held[i]
		for j := range i {
			if charges[j].Key == c.Key {
				here -= charges[j].Cost - list[j].Cost // which is to pay for that one
			}
		}
		if leasable(&c) {
			c.Cost -= min(max(0, here), c.Cost)
		}
		c.Quota, list[i] = t.quota, c
	}
	err := l.inner.Peek(ctx, list, results)
	for i := range results {
		r := &results[i]
		if held[i] > 0 && !r.Blocked && !r.Unknown {
			r.Remaining = min(charges[i].Quota.Capacity(), r.Remaining+held[i])
		}
	}
	return err
}

// held returns how many units of a charge's key there are here.
func (l *Lease) held(c *core.Charge, now int64) int64 {
	s := l.shard(&c.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.keys[c.Key]; h != nil && h.quota == c.Quota && now < h.ends {
		return h.units
	}
	return 0
}

// Give implements [core.Store]. Units that were paid from here come back to here as
// long as they are held, and go to the store otherwise.
func (l *Lease) Give(ctx context.Context, refunds []core.Refund) error {
	now := l.now()
	there := make([]core.Refund, 0, len(refunds)+1)
	for i := range refunds {
		there = l.takeBack(there, refunds[i], now)
	}
	if len(there) == 0 {
		return nil
	}
	return l.inner.Give(ctx, there)
}

// takeBack takes a refund of what was paid from here, and appends to a list what is
// for the store. The store knows how much of a key is spent, and not that some of it
// is still held here: so before it is given units of which nothing is known here, it
// is given those, and then whatever is given leaves no more than the quota.
func (l *Lease) takeBack(there []core.Refund, r core.Refund, now int64) []core.Refund {
	if r.Receipt == (algo.Receipt{}) || r.Slot != 0 || r.Units <= 0 {
		return append(there, r)
	}
	s := l.shard(&r.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.keys[r.Key]
	if h == nil {
		return append(there, r)
	}
	h.holdOff = holdOff{}
	if h.quota != r.Quota || h.receipt != r.Receipt || r.Units > h.paid || now >= h.ends {
		return append(h.retire(there, now), r)
	}
	here := min(r.Units, max(0, h.most-h.units-h.away))
	h.paid -= r.Units
	h.units += here
	if r.Units -= here; r.Units > 0 {
		there = append(there, r)
	}
	return there
}

// Reset implements [core.Store]. What is held of the keys here is forgotten too.
func (l *Lease) Reset(ctx context.Context, charges []core.Charge) error {
	l.forget(charges)
	err := l.inner.Reset(ctx, charges)
	l.forget(charges) // what came while the store was at it may be from before
	return err
}

func (l *Lease) forget(charges []core.Charge) {
	for i := range charges {
		s := l.shard(&charges[i].Key)
		s.mu.Lock()
		if h := s.keys[charges[i].Key]; h != nil {
			h.forget()
		}
		s.mu.Unlock()
		l.giver.forget(&charges[i].Key)
	}
}

// Block implements [core.Store]. What is held of the key here is given back first.
func (l *Lease) Block(ctx context.Context, c core.Charge, span time.Duration) error {
	var list []core.Refund
	s := l.shard(&c.Key)
	s.mu.Lock()
	if h := s.keys[c.Key]; h != nil {
		list = h.retire(list, l.now())
	}
	s.mu.Unlock()
	if len(list) > 0 {
		l.giveBack(ctx, list)
	}
	return l.inner.Block(ctx, c, span)
}

// Held returns how many keys are being watched and how many units are held for them. It
// is for metrics: it looks at every key.
func (l *Lease) Held() (keys int, units int64) {
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		keys += len(s.keys)
		for _, h := range s.keys {
			units += h.units
		}
		s.mu.Unlock()
	}
	return keys, units
}

// Traits implements [core.Store]. What a call of several charges sets aside, others do
// not see until it is over.
func (l *Lease) Traits() core.Traits {
	t := l.inner.Traits()
	t.Prefetches, t.Splits = true, true
	return t
}

// Close implements [core.Store]. It gives back what is held here, and then closes the
// store behind it. A closed Lease passes every charge through.
func (l *Lease) Close() error {
	if l.closed.CompareAndSwap(false, true) {
		l.giver.close()
		l.sweep(true)
		l.giver.giveDue()
	}
	return l.inner.Close()
}
