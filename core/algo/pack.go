package algo

// Pack and Unpack fit an upper bound of a state into one word, for a store that
// counts many keys in little room. Everything is rounded up, so a state that has
// been packed has spent at least what it had:
//
//	buckets         the instant at which the bucket has drained
//	fixed window    used, 32 bits | the window's end in seconds since 2020, 32 bits
//	sliding window  previous, 20 bits | current, 20 bits | the window's number, 24 bits
//
// The counts of sliding windows are in steps of limit/2^19, and exact below that;
// those of fixed windows in steps of limit/2^31.
// 0 is a fresh state. A word can be read only by the quota that packed it.

const (
	packedEpoch  = 1_577_836_800 // 2020-01-01 in Unix seconds: 32 bits last until 2156
	packedCount  = 1<<20 - 1
	packedNumber = 1<<24 - 1
	packedAhead  = 16 // windows that a clock may step back; what is further ahead is an old one
)

// Pack returns an upper bound of s, which is written under q or zero, in one word.
func (q *Quota) Pack(s State, now int64) uint64 {
	if s.Under == nil || q.limit == 0 {
		return 0
	}
	switch q.spec.Algorithm {
	case TokenBucket, LeakyBucket:
		spent, at := q.drain(s, now)
		if spent == 0 {
			return 0
		}
		return uint64(at + span(ceilDiv(spent, q.limit), q.tick))
	case FixedWindow:
		used, end := q.window(s, now)
		if used == 0 {
			return 0
		}
		if q.spec.FirstRequest {
			end = ceilDiv(end, q.period) * q.period // as in Join
		}
		seconds := ceilDiv(end, 1_000_000) - packedEpoch
		return uint64(min(ceilDiv(used, q.packedUsed()), 1<<32-1))<<32 | uint64(max(0, min(seconds, 1<<32-1)))
	default:
		prev, cur, start := q.roll(s, now)
		if prev+cur == 0 {
			return 0
		}
		step := q.packedStep()
		number := uint64(start/q.period) & packedNumber
		return uint64(min(ceilDiv(prev, step), packedCount))<<44 | uint64(min(ceilDiv(cur, step), packedCount))<<24 | number
	}
}

// Unpack returns the state that Pack put into w.
func (q *Quota) Unpack(w uint64, now int64) State {
	if w == 0 {
		return State{}
	}
	switch q.spec.Algorithm {
	case TokenBucket, LeakyBucket:
		return q.unpackBucket(int64(w), now)
	case FixedWindow:
		end := (int64(w&(1<<32-1)) + packedEpoch) * 1_000_000
		if q.calendar == nil {
			end = floorTo(end, q.period) // back to the edge: a cell's window must not end inside a key's
		}
		return State{A: int64(w>>32) * q.packedUsed(), B: end, Under: q}
	default:
		step := q.packedStep()
		prev, cur := int64(w>>44)*step, int64(w>>24&packedCount)*step
		number := now / q.period
		// The number comes back with its high bits from now; one that is just ahead is
		// a clock that has stepped back.
		behind := (number - int64(w&packedNumber)) & packedNumber
		if behind > packedNumber-packedAhead {
			behind -= packedNumber + 1
		}
		return State{A: packCounters(min(prev, MaxSliding), min(cur, MaxSliding)), B: (number - behind) * q.period, Under: q}
	}
}

// unpackBucket returns a bucket that will have drained at an instant.
func (q *Quota) unpackBucket(drainedAt, now int64) State {
	at := floorTo(now, q.tick)
	left := drainedAt - at
	if left <= 0 {
		return State{}
	}
	ticks := ceilDiv(left, q.tick)
	if ticks > exact/q.limit {
		return State{A: exact, B: at, Under: q}
	}
	return State{A: ticks * q.limit, B: at, Under: q}
}

// packedUsed returns what one step of a fixed window's packed count stands for.
func (q *Quota) packedUsed() int64 { return q.limit>>31 + 1 }

// packedStep returns what one step of a sliding window's packed count stands for.
func (q *Quota) packedStep() int64 { return q.limit>>19 + 1 }
