package memstore

import (
	"context"
	"math/bits"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// Config configures a [Store]. The zero value is the recommended setting.
type Config struct {
	// MaxKeys bounds the keys that are remembered one by one, and memory in all to
	// 64 bytes × MaxKeys. Default 1 000 000.
	MaxKeys int

	// Clock supplies the time. It is called concurrently. Default: the system's,
	// which a step of the wall clock back does not move.
	Clock func() time.Time
}

// DefaultMaxKeys is the default of [Config.MaxKeys].
const DefaultMaxKeys = 1_000_000

// bytesPerKey times MaxKeys is the bound on all memory.
const bytesPerKey = 64

// A Store is a [core.Store] in this process's memory. Make one with [New]. It runs
// nothing in the background.
type Store struct {
	now    func() int64 // µs since the Unix epoch
	seed   [2]uint64    // makes places unpredictable, so nobody can aim at one
	shards []shard
	shift  uint // of a hash, down to the shard's index
	room   budget
	over   overflow
	stats  counters
	work   sync.Pool
}

// New returns an empty store.
func New(c Config) *Store {
	if c.MaxKeys <= 0 {
		c.MaxKeys = DefaultMaxKeys
	}
	s := &Store{seed: [2]uint64{rand.Uint64(), rand.Uint64()}}
	if c.Clock != nil {
		s.now = func() int64 { return c.Clock().UnixMicro() }
	} else {
		s.now = newSystemClock().now
	}
	s.build(c.MaxKeys)
	return s
}

const (
	maxShards     = 256
	shardMinSlots = 512 // fewer make two groups full while others stand empty
)

// build allocates the tables, for a load of four fifths: there, two groups of
// eight find room for all but one key in thousands.
func (s *Store) build(maxKeys int) {
	slots := maxKeys + maxKeys/4
	n := 1
	for n < maxShards && slots/(2*n) >= shardMinSlots {
		n *= 2
	}
	groups := max(2, (slots+n*groupSlots-1)/(n*groupSlots))
	s.shards = make([]shard, n)
	s.shift = uint(64 - bits.Len(uint(n-1)))
	for i := range s.shards {
		s.shards[i].groups = make([]group, groups)
	}
	s.room.limit = max(0, int64(maxKeys)*bytesPerKey-int64(n*groups)*groupBytes)
}

// place returns where a key belongs: its shard, and a hash for its groups.
func (s *Store) place(k *core.Key) (*shard, int, uint64) {
	hi, lo := bits.Mul64(k.Hi^s.seed[0], k.Lo^s.seed[1])
	h := hi ^ lo
	if len(s.shards) == 1 {
		return &s.shards[0], 0, h
	}
	i := int(h >> s.shift)
	return &s.shards[i], i, h
}

// Take implements [core.Store].
func (s *Store) Take(_ context.Context, charges []core.Charge, results []core.Result) error {
	if len(charges) == 1 && plain(&charges[0]) {
		s.takeOne(&charges[0], &results[0])
		return nil
	}
	now := s.now()
	if s.deniedAtSight(charges, results, now) {
		return nil
	}
	s.decide(charges, results, now, true)
	return nil
}

// Peek implements [core.Store].
func (s *Store) Peek(_ context.Context, charges []core.Charge, results []core.Result) error {
	s.decide(charges, results, s.now(), false)
	return nil
}

// plain reports whether the charge needs two words of state and no more.
func plain(c *core.Charge) bool { return c.Penalty == nil && !c.Quota.Wide() }

// takeOne is Take for the most common call: one charge of two words.
func (s *Store) takeOne(c *core.Charge, r *core.Result) {
	sh, _, h := s.place(&c.Key)
	now := s.now()
	ref := sh.find(&c.Key, h)
	if ref.ok() {
		if st, ok := ref.snapshot(&c.Key, c.Quota); ok && c.Quota.Denies(st, now, c.Cost) && c.MaxDelay == 0 {
			_, o := c.Quota.Take(st, now, c.Ask())
			r.Fill(&o)
			return
		}
	}
	sh.mu.Lock()
	if !ref.ok() || !ref.holds(&c.Key) {
		if ref = sh.find(&c.Key, h); !ref.ok() {
			sh.mu.Unlock()
			var charges = [1]core.Charge{*c}
			var results [1]core.Result
			s.decide(charges[:], results[:], now, true)
			*r = results[0]
			return
		}
	}
	st := ref.state(c.Quota)
	next, o := c.Quota.Take(st, now, c.Ask())
	if o.Granted || next.Under != st.Under {
		ref.write(next)
	}
	sh.mu.Unlock()
	r.Fill(&o)
}

// deniedAtSight answers a call that some key denies, without a lock: every state
// is read by itself, and the key that denies does so at the instant it is read.
//
// Not so when two charges have one key: the later may only have what the earlier
// leaves.
func (s *Store) deniedAtSight(charges []core.Charge, results []core.Result, now int64) bool {
	if !s.someDenies(charges, now) || sameKeys(charges) {
		return false
	}
	denied := false
	for i := range charges {
		c := &charges[i]
		st, ok := s.glance(c)
		if !ok {
			return false
		}
		_, o := c.Quota.Peek(st, now, c.Ask())
		results[i].Fill(&o)
		denied = denied || !o.Granted && !c.Shadow
	}
	return denied
}

// someDenies reports whether a charge that can deny does so at first sight, and
// nothing else of the call needs a lock.
func (s *Store) someDenies(charges []core.Charge, now int64) bool {
	denies := false
	for i := range charges {
		c := &charges[i]
		if !plain(c) || c.MaxDelay != 0 {
			return false
		}
		if denies || c.Shadow {
			continue
		}
		st, ok := s.glance(c)
		denies = ok && c.Quota.Denies(st, now, c.Cost)
	}
	return denies
}

// sameKeys reports whether two charges have one key. Calls are short, so comparing
// each with each costs less than anything cleverer.
func sameKeys(charges []core.Charge) bool {
	for i := 1; i < len(charges); i++ {
		k := &charges[i].Key
		for j := range i {
			if other := &charges[j].Key; other.Hi == k.Hi && other.Lo == k.Lo {
				return true
			}
		}
	}
	return false
}

// glance reads the state of the charge's key without a lock. ok is false when it
// is not in a slot, or was being written.
func (s *Store) glance(c *core.Charge) (st algo.State, ok bool) {
	sh, _, h := s.place(&c.Key)
	if ref := sh.find(&c.Key, h); ref.ok() {
		return ref.snapshot(&c.Key, c.Quota)
	}
	return st, false
}

// Traits implements [core.Store]: it is the plainest of stores.
func (s *Store) Traits() core.Traits { return core.Traits{} }

// Close implements [core.Store]. There is nothing to stop.
func (s *Store) Close() error { return nil }

type counters struct {
	evicted, overflowed, refused atomic.Int64
}
