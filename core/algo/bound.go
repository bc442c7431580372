package algo

// A store that has no room for a key of its own may count several keys in one
// cell. Meet and Join keep such cells safe: a cell that is raised by every one
// of its keys is an upper bound of what each has spent, and the meet of several
// upper bounds is one too. So a key counted that way can be denied too early,
// and never admitted too often.

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
		return State{A: packCounters(min(pa, pb), min(ca, cb)), B: max(sa, sb), Under: q}
	}
}

// Join returns a state that has spent the most of a and b, word by word.
func (q *Quota) Join(a, b State, now int64) State {
	if a.Under == nil {
		return b
	}
	if b.Under == nil {
		return a
	}
	switch q.spec.Algorithm {
	case TokenBucket, LeakyBucket:
		sa, ta := q.drain(a, now)
		sb, tb := q.drain(b, now)
		return State{A: max(sa, sb), B: max(ta, tb), Under: q}
	case FixedWindow:
		ua, ea := q.window(a, now)
		ub, eb := q.window(b, now)
		end := max(ea, eb)
		if q.spec.FirstRequest {
			end = max(end, now+q.period) // the key that raises the cell may have begun its window only now
		}
		return State{A: max(ua, ub), B: end, Under: q}
	default:
		pa, ca, sa := q.roll(a, now)
		pb, cb, sb := q.roll(b, now)
		return State{A: packCounters(max(pa, pb), max(ca, cb)), B: max(sa, sb), Under: q}
	}
}
