package algo

// State is what a key has spent under a quota whose state is two words: all but
// those that are [Quota.Wide]. The zero State is a key never seen. What the
// words mean belongs to the algorithm:
//
//	buckets         A: spent, in 1/period units   B: the instant up to which it has drained
//	fixed window    A: units used                 B: the instant at which the window ends
//	sliding window  A: previous<<32 | current     B: the instant at which the current window began
type State struct {
	A, B int64

	// Under is the quota that the words were written under; nil in the zero
	// State. When it is not the quota that decides, the words are converted
	// first, and what was spent stays spent.
	Under *Quota
}

// An Ask is what one charge wants of a quota.
type Ask struct {
	Cost     int64 // units that must be granted whole; 0 or more
	Extra    int64 // units granted after the cost as far as they go; in a queue, at the cost's turn
	MaxDelay int64 // the longest acceptable wait, µs; 0 decides for now only
}

// An Outcome is a quota's answer. Spans are microseconds from now.
type Outcome struct {
	Granted    bool
	Extra      int64 // how much of Ask.Extra was granted
	Remaining  int64 // how many cost-1 asks would pass right now, after this one
	Delay      int64 // how long to wait before going ahead; only with Ask.MaxDelay
	RetryAfter int64 // when denied: until this very ask is granted, if nobody else comes; or Never
	NextAfter  int64 // until Remaining is one more; 0 when nothing is spent
	ResetAfter int64 // until the state equals one never used
	Receipt    Receipt
}

// A Receipt remembers where a grant was counted, so that [Quota.Give] returns it
// there and nowhere else. Its zero value returns nothing.
type Receipt struct {
	At    int64 // buckets: drained up to; windows: the window's edge; logs: the entry's stamp
	Level int64 // buckets: spent right after the grant
}

// Take decides an ask at now and returns the state to keep. After a denial the
// state spends what it spent before; it may have been rewritten in this quota's
// words, and then its Under differs from the given one's.
func (q *Quota) Take(s State, now int64, ask Ask) (State, Outcome) {
	if q.limit == 0 {
		return s, Outcome{RetryAfter: Never}
	}
	switch q.spec.Algorithm {
	case TokenBucket, LeakyBucket:
		return q.takeBucket(s, now, ask, true)
	case FixedWindow:
		return q.takeFixed(s, now, ask, true)
	case SlidingWindow:
		if !q.Wide() {
			return q.takeSliding(s, now, ask, true)
		}
	}
	panic("algo: Take on a quota whose state is not two words")
}

// Peek answers as [Quota.Take] would, but for a charge that is not made:
// Remaining, NextAfter and ResetAfter describe the state as it is.
func (q *Quota) Peek(s State, now int64, ask Ask) (State, Outcome) {
	if q.limit == 0 {
		return s, Outcome{RetryAfter: Never}
	}
	switch q.spec.Algorithm {
	case TokenBucket, LeakyBucket:
		return q.takeBucket(s, now, ask, false)
	case FixedWindow:
		return q.takeFixed(s, now, ask, false)
	case SlidingWindow:
		if !q.Wide() {
			return q.takeSliding(s, now, ask, false)
		}
	}
	panic("algo: Peek on a quota whose state is not two words")
}

// Give returns units of an earlier grant to the very window or bucket they were
// taken from, as far as they are still counted there. With turn set, and always
// from a queue, they are returned only when no later grant stands behind them. It
// reports whether the state changed.
//
// A bucket's units drain in the order in which they were granted. When a grant is
// given back, those behind it begin to drain earlier than their receipts know: given
// back too, they may return units of a later grant.
func (q *Quota) Give(s State, now, units int64, r Receipt, turn bool) (State, bool) {
	if q.limit == 0 || units <= 0 || s.Under == nil || r == (Receipt{}) {
		return s, false
	}
	switch q.spec.Algorithm {
	case TokenBucket, LeakyBucket:
		return q.giveBucket(s, now, units, r, turn)
	case FixedWindow:
		return q.giveFixed(s, now, units, r)
	case SlidingWindow:
		if !q.Wide() {
			return q.giveSliding(s, now, units, r)
		}
	}
	panic("algo: Give on a quota whose state is not two words")
}

// Fresh reports whether a state written under q cannot be told from one never
// used, and so may be forgotten.
func (q *Quota) Fresh(s State, now int64) bool { return q.Owes(s, now) == 0 }

// Owes returns how many units a state written under q has spent, rounded up: what its
// key would regain if it were forgotten now.
func (q *Quota) Owes(s State, now int64) int64 {
	if q.limit == 0 || s.Under == nil {
		return 0
	}
	switch q.spec.Algorithm {
	case TokenBucket, LeakyBucket:
		spent, _ := q.drain(s, now)
		return ceilDiv(spent, q.unit)
	case FixedWindow:
		if now >= s.B {
			return 0
		}
		return s.A
	default:
		prev, cur, start := q.roll(s, now)
		return q.limit - q.room(prev, cur, start, now)
	}
}
