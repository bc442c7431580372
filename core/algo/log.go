package algo

// A Log is what a key has spent under a [Quota.Wide] quota: stamped counts,
// oldest first, in a ring. Its zero value is a key never seen.
//
// The sliding log and the sliding window of n cells are one arithmetic. The log
// stamps each charge with its own instant and counts it for one window. Cells
// stamp it with the start of its cell, and count a cell for as long as any
// window could still touch it: the cells of one window and one more, the oldest
// in full.
//
// A Log is not safe for concurrent use.
type Log struct {
	ring  []entry // its length is 0 or a power of two
	head  int     // index of the oldest
	n     int     // how many
	sum   int64   // units in all entries
	under *Quota
}

type entry struct{ at, units int64 }

const entryBytes = 16

// firstRing is the ring's first size: most keys of a log stay small.
const firstRing = 4

// Bytes returns how much memory the ring takes.
func (l *Log) Bytes() int64 { return int64(cap(l.ring)) * entryBytes }

// Grown returns what [Log.Bytes] may be after one more grant.
func (l *Log) Grown() int64 {
	if l.n < len(l.ring) {
		return l.Bytes()
	}
	return max(firstRing, 2*int64(len(l.ring))) * entryBytes
}

// Under returns the quota that the log was written under, or nil.
func (l *Log) Under() *Quota { return l.under }

func (l *Log) entry(i int) *entry { return &l.ring[(l.head+i)&(len(l.ring)-1)] }

// push adds units at an instant that is no earlier than the newest one.
func (l *Log) push(at, units int64) {
	if l.n > 0 {
		// A newest entry without units only keeps the time, see GiveLog.
		if last := l.entry(l.n - 1); last.at == at || last.units == 0 {
			last.at = at
			last.units += units
			l.sum += units
			return
		}
	}
	if l.n == len(l.ring) {
		l.grow()
	}
	l.n++
	*l.entry(l.n - 1) = entry{at, units}
	l.sum += units
}

func (l *Log) grow() {
	ring := make([]entry, max(firstRing, 2*len(l.ring)))
	for i := range l.n {
		ring[i] = *l.entry(i)
	}
	l.ring, l.head = ring, 0
}

// live returns the first entry that counts at now, and the units from there on.
// It forgets nothing: only a grant does, which also keeps the time. Else a clock
// that runs ahead for one look would make units when it is back.
func (l *Log) live(now, life int64) (first int, units int64) {
	units = l.sum
	for first < l.n && l.entry(first).at+life <= now {
		units -= l.entry(first).units
		first++
	}
	return first, units
}

// drop forgets the entries that count no longer at now.
func (l *Log) drop(now, life int64) {
	for l.n > 0 && l.entry(0).at+life <= now {
		l.sum -= l.entry(0).units
		l.head = (l.head + 1) & (len(l.ring) - 1)
		l.n--
	}
}

// remove takes out an entry that holds nothing any more, unless it is the newest:
// that one keeps the time, which must not go back.
func (l *Log) remove(i int) {
	if i == l.n-1 {
		return
	}
	for ; i < l.n-1; i++ {
		*l.entry(i) = *l.entry(i + 1)
	}
	l.n--
}

// adopt moves entries that another quota stamped onto q's grain. A cell may
// hold charges from its start to its end, and is taken to be from its end. What
// the other quota had forgotten stays forgotten.
func (l *Log) adopt(q *Quota, now int64) {
	if l.under != nil && (l.under.life != q.life || l.under.grain != q.grain) {
		l.drop(now, l.under.life)
	}
	if l.under != nil && l.under.grain != q.grain {
		old := *l
		*l = Log{}
		for i := range old.n {
			e := old.entry(i)
			at := max(e.at, min(e.at+old.under.grain-1, now))
			l.push(floorTo(at, q.grain), e.units)
		}
	}
	l.under = q
}

// clock returns the instant to judge at: now, or the newest stamp when the
// clock is behind it.
func (l *Log) clock(now int64) int64 {
	if l.n > 0 {
		return max(now, l.entry(l.n-1).at)
	}
	return now
}

// TakeLog decides an ask against a log at now. A denial changes nothing, but that
// it may rewrite what another quota wrote. Ask.MaxDelay is not used: nobody waits
// for a log.
func (q *Quota) TakeLog(l *Log, now int64, ask Ask) Outcome { return q.askLog(l, now, ask, true) }

// PeekLog answers as [Quota.TakeLog] would, but for a charge that is not made.
func (q *Quota) PeekLog(l *Log, now int64, ask Ask) Outcome { return q.askLog(l, now, ask, false) }

func (q *Quota) askLog(l *Log, now int64, ask Ask, commit bool) Outcome {
	if q.limit == 0 {
		return Outcome{RetryAfter: Never}
	}
	judged := l.clock(now)
	l.adopt(q, judged)
	first, spent := l.live(judged, q.life)
	var o Outcome
	switch {
	case ask.Cost > q.limit:
		o.RetryAfter = Never
	case spent > q.limit-ask.Cost && ask.Cost > 0:
		o.RetryAfter = q.untilFree(l, first, now, spent-(q.limit-ask.Cost))
	default:
		o.Granted = true
		if commit {
			o.Extra = max(0, min(ask.Extra, q.limit-spent-ask.Cost))
		}
		if units := ask.Cost + o.Extra; commit && units > 0 {
			at := floorTo(judged, q.grain)
			l.drop(judged, q.life)
			l.push(at, units)
			o.Receipt = Receipt{At: at}
			first, spent = 0, l.sum
		}
	}
	q.describeLog(l, &o, first, spent, now)
	return o
}

// newest returns the stamp of the newest entry that holds units. There is one.
func (l *Log) newest() int64 {
	i := l.n - 1
	for l.entry(i).units == 0 {
		i--
	}
	return l.entry(i).at
}

// untilFree returns how long until the oldest entries, from first on, that hold at
// least units have expired.
func (q *Quota) untilFree(l *Log, first int, now, units int64) int64 {
	for i := first; i < l.n; i++ {
		e := l.entry(i)
		if units -= e.units; units <= 0 {
			return e.at + q.life - now
		}
	}
	return 0
}

func (q *Quota) describeLog(l *Log, o *Outcome, first int, spent, now int64) {
	o.Remaining = max(0, q.limit-spent)
	if spent == 0 {
		return
	}
	o.NextAfter = q.untilFree(l, first, now, max(1, spent-q.limit+1))
	o.ResetAfter = l.newest() + q.life - now
}

// GiveLog is [Quota.Give] for a log. It reports whether the log changed.
func (q *Quota) GiveLog(l *Log, now, units int64, r Receipt) bool {
	if q.limit == 0 || units <= 0 || r == (Receipt{}) {
		return false
	}
	now = l.clock(now)
	l.adopt(q, now)
	if r.At+q.life <= now {
		return false // counted no longer
	}
	for i := l.n - 1; i >= 0; i-- { // receipts are young: look from the newest
		e := l.entry(i)
		if e.at < r.At {
			break
		}
		if e.at == r.At && e.units > 0 {
			back := min(units, e.units)
			e.units -= back
			l.sum -= back
			if e.units == 0 {
				l.remove(i)
			}
			return true
		}
	}
	return false
}

// LogOwes returns how many units the log counts at now. A log that owes nothing
// may be forgotten.
func (l *Log) LogOwes(now int64) int64 {
	if l.under == nil {
		return 0
	}
	_, spent := l.live(l.clock(now), l.under.life)
	return spent
}
