package core

import (
	"errors"
	"time"

	"github.com/tidegate/tidegate/core/algo"
)

// A Quota is what one tier gets under one limit: an algorithm and its numbers.
// Make one with [TokenBucket], [LeakyBucket], [FixedWindow], [SlidingWindow],
// [SlidingLog] or [Concurrency], or use [Unlimited]. The zero Quota is a missing
// number, which [New] refuses. A limit of 0 allows nothing.
type Quota struct {
	spec      algo.Spec
	set       bool
	unlimited bool
}

// Month is a calendar month, as a period of [FixedWindow].
const Month = algo.Month

// Day is 24 hours.
const Day = algo.Day

// Unlimited removes a limit from the requests of a tier.
var Unlimited = Quota{set: true, unlimited: true}

func newQuota(a algo.Algorithm, n int64, per time.Duration) Quota {
	return Quota{set: true, spec: algo.Spec{Algorithm: a, Limit: n, Period: per}}
}

// TokenBucket allows n units each period, evenly refilled, and up to a burst at
// once. The burst is n unless [Quota.WithBurst] says otherwise. In any span T it
// admits at most burst + n·T/period.
func TokenBucket(n int64, period time.Duration) Quota {
	return newQuota(algo.TokenBucket, n, period)
}

// LeakyBucket lets units leave at an even pace, n each period, and holds a queue
// of 0 unless [Quota.WithQueue] says otherwise.
func LeakyBucket(n int64, period time.Duration) Quota {
	return newQuota(algo.LeakyBucket, n, period)
}

// FixedWindow allows n units from one edge of the clock to the next: the Unix
// epoch's for windows under a day, local midnight for days, the first for
// [Month]. Around an edge up to 2n can pass.
func FixedWindow(n int64, period time.Duration) Quota {
	return newQuota(algo.FixedWindow, n, period)
}

// SlidingWindow allows n units in a period, estimated from two counters. It never
// admits a burst above n, and in its worst case nearly 2n in a span of one
// period. With [Quota.WithBuckets] it is never more than n in any period.
func SlidingWindow(n int64, period time.Duration) Quota {
	return newQuota(algo.SlidingWindow, n, period)
}

// SlidingLog allows exactly n units in any period. It remembers every charge, so
// n is at most 10 000.
func SlidingLog(n int64, period time.Duration) Quota {
	return newQuota(algo.SlidingLog, n, period)
}

// Concurrency allows n at once.
func Concurrency(n int64) Quota { return newQuota(algo.Concurrency, n, 0) }

// WithBurst sets the capacity of a token bucket.
func (q Quota) WithBurst(n int64) Quota { q.spec.Burst = n; return q }

// WithQueue sets how many units a leaky bucket holds beyond the one that leaves.
func (q Quota) WithQueue(n int64) Quota { q.spec.Queue = n; return q }

// WithBuckets makes a sliding window count in n cells, 2 to 60, the oldest in full.
func (q Quota) WithBuckets(n int) Quota { q.spec.Cells = n; return q }

// In sets the time zone in which days and months of a fixed window begin.
// Default UTC.
func (q Quota) In(zone *time.Location) Quota { q.spec.Zone = zone; return q }

// FromFirstRequest starts a fixed window at the first charge of each key, so that
// callers do not all reset at once.
func (q Quota) FromFirstRequest() Quota { q.spec.FirstRequest = true; return q }

// IsUnlimited reports whether q is [Unlimited].
func (q Quota) IsUnlimited() bool { return q.unlimited }

// Spec returns the numbers of q. They mean nothing when q is unlimited.
func (q Quota) Spec() algo.Spec { return q.spec }

// looser reports whether q allows more than other, in units a second; for equal
// rates, in units at once.
func (q Quota) looser(other Quota) bool {
	if q.unlimited || other.unlimited {
		return q.unlimited && !other.unlimited
	}
	a, b := q.rate(), other.rate()
	if a != b {
		return a > b
	}
	return max(q.spec.Burst, q.spec.Queue) > max(other.spec.Burst, other.spec.Queue)
}

// rate is only for comparing quotas: it is not exact.
func (q Quota) rate() float64 {
	period := q.spec.Period
	switch {
	case period == Month:
		period = 30 * Day
	case period <= 0:
		period = time.Second
	}
	return float64(q.spec.Limit) / period.Seconds()
}

// Compile checks the quota and returns what stores decide with, or nil when it is
// [Unlimited]. The zero Quota is an error.
func (q Quota) Compile() (*algo.Quota, error) {
	switch {
	case !q.set:
		return nil, errors.New("core: the quota is missing")
	case q.unlimited:
		return nil, nil
	}
	return algo.Compile(q.spec)
}
