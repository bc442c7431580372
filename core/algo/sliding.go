package algo

// The sliding window of two counters weighs the previous window by the part of
// it that the last period still covers:
//
//	previous·(period − elapsed) + (current + cost)·period ≤ limit·period
//
// all in ticks, so that it is exact. It is the counter described by Cloudflare
// ("How we built rate limiting capable of scaling to millions of domains").

const counterBits = 32

func packCounters(prev, cur int64) int64 { return prev<<counterBits | cur }

func unpackCounters(a int64) (prev, cur int64) {
	return a >> counterBits, a & (1<<counterBits - 1)
}

// roll returns the counters of the window that contains now and where it
// begins. A clock behind the stored window stays in that window, at its start.
func (q *Quota) roll(s State, now int64) (prev, cur, start int64) {
	start = floorTo(now, q.period)
	if s.Under == nil {
		return 0, 0, start
	}
	prev, cur = unpackCounters(s.A)
	if s.Under != q && s.Under.period != q.period {
		return 0, q.adoptCounters(s, now), floorTo(max(now, s.B), q.period)
	}
	switch {
	case start <= s.B:
		return prev, cur, s.B
	case start == s.B+q.period:
		return cur, 0, start
	default:
		return 0, 0, start
	}
}

// adoptCounters returns what a state of another period has spent in the period
// that ends now, rounded up.
func (q *Quota) adoptCounters(s State, now int64) int64 {
	old := s.Under
	prev, cur, start := old.roll(State{A: s.A, B: s.B, Under: old}, now)
	elapsed := max(0, now-start)
	weighed := mulDivCeil(prev, old.period-elapsed, old.period, MaxSliding)
	return min(cur+weighed, MaxSliding)
}

func (q *Quota) takeSliding(s State, now int64, ask Ask, commit bool) (State, Outcome) {
	prev, cur, start := q.roll(s, now)
	kept := s
	if s.Under != q && s.Under != nil {
		kept = State{A: packCounters(prev, cur), B: start, Under: q}
		if s.Under.period == q.period {
			kept.A, kept.B = s.A, s.B // only a grant moves time on
		}
	}
	room := q.room(prev, cur, start, now)
	var o Outcome
	switch {
	case ask.Cost > q.limit:
		o.RetryAfter = Never
	case ask.Cost > room && ask.Cost > 0:
		o.RetryAfter = q.untilRoom(prev, cur, start, now, ask.Cost)
	default:
		o.Granted = true
		if commit {
			o.Extra = max(0, min(ask.Extra, room-ask.Cost))
		}
		if units := ask.Cost + o.Extra; commit && units > 0 {
			cur += units
			room -= units
			kept = State{A: packCounters(prev, cur), B: start, Under: q}
			o.Receipt = Receipt{At: start}
		}
	}
	o.Remaining = max(0, room)
	q.describeSliding(&o, prev, cur, start, now)
	return kept, o
}

// elapsed returns how far into its window now is, in ticks.
func (q *Quota) elapsed(start, now int64) int64 { return max(0, now-start) / q.tick }

// room returns how many units fit now; it is negative after the quota was lowered.
func (q *Quota) room(prev, cur, start, now int64) int64 {
	if prev == 0 {
		return q.limit - cur
	}
	return q.limit - cur - mulDivCeil(prev, q.unit-q.elapsed(start, now), q.unit, MaxSliding)
}

// untilRoom returns how long until cost units fit. They fit for good once the
// weight of the previous counter has fallen to what they leave: in this window,
// or in the next, where this window's counter is the previous one.
func (q *Quota) untilRoom(prev, cur, start, now, cost int64) int64 {
	w := q.unit
	spare := q.limit - cost // ≥ 0: larger costs never fit
	if left := spare - cur; left >= 0 {
		return start + q.fade(prev, left, w)*q.tick - now
	}
	return start + (w+q.fade(cur, spare, w))*q.tick - now
}

// fade returns after how many ticks of a window a previous count weighs no more
// than left: count·(w − e) ≤ left·w.
func (q *Quota) fade(count, left, w int64) int64 {
	if count <= left {
		return 0
	}
	return w - left*w/count // left < limit, so the product is at most capacity
}

func (q *Quota) describeSliding(o *Outcome, prev, cur, start, now int64) {
	end := start + q.period - now
	switch {
	case cur > 0:
		o.ResetAfter = end + q.period
	case prev > 0:
		o.ResetAfter = end
	default:
		return
	}
	if o.Remaining < q.limit {
		o.NextAfter = max(1, q.untilRoom(prev, cur, start, now, o.Remaining+1))
	}
}

// giveSliding takes units out of the counter they are in. It leaves the state in the
// window it was written in: only a grant moves time on.
func (q *Quota) giveSliding(s State, now, units int64, r Receipt) (State, bool) {
	if s.Under != q && s.Under.period != q.period {
		return s, false // counted in other windows by now
	}
	if _, _, start := q.roll(s, now); r.At < start-q.period {
		return s, false // counted no longer
	}
	prev, cur := unpackCounters(s.A)
	switch {
	case r.At == s.B && cur > 0:
		cur -= min(units, cur)
	case r.At == s.B-q.period && prev > 0:
		prev -= min(units, prev)
	default:
		return s, false
	}
	return State{A: packCounters(prev, cur), B: s.B, Under: q}, true
}
