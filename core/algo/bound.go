package algo

// A store that has no room for a key of its own may count several keys in one
// cell. Meet and Join keep such cells safe: a cell that is raised by every one
// of its keys is an upper bound of what each has spent, and the meet of several
// upper bounds is one too. So a key counted that way can be denied too early,
// and never admitted too often. That takes a clock that does not go back.
//
// Where windows start at a key's first charge, a cell has one window for all its
// keys, and they keep to the limit in that one, not in their own. It ends at a
// multiple of the period, so that no key of several cells meets more than two
// windows in any span of one.

// Meet returns a state that has spent the least of a and b, word by word. Both
// must be upper bounds of the same key, written under q or zero.
func (q *Quota) Meet(a, b State, now int64) State {
	if a.Under == nil || b.Under == nil {
		return State{}
	}
	switch q.spec.Algorithm {
	case TokenBucket, LeakyBucket:
		sa, ta := q.drain(a, now)
		sb, tb := q.drain(b, now)
		if sa == 0 || sb == 0 {
			return State{}
		}
		return State{A: min(sa, sb), B: max(ta, tb), Under: q}
	case FixedWindow:
		ua, ea := q.window(a, now)
		ub, eb := q.window(b, now)
		if ua == 0 || ub == 0 {
			return State{}
		}
		return State{A: min(ua, ub), B: min(ea, eb), Under: q}
	default:
		pa, ca, sa := q.roll(a, now)
		pb, cb, sb := q.roll(b, now)
		least := packCounters(min(pa, pb), min(ca, cb))
		if least == 0 {
			return State{}
		}
		return State{A: least, B: max(sa, sb), Under: q}
	}
}

// Join returns a state that has spent the most of a and b, word by word.
func (q *Quota) Join(a, b State, now int64) State {
	if !q.spec.FirstRequest {
		if a.Under == nil {
			return b
		}
		if b.Under == nil {
			return a
		}
	}
	switch q.spec.Algorithm {
	case TokenBucket, LeakyBucket:
		sa, ta := q.drain(a, now)
		sb, tb := q.drain(b, now)
		return State{A: max(sa, sb), B: max(ta, tb), Under: q}
	case FixedWindow:
		ua, ea := q.window(a, now)
		ub, eb := q.window(b, now)
		if q.spec.FirstRequest {
			return q.joinFirst(ua, ea, ub, eb)
		}
		return State{A: max(ua, ub), B: max(ea, eb), Under: q}
	default:
		pa, ca, sa := q.roll(a, now)
		pb, cb, sb := q.roll(b, now)
		return State{A: packCounters(max(pa, pb), max(ca, cb)), B: max(sa, sb), Under: q}
	}
}

// joinFirst is Join for windows that start at a key's first charge.
func (q *Quota) joinFirst(ua, ea, ub, eb int64) State {
	end := int64(0)
	if ua > 0 {
		end = ea
	}
	if ub > 0 {
		end = max(end, eb)
	}
	if end == 0 {
		return State{}
	}
	return State{A: max(ua, ub), B: ceilDiv(end, q.period) * q.period, Under: q}
}
