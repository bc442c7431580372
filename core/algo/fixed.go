package algo

// fixedEnd returns where the window that contains now ends, for a key that has
// none running.
func (q *Quota) fixedEnd(now int64) int64 {
	switch {
	case q.spec.FirstRequest:
		return now + q.period
	case q.calendar != nil:
		_, end := q.calendar.bounds(now)
		return end
	default:
		return floorTo(now, q.period) + q.period
	}
}

// window returns what is used in the window that holds now, and its end.
//
// A stored window that has not ended is the current one even when it ends later
// than now's own: then the clock has stepped back, and counting goes on in the
// later window. Only when the window itself has been changed does its spending
// move into the new window that contains now, or the start of the stored one if
// the clock is behind that. A window of the key's own that has been given back
// whole was never begun.
func (q *Quota) window(s State, now int64) (used, end int64) {
	if s.Under == nil || now >= s.B || s.A == 0 && q.spec.FirstRequest {
		return 0, q.fixedEnd(now)
	}
	if s.Under != q && !q.sameWindow(s.Under) {
		return s.A, q.fixedEnd(max(now, s.Under.fixedStart(s.B)))
	}
	return s.A, s.B
}

// fixedStart returns where the window that ends at end began.
func (q *Quota) fixedStart(end int64) int64 {
	if q.calendar != nil {
		return q.calendar.find(end - 1).start
	}
	return end - q.period
}

// sameWindow reports whether both quotas cut time at the same edges.
func (q *Quota) sameWindow(other *Quota) bool {
	return q.period == other.period && q.spec.FirstRequest == other.spec.FirstRequest &&
		zoneKey(q.spec.Zone) == zoneKey(other.spec.Zone)
}

func (q *Quota) takeFixed(s State, now int64, ask Ask, commit bool) (State, Outcome) {
	used, end := q.window(s, now)
	kept := s
	if s.Under != q && s.Under != nil && used > 0 {
		kept = State{A: used, B: end, Under: q}
	}
	var o Outcome
	switch {
	case ask.Cost > q.limit:
		o.RetryAfter = Never
	case used > q.limit-ask.Cost && ask.Cost > 0:
		o.RetryAfter = end - now
	default:
		o.Granted = true
		if commit {
			o.Extra = max(0, min(ask.Extra, q.limit-used-ask.Cost))
		}
		if units := ask.Cost + o.Extra; commit && units > 0 {
			used += units
			kept = State{A: used, B: end, Under: q}
			o.Receipt = Receipt{At: end}
		}
	}
	o.Remaining = max(0, q.limit-used)
	if used > 0 {
		o.NextAfter, o.ResetAfter = end-now, end-now
	}
	return kept, o
}

func (q *Quota) giveFixed(s State, now, units int64, r Receipt) (State, bool) {
	used, end := q.window(s, now)
	if end != r.At || used == 0 {
		return s, false // that window is over
	}
	return State{A: used - min(units, used), B: end, Under: q}, true
}
