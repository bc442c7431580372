package algo

import "time"

// ID returns a number that stands for this quota in this process. It is never 0.
func (q *Quota) ID() uint32 { return q.id }

// Spec returns what the quota was compiled from, with defaults filled in.
func (q *Quota) Spec() Spec { return q.spec }

// Algorithm returns how the quota counts.
func (q *Quota) Algorithm() Algorithm { return q.spec.Algorithm }

// Wide reports whether the quota's state is a [Log], or [Slots], rather than a
// [State]: it needs more than two words.
func (q *Quota) Wide() bool { return q.grain != 0 || q.spec.Algorithm == Concurrency }

// Queues reports whether an [Ask] with a MaxDelay can be granted for a later turn.
func (q *Quota) Queues() bool {
	return q.spec.Algorithm == TokenBucket || q.spec.Algorithm == LeakyBucket
}

// Capacity returns the most that can be spent at one instant, in units: the
// burst, the queue plus one, or the limit. A larger cost never fits.
func (q *Quota) Capacity() int64 { return q.burst }

// Tick returns the finest step of time that the quota sees.
func (q *Quota) Tick() time.Duration { return time.Duration(q.tick) * time.Microsecond }

// Window returns the span that a client should think of: the window, or the
// time in which an empty bucket fills. It is 0 where there is none (concurrency,
// and calendar months, which differ).
func (q *Quota) Window() time.Duration {
	switch q.spec.Algorithm {
	case TokenBucket, LeakyBucket:
		if q.limit == 0 {
			return q.spec.Period
		}
		return micros(span(ceilDiv(q.capacity, q.limit), q.tick))
	default:
		return micros(q.period)
	}
}

func micros(us int64) time.Duration {
	if us >= maxSpan {
		us = maxSpan
	}
	return time.Duration(us) * time.Microsecond
}

// Denies reports whether Take would deny cost units at now, and is cheaper than
// asking it. It may say no where Take then denies.
func (q *Quota) Denies(s State, now, cost int64) bool {
	if s.Under != q || cost <= 0 {
		return false
	}
	switch q.spec.Algorithm {
	case TokenBucket, LeakyBucket:
		if cost > q.burst {
			return true
		}
		spent, _ := q.drain(s, now)
		return spent > q.capacity-cost*q.unit
	case FixedWindow:
		return now < s.B && s.A > q.limit-cost
	}
	return false
}
