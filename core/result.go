package core

import (
	"time"

	"github.com/tidegate/tidegate/core/algo"
)

// Ask returns what the charge wants of its quota, as package algo has it.
func (c *Charge) Ask() algo.Ask {
	return algo.Ask{Cost: c.Cost, Extra: c.Extra, MaxDelay: c.MaxDelay.Microseconds()}
}

// Fill writes an outcome of package algo as a result.
func (r *Result) Fill(o *algo.Outcome) {
	*r = Result{
		Granted:    o.Granted,
		Remaining:  o.Remaining,
		Extra:      o.Extra,
		Delay:      Span(o.Delay),
		RetryAfter: Span(o.RetryAfter),
		NextAfter:  Span(o.NextAfter),
		ResetAfter: Span(o.ResetAfter),
		Receipt:    o.Receipt,
	}
}

// Span converts microseconds of package algo, which keeps every span but
// [algo.Never] within what a Duration holds.
func Span(us int64) time.Duration {
	if us == algo.Never {
		return Never
	}
	return time.Duration(us) * time.Microsecond
}
