package algo

// Token and leaky buckets are one arithmetic: a level that grows by cost·unit
// and drains by limit each tick, where unit is the period in ticks. A token
// bucket's level is what it lacks from full, so its capacity is the burst; a
// leaky bucket's is what it holds, with a capacity of queue + 1.
//
// Two words, level and instant, rather than the one word of GCRA (a theoretical
// arrival time): a debt kept as time must be rounded when it is made and means
// something else when the rate changes.

// drain returns the level at now and the instant up to which it is drained. A
// clock behind the stored instant drains nothing: the level is frozen until the
// clock catches up, so that time going back never makes units.
func (q *Quota) drain(s State, now int64) (spent, at int64) {
	if s.Under != q && !q.flowsAs(s.Under) {
		return q.adoptBucket(s, now)
	}
	spent, at = s.A, s.B
	now = floorTo(now, q.tick)
	if now <= at {
		return spent, at
	}
	elapsed := now - at
	if q.tick != 1 {
		elapsed /= q.tick
	}
	return drained(spent, elapsed, q.limit), now
}

// flowsAs reports whether a state of the other quota means the same under q: only how
// much they hold may differ.
func (q *Quota) flowsAs(other *Quota) bool {
	return other != nil && q.limit == other.limit && q.unit == other.unit && q.tick == other.tick
}

// adoptBucket rewrites a level that another quota wrote. Up to now the level has
// drained at the rate it was written under: a key that nobody asked about since
// the change owes what it owed at the change, whatever the new rate. Then a change
// of limit or burst needs nothing more; a change of period rescales the level,
// rounded up and kept within 2^53, which is more than the new capacity. The next
// step of the new tick is where it starts to drain at the new rate.
func (q *Quota) adoptBucket(s State, now int64) (spent, at int64) {
	if s.Under == nil {
		return 0, floorTo(now, q.tick)
	}
	spent, at = s.Under.drain(s, now)
	if s.Under.unit != q.unit && s.Under.unit > 0 {
		spent = mulDivCeil(spent, q.unit, s.Under.unit, exact)
	}
	return spent, ceilDiv(max(at, now), q.tick) * q.tick
}

func (q *Quota) takeBucket(s State, now int64, ask Ask, commit bool) (State, Outcome) {
	spent, at := q.drain(s, now)
	var o Outcome
	kept := s
	if s.Under != q && s.Under != nil {
		kept = State{A: spent, B: at, Under: q}
		if q.flowsAs(s.Under) {
			kept.A, kept.B = s.A, s.B // only a grant moves time on
		}
	}
	o.Delay, o.RetryAfter = q.waits(spent, at, now, ask)
	o.Granted = o.RetryAfter == 0
	if !o.Granted {
		o.Delay = 0
	} else if commit {
		o.Extra = q.extra(spent, ask)
		if units := ask.Cost + o.Extra; units > 0 {
			spent += units * q.unit
			kept = State{A: spent, B: at, Under: q}
			o.Receipt = Receipt{At: at, Level: spent}
		}
	}
	q.describeBucket(&o, spent, at, now)
	return kept, o
}

// extra returns how many of the extra units go on top of a granted cost. In a
// queue they share the cost's turn, so without a cost there are none.
func (q *Quota) extra(spent int64, ask Ask) int64 {
	free := q.capacity - spent - ask.Cost*q.unit
	if free <= 0 || q.spec.Shaper && ask.Cost == 0 {
		return 0
	}
	return max(0, min(ask.Extra, free/q.unit))
}

// waits returns how long a granted ask is delayed, and how long a denied one
// has to stay away (0: it is granted).
func (q *Quota) waits(spent, at, now int64, ask Ask) (delay, retry int64) {
	if ask.Cost > q.burst {
		return 0, Never
	}
	over := spent + ask.Cost*q.unit - q.capacity
	if ask.Cost == 0 {
		return 0, 0 // nothing is asked, so nothing can be lacking
	}
	if q.spec.Shaper {
		delay = q.until(spent, at, now)
		return delay, max(q.until(over, at, now), delay-ask.MaxDelay)
	}
	if over <= 0 {
		return 0, 0
	}
	delay = q.until(over, at, now)
	inexact := spent + ask.Cost*q.unit - exact // reservations may pile up, but not above 2^53
	return delay, max(0, delay-ask.MaxDelay, q.until(inexact, at, now))
}

// until returns how long it takes to drain amount: from at, which is ahead of
// now while the clock is behind the state, in whole ticks.
func (q *Quota) until(amount, at, now int64) int64 {
	if amount <= 0 {
		return 0
	}
	return min(maxSpan, at-now+span(ceilDiv(amount, q.limit), q.tick))
}

func (q *Quota) describeBucket(o *Outcome, spent, at, now int64) {
	if free := q.capacity - spent; free > 0 {
		o.Remaining = free / q.unit
	}
	if spent > 0 {
		o.NextAfter = q.until(spent+(o.Remaining+1)*q.unit-q.capacity, at, now)
		o.ResetAfter = q.until(spent, at, now)
	}
}

// giveBucket returns units to a bucket. Units drain in the order in which they
// were spent, so of a grant that left the level at r.Level at r.At, what has
// not drained yet is at most r.Level less what has drained since. The rest has
// been refilled already and must not come back twice.
//
// That is exact unless a grant that stood before this one has been given back
// meanwhile: then this one has begun to drain earlier than two words can tell, and
// what it returns may be units of a later grant. What is admitted and kept can then
// be one burst more than promised in a span, never in the long run.
//
// A queue gives back only its last place: those behind it have been told their
// turns.
func (q *Quota) giveBucket(s State, now, units int64, r Receipt, turn bool) (State, bool) {
	if s.Under.unit != q.unit {
		return s, false // the level was rescaled since: the receipt is in other words
	}
	spent, at := q.drain(s, now)
	left := r.Level
	if at > r.At {
		left = drained(r.Level, (at-r.At)/q.tick, q.limit)
	}
	if (turn || q.spec.Shaper) && spent != left {
		return s, false
	}
	back := min(left, spent)
	if units <= back/q.unit {
		back = units * q.unit
	}
	if back <= 0 {
		return s, false
	}
	if q.flowsAs(s.Under) {
		spent, at = s.A, s.B // which leaves the same now; only a grant moves time on
	}
	return State{A: spent - back, B: at, Under: q}, true
}
