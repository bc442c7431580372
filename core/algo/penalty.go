package algo

import (
	"fmt"
	"time"
)

// A Penalty blocks a key that is denied After times Within a span, for Block.
// The zero Penalty blocks nobody.
type Penalty struct {
	After  int64         // denials; 1 to MaxPenalty
	Within time.Duration // the span in which they are counted, any span of this length
	Block  time.Duration // how long the key is then denied everything
}

// MaxPenalty bounds Penalty.After: every denial in the span is remembered.
const MaxPenalty = 1_000

// Check returns what is wrong with p, or nil.
func (p Penalty) Check() error {
	switch {
	case p.After < 1 || p.After > MaxPenalty:
		return wrong("after", "is %d, want 1 to %d denials", p.After, MaxPenalty)
	case p.Within < time.Microsecond || p.Within > MaxPeriod:
		return wrong("within", "is %v, want a span up to %s", p.Within, days(MaxPeriod))
	case p.Block < time.Microsecond || p.Block > MaxPeriod:
		return wrong("block", "is %v, want a span up to %s", p.Block, days(MaxPeriod))
	}
	return nil
}

func days(d time.Duration) string { return fmt.Sprintf("%d days", d/Day) }

// A Record is a key's denials under a limit with a penalty. Its zero value is a
// key never denied. It is not safe for concurrent use.
type Record struct {
	denials Log
	until   int64 // blocked before this instant
}

// Bytes returns how much memory the record's denials take.
func (r *Record) Bytes() int64 { return r.denials.Bytes() }

// Grown returns what [Record.Bytes] may be after one more denial.
func (r *Record) Grown() int64 { return r.denials.Grown() }

// Blocked returns how long the key stays blocked, 0 if it is not.
func (r *Record) Blocked(now int64) int64 { return max(0, r.until-now) }

// Denied counts a denial and returns how long the key is blocked by it, 0 if it
// is not. A denial during a block is not counted and does not lengthen it.
func (r *Record) Denied(p Penalty, now int64) int64 {
	if left := r.Blocked(now); left > 0 {
		return left
	}
	at := r.denials.clock(now)
	r.denials.drop(at, p.Within.Microseconds())
	r.denials.push(at, 1)
	if r.denials.sum < p.After {
		return 0
	}
	r.Block(now, p.Block.Microseconds())
	return r.Blocked(now)
}

// Block blocks the key for a span from now, or releases it when the span is 0.
// Denials counted so far are forgotten.
func (r *Record) Block(now, span int64) {
	*r = Record{until: now + span}
}

// Idle reports whether the record equals a fresh one at now.
func (r *Record) Idle(p Penalty, now int64) bool {
	r.denials.drop(r.denials.clock(now), p.Within.Microseconds())
	return r.denials.n == 0 && r.Blocked(now) == 0
}
