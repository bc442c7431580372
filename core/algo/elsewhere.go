package algo

// A store may decide where Go does not run, in a script inside a database, and
// answer here: it does there what this package does with the same numbers, sends
// back the state that it found, and what follows from that is worked out again.

// Numbers are what a [Quota] decides with. What each means is the algorithm's
// business; those that it does not use are 0.
type Numbers struct {
	Limit    int64 // units a period
	Period   int64 // µs; 0 for a calendar month
	Tick     int64 // µs: the finest step of time
	Unit     int64 // buckets, sliding window: the period in ticks
	Capacity int64 // buckets: the burst in 1/period units
	Grain    int64 // cells, log: entries are stamped with multiples of this, µs
	Life     int64 // cells, log: an entry counts this long, µs
}

// Numbers returns what q decides with.
func (q *Quota) Numbers() Numbers {
	return Numbers{q.limit, q.period, q.tick, q.unit, q.capacity, q.grain, q.life}
}

// Calendar reports whether windows begin at local midnights.
func (q *Quota) Calendar() bool { return q.calendar != nil }

// Zone returns a text that is the same for quotas whose windows are cut in the same
// time zone, and "" when the zone is UTC or does not matter.
func (q *Quota) Zone() string { return zoneKey(q.spec.Zone) }

// Edges returns the edges of three [Quota.Calendar] windows in a row, the middle one
// of which contains the instant: where the first begins, and where each ends. A
// store whose clock differs from the caller's finds its own window among them.
func (q *Quota) Edges(around int64) [4]int64 {
	_, end := q.calendar.bounds(around)
	start := q.calendar.find(around).start
	return [4]int64{q.calendar.find(start - 1).start, start, end, q.calendar.find(end).end}
}

// An Entry is units of a [Log] that were stamped with one instant.
type Entry struct{ At, Units int64 }

// RestoreLog returns a log of q that holds entries, the oldest first. Entries
// without units are left out, but for the last, which keeps the time.
func RestoreLog(q *Quota, entries []Entry) *Log {
	l := &Log{under: q}
	for i, e := range entries {
		if e.Units == 0 && i < len(entries)-1 {
			continue
		}
		if l.n == len(l.ring) {
			l.grow()
		}
		l.n++
		*l.entry(l.n - 1) = entry{e.At, e.Units}
		l.sum += e.Units
	}
	return l
}

// RestoreRecord returns the record of a key that is blocked before until and had
// so many denials in the span that counts, the last of them at newest.
func RestoreRecord(until, denials, newest int64) Record {
	r := Record{until: until}
	if denials > 0 {
		r.denials.push(newest, denials)
	}
	return r
}
