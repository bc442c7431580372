package algo

import (
	"errors"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// A Quota is a checked [Spec], ready to decide with. It is immutable and may be
// shared between goroutines. Quotas with the same numbers are the same pointer.
type Quota struct {
	spec Spec
	id   uint32

	limit    int64 // units a period
	period   int64 // µs; 0 for a calendar month
	tick     int64 // µs: the finest step of time that this quota sees
	unit     int64 // bucket: one unit in 1/period units, which is the period in ticks
	capacity int64 // bucket: burst · unit; windows: limit · period in ticks
	burst    int64 // bucket: units; others: limit
	grain    int64 // cells, log: entries are stamped with multiples of this, µs
	life     int64 // cells, log: an entry counts this long, µs
	calendar *calendar
}

// ticks are the steps of time that a quota may see, finest first.
var ticks = [...]int64{1, 10, 100, 1_000, 10_000, 100_000, 1_000_000}

// interned keeps one Quota for each distinct Spec, so that a state can name the
// quota it was written under in four bytes. It grows with the number of
// different quotas a process has ever been configured with.
var interned struct {
	sync.Mutex
	bySpec map[specKey]*Quota
	byID   atomic.Pointer[[]*Quota] // read without the lock: tables are full of ids
}

// specKey is a Spec that compares by value: the same zone loaded twice is two
// pointers.
type specKey struct {
	Spec
	zone string
}

func (s Spec) key() specKey {
	zone := zoneKey(s.Zone)
	s.Zone = nil
	return specKey{s, zone}
}

// Compile checks s and returns its quota. An error joins one [FieldError] for
// every problem.
func Compile(s Spec) (*Quota, error) {
	if s.Burst == 0 && s.Algorithm == TokenBucket {
		s.Burst = s.Limit
	}
	if s.Zone == time.UTC {
		s.Zone = nil
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	q, err := s.build()
	if err != nil {
		return nil, err
	}
	return intern(q), nil
}

func intern(q *Quota) *Quota {
	interned.Lock()
	defer interned.Unlock()
	key := q.spec.key()
	if old, ok := interned.bySpec[key]; ok {
		return old
	}
	if interned.bySpec == nil {
		interned.bySpec = map[specKey]*Quota{}
		interned.byID.Store(&[]*Quota{nil}) // id 0 is "never written"
	}
	list := *interned.byID.Load()
	q.id = uint32(len(list))
	list = append(list, q) // readers see the old length
	interned.byID.Store(&list)
	interned.bySpec[key] = q
	return q
}

// ByID returns the quota with this [Quota.ID], or nil.
func ByID(id uint32) *Quota {
	list := interned.byID.Load()
	if list == nil || int(id) >= len(*list) {
		return nil
	}
	return (*list)[id]
}

func (s Spec) check() error {
	var errs []error
	add := func(bad bool, field, format string, args ...any) {
		if bad {
			errs = append(errs, wrong(field, format, args...))
		}
	}
	add(int(s.Algorithm) >= len(algorithmNames), "algorithm", "is %d, want a known one", s.Algorithm)
	add(s.Limit < 0, "limit", "is %d, want 0 or more", s.Limit)
	add(s.Limit > exact, "limit", "is %d, want at most %d", s.Limit, exact)
	add(s.Burst != 0 && s.Algorithm != TokenBucket, "burst", "is for token-bucket only, and this is a %v", s.Algorithm)
	add(s.Burst < 0, "burst", "is %d, want 1 or more", s.Burst)
	add(s.Burst > exact, "burst", "is %d, want at most %d", s.Burst, exact)
	add(s.Algorithm == TokenBucket && s.Limit == 0 && s.Burst > 0, "burst", "is %d beside a limit of 0, which allows nothing; leave it out", s.Burst)
	add((s.Queue != 0 || s.Shaper) && s.Algorithm != LeakyBucket, "queue", "is for leaky-bucket only, and this is a %v", s.Algorithm)
	add(s.Queue < 0, "queue", "is %d, want 0 or more", s.Queue)
	add(s.Queue >= exact, "queue", "is %d, want below %d", s.Queue, exact)
	add(s.Cells != 0 && s.Algorithm != SlidingWindow, "buckets", "is for sliding-window only, and this is a %v", s.Algorithm)
	add(s.Cells != 0 && (s.Cells < MinCells || s.Cells > MaxCells), "buckets", "is %d, want %d to %d", s.Cells, MinCells, MaxCells)
	add(s.Algorithm == SlidingWindow && s.Cells == 0 && s.Limit > MaxSliding, "limit", "is %d, want at most %d for a sliding-window of two counters", s.Limit, MaxSliding)
	add(s.Algorithm == SlidingLog && s.Limit > MaxLog, "limit", "is %d, want at most %d for a sliding-log, whose memory grows with it", s.Limit, MaxLog)
	add(s.FirstRequest && s.Algorithm != FixedWindow, "align", "is for fixed-window only, and this is a %v", s.Algorithm)
	errs = append(errs, s.checkPeriod()...)
	return errors.Join(errs...)
}

func (s Spec) checkPeriod() (errs []error) {
	add := func(bad bool, field, format string, args ...any) {
		if bad {
			errs = append(errs, wrong(field, format, args...))
		}
	}
	if s.Algorithm == Concurrency {
		add(s.Period != 0, "limit", "has a period, want a plain number for concurrency")
		add(s.Zone != nil, "timezone", "is for fixed-window only")
		return errs
	}
	fixed := s.Algorithm == FixedWindow
	if s.Period == Month {
		add(!fixed, "limit", "counts by the month, want a fixed-window for that, and this is a %v", s.Algorithm)
		add(s.FirstRequest, "align", "is first-request, want calendar months to start at the first of the month")
		return errs
	}
	add(s.Period <= 0, "limit", "has a period of %v, want more than 0", s.Period)
	add(s.Period > 0 && s.Period%time.Microsecond != 0, "limit", "has a period of %v, want whole microseconds", s.Period)
	add(s.Period > MaxPeriod, "limit", "has a period of %v, want at most %d days", s.Period, MaxPeriod/Day)
	days := s.Period >= Day
	add(fixed && days && s.Period%Day != 0 && !s.FirstRequest, "limit", "has a window of %v, want whole days above one day", s.Period)
	add(s.Zone != nil && (!fixed || !days || s.FirstRequest), "timezone", "is set, want that only for fixed-window quotas of a day or more that start at midnight")
	return errs
}

// build fills in what deciding needs. s has passed check.
func (s Spec) build() (*Quota, error) {
	q := &Quota{spec: s, limit: s.Limit, period: s.Period.Microseconds(), tick: 1, burst: s.Limit}
	switch s.Algorithm {
	case TokenBucket, LeakyBucket:
		q.burst = s.Burst
		if s.Algorithm == LeakyBucket {
			q.burst = s.Queue + 1
		}
		if s.Limit == 0 {
			q.burst = 0
		}
		return q, q.scale(q.burst)
	case SlidingWindow:
		if s.Cells > 0 {
			q.grain = ceilDiv(q.period, int64(s.Cells)) // rounded up: the cells cover at least the window
			q.life = q.grain * int64(s.Cells+1)
			return q, nil
		}
		return q, q.scale(s.Limit)
	case SlidingLog:
		q.grain, q.life = 1, q.period
	case FixedWindow:
		if s.Period == Month {
			q.period = 0
		}
		if !s.FirstRequest && (s.Period == Month || s.Period >= Day) {
			q.calendar = newCalendar(s)
		}
	}
	return q, nil
}

// scale chooses the finest tick with which units·period is exact.
func (q *Quota) scale(units int64) error {
	for _, tick := range ticks {
		if q.period%tick != 0 {
			break // a coarser tick does not divide it either
		}
		hi, lo := bits.Mul64(uint64(units), uint64(q.period/tick))
		if hi != 0 || lo > uint64(exact) {
			continue
		}
		q.tick, q.unit, q.capacity = tick, q.period/tick, int64(lo)
		return q.checkFill()
	}
	return wrong("limit", "of %d units over %v cannot be counted exactly, want a smaller number or a period of whole seconds", units, q.spec.Period)
}

// checkFill refuses a bucket that takes longer to refill than anyone waits: its
// spans would not fit a time.Duration.
func (q *Quota) checkFill() error {
	if q.limit == 0 || q.spec.Algorithm == SlidingWindow {
		return nil
	}
	if q.capacity/q.limit > maxFillTime.Microseconds()/q.tick {
		return wrong("limit", "of %d a %v takes more than 100 years to refill %d units, want a faster one", q.limit, q.spec.Period, q.burst)
	}
	return nil
}
