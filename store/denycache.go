package store

import (
	"context"
	"errors"
	"math/bits"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// DenyCacheConfig configures a [DenyCache]. Its zero value is the recommended
// setting.
type DenyCacheConfig struct {
	// MaxKeys bounds how many denied keys are remembered. Default 100 000.
	MaxKeys int

	// MaxAge bounds how long one is, so that units which come back elsewhere (a reset,
	// a grant, a raised limit) are seen no later than that. Default and at most 1s.
	MaxAge time.Duration

	// Clock is the time. Default: the process's, which does not go back.
	Clock func() time.Time
}

// The defaults of [DenyCacheConfig].
const (
	DefaultDenied  = 100_000
	DefaultDenyAge = time.Second
)

// A DenyCache remembers which keys the store behind it has denied, and until when. A
// request of such a key is denied here, without a call, so a caller over its limit
// costs the store next to nothing.
//
// It never denies longer than the store said, counted from the moment of asking: up
// to then only units that are given back could change the answer. Those that come
// back through this process are seen at once, others within MaxAge. Denials by
// limits with a penalty are passed on, so that they count, until the block itself
// begins. A denial from here says [core.Result.Partial] of the keys it knows nothing
// of.
type DenyCache struct {
	inner  core.Store
	clock  func() time.Time
	began  time.Time
	maxAge time.Duration
	seed   uint64
	shards [denyShards]denyShard
}

const (
	denyShards   = 64
	denyInShard  = 8 // entries looked at for a victim
	minDenyShard = denyInShard
)

// A denyShard is a part of the cache under one lock.
type denyShard struct {
	mu      sync.RWMutex
	entries map[denyKey]denial
	most    int
	drops   uint64 // how often something was dropped
}

type denyKey struct{ hi, lo uint64 }

// A denial is what the store said to charges of a cost under a quota: another quota
// may say otherwise, and a larger cost would have to wait for longer.
type denial struct {
	quota   *algo.Quota
	cost    int64
	until   time.Duration // since the cache began: when this cost may be granted
	forget  time.Duration // when it is not to be believed any more
	next    time.Duration // when Remaining grows, so that left is no longer right
	reset   time.Duration // when the key is fresh
	left    int64         // Remaining
	blocked bool
}

// NewDenyCache returns a DenyCache in front of a store, which it closes when it is
// closed.
func NewDenyCache(inner core.Store, c DenyCacheConfig) (*DenyCache, error) {
	if inner == nil {
		return nil, errors.New("store: NewDenyCache got no store")
	}
	if c.MaxKeys <= 0 {
		c.MaxKeys = DefaultDenied
	}
	if c.MaxAge <= 0 || c.MaxAge > DefaultDenyAge {
		c.MaxAge = DefaultDenyAge
	}
	d := &DenyCache{inner: inner, clock: c.Clock, maxAge: c.MaxAge, seed: rand.Uint64()}
	if d.clock == nil {
		d.clock = time.Now
	}
	d.began = d.clock()
	for i := range d.shards {
		d.shards[i] = denyShard{entries: map[denyKey]denial{}, most: max(minDenyShard, c.MaxKeys/denyShards)}
	}
	return d, nil
}

func (d *DenyCache) now() time.Duration { return d.clock().Sub(d.began) }

func (d *DenyCache) shard(k *core.Key) *denyShard {
	hi, lo := bits.Mul64(k.Hi^d.seed, k.Lo|1)
	return &d.shards[(hi^lo)%denyShards]
}

func keyOf(k *core.Key) denyKey { return denyKey{k.Hi, k.Lo} }

// cacheable reports whether a denial of the charge stands until units come back.
func cacheable(c *core.Charge) bool {
	return c.Quota.Algorithm() != algo.Concurrency && c.MaxDelay == 0 && c.Cost > 0
}

// Take implements [core.Store].
func (d *DenyCache) Take(ctx context.Context, charges []core.Charge, results []core.Result) error {
	now := d.now()
	if d.denies(charges, results, now) {
		return nil
	}
	var buf [8]uint64
	drops := d.drops(buf[:0], charges)
	err := d.inner.Take(ctx, charges, results)
	if err == nil {
		d.learn(charges, results, now, drops)
	}
	return err
}

// denies answers a call of which a key is known to be denied. Every key is looked up,
// so that the wait told is the longest known.
func (d *DenyCache) denies(charges []core.Charge, results []core.Result, now time.Duration) bool {
	var buf [8]known
	all := buf[:0]
	denied := false
	for i := range charges {
		c := &charges[i]
		e, ok := d.look(c, now)
		if c.Penalty != nil && !(ok && e.blocked) {
			return false // if it is denied too, that counts, and the store counts it
		}
		ok = ok && cacheable(c)
		denied = denied || ok && !c.Shadow
		all = append(all, known{e, ok})
	}
	if !denied {
		return false
	}
	for i := range results {
		all[i].tell(&results[i], now)
	}
	return true
}

// known is what the cache has of a charge. It is looked up once: a moment later
// somebody may have written something else.
type known struct {
	denial
	ok bool
}

// tell writes the result of a charge of a call that is denied here.
func (e *known) tell(r *core.Result, now time.Duration) {
	if !e.ok {
		*r = core.Result{Granted: true, Partial: true}
		return
	}
	*r = core.Result{
		Blocked:    e.blocked,
		Remaining:  e.left,
		RetryAfter: before(e.until, now),
		NextAfter:  max(0, e.next-now),
		ResetAfter: max(0, e.reset-now, e.next-now),
	}
}

func (d *DenyCache) look(c *core.Charge, now time.Duration) (denial, bool) {
	s := d.shard(&c.Key)
	s.mu.RLock()
	e, ok := s.entries[keyOf(&c.Key)]
	s.mu.RUnlock()
	return e, ok && now < e.forget && now < e.until && e.quota == c.Quota && c.Cost == e.cost && (e.blocked || now < e.next || c.Quota.Capacity() == 0)
}

// drops returns how often something was dropped beside each charge's key: what the
// store says about a key may have been overtaken by the time it says it.
func (d *DenyCache) drops(list []uint64, charges []core.Charge) []uint64 {
	for i := range charges {
		s := d.shard(&charges[i].Key)
		s.mu.RLock()
		list = append(list, s.drops)
		s.mu.RUnlock()
	}
	return list
}

// learn remembers the denials of an answer to a call that was sent at an instant.
func (d *DenyCache) learn(charges []core.Charge, results []core.Result, sent time.Duration, drops []uint64) {
	for i := range charges {
		c, r := &charges[i], &results[i]
		if r.Granted {
			d.outdate(&c.Key) // what was left for other costs may be less now
			continue
		}
		if r.Unknown || r.Partial || r.RetryAfter <= 0 || !cacheable(c) || c.Penalty != nil && !r.Blocked {
			continue
		}
		if repeated(charges, i) {
			continue // it was denied on top of another charge of this call
		}
		e := denial{quota: c.Quota, cost: c.Cost, left: r.Remaining, blocked: r.Blocked}
		e.until, e.next, e.reset = after(sent, r.RetryAfter), after(sent, r.NextAfter), after(sent, r.ResetAfter)
		e.forget = sent + d.maxAge
		d.keep(&c.Key, e, sent, drops[i])
	}
}

func repeated(charges []core.Charge, i int) bool {
	for j := range charges {
		if j != i && charges[j].Key == charges[i].Key {
			return true
		}
	}
	return false
}

// before returns how long it is until an instant; forever stays forever.
func before(until, now time.Duration) time.Duration {
	if until == core.Never {
		return core.Never
	}
	return until - now
}

func after(now, span time.Duration) time.Duration {
	if span > core.Never-now {
		return core.Never
	}
	return now + span
}

// keep adds a denial. A full shard forgets some other one: that costs a call, and
// nothing more.
func (d *DenyCache) keep(k *core.Key, e denial, now time.Duration, drops uint64) {
	s, key := d.shard(k), keyOf(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drops != drops {
		return
	}
	if _, ok := s.entries[key]; !ok && len(s.entries) >= s.most {
		s.evict(now)
	}
	s.entries[key] = e
}

// evict forgets what is over among a few entries, or one that is not.
func (s *denyShard) evict(now time.Duration) {
	n := 0
	var any denyKey
	for k, e := range s.entries {
		if any = k; now >= min(e.until, e.forget) {
			delete(s.entries, k)
		}
		if n++; n == denyInShard {
			break
		}
	}
	if len(s.entries) >= s.most {
		delete(s.entries, any)
	}
}

// drop forgets what is known of a key.
func (d *DenyCache) drop(k *core.Key) {
	s := d.shard(k)
	s.mu.Lock()
	s.drops++
	delete(s.entries, keyOf(k))
	s.mu.Unlock()
}

// outdate drops a key if anything is known of it.
func (d *DenyCache) outdate(k *core.Key) {
	s := d.shard(k)
	s.mu.RLock()
	_, ok := s.entries[keyOf(k)]
	s.mu.RUnlock()
	if ok {
		d.drop(k)
	}
}

// Peek implements [core.Store]. It asks the store.
func (d *DenyCache) Peek(ctx context.Context, charges []core.Charge, results []core.Result) error {
	return d.inner.Peek(ctx, charges, results)
}

// Give implements [core.Store].
func (d *DenyCache) Give(ctx context.Context, refunds []core.Refund) error {
	err := d.inner.Give(ctx, refunds)
	for i := range refunds {
		d.drop(&refunds[i].Key)
	}
	return err
}

// Reset implements [core.Store].
func (d *DenyCache) Reset(ctx context.Context, charges []core.Charge) error {
	err := d.inner.Reset(ctx, charges)
	for i := range charges {
		d.drop(&charges[i].Key)
	}
	return err
}

// Block implements [core.Store].
func (d *DenyCache) Block(ctx context.Context, c core.Charge, span time.Duration) error {
	err := d.inner.Block(ctx, c, span)
	d.drop(&c.Key)
	return err
}

// Traits implements [core.Store].
func (d *DenyCache) Traits() core.Traits { return d.inner.Traits() }

// Close implements [core.Store].
func (d *DenyCache) Close() error { return d.inner.Close() }
