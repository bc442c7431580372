package core

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/tidegate/tidegate/core/algo"
)

// Outcome is what a [Decision] says of the whole request.
type Outcome uint8

// The outcomes.
const (
	Allowed     Outcome = iota // every limit grants, or none counts the request
	Denied                     // a limit denies; nothing was charged
	Exempt                     // exempt: not counted
	Unavailable                // the store failed and a limit is closed; nothing was charged
)

var outcomeNames = []string{"allowed", "denied", "exempt", "unavailable"}

// String returns the outcome in lower case.
func (o Outcome) String() string { return nameOf(outcomeNames, int(o)) }

// inlineEntries is how many limits a Decision holds without a further
// allocation. Few tables have more in one stage.
const inlineEntries = 4

// A Decision is the answer for a request over all its charges. Its zero value
// is an allowed request that no limit counts.
//
// Reading a Decision is safe from several goroutines once it has been made.
type Decision struct {
	limiter  *Limiter
	bill     *Bill
	identity Identity
	addr     netip.Addr
	outcome  Outcome
	n        int
	inline   [inlineEntries]entry
	more     []entry
	err      error
	settled  uint32 // 1 once Commit has run
}

// An entry is what came of one line of the bill.
type entry struct {
	key    Key
	cost   int64
	result Result
}

// A LimitResult is what one limit answered.
type LimitResult struct {
	Limit    string
	Tier     string
	Index    int         // the limit's place in the table
	Quota    *algo.Quota // what the tier gets
	Cost     int64
	Hidden   bool // not to be named to clients
	Shadow   bool // reported, never enforced
	Fallback bool // a denial goes to the fallback handler
	Refuses  bool // this limit is why the request does not go on
	Result
}

func (d *Decision) reset(l *Limiter, r *Request) {
	d.limiter, d.bill, d.outcome, d.n, d.more, d.err, d.settled = l, nil, Allowed, 0, nil, nil, 0
	d.identity, d.addr = r.Identity, r.Addr
}

func (d *Decision) entries() []entry {
	if d.more != nil {
		return d.more
	}
	return d.inline[:d.n]
}

// hold copies the charges and results of a call to the store into d.
func (d *Decision) hold(b *batch) []entry {
	d.n = len(b.charges)
	if d.n > inlineEntries {
		d.more = make([]entry, d.n)
	}
	list := d.entries()
	for i := range list {
		list[i] = entry{b.charges[i].Key, b.charges[i].Cost, b.results[i]}
	}
	return list
}

// record writes down what the store decided.
func (d *Decision) record(b *batch) {
	for i, e := range d.hold(b) {
		if !e.result.Granted && !b.charges[i].Shadow {
			d.outcome = Denied
		}
	}
}

// fail decides what the store could not. Any closed limit makes the request
// unavailable; otherwise it passes, and no numbers are invented. What the store did
// decide stands, and is given back when the request is not let in.
func (d *Decision) fail(ctx context.Context, b *batch, err error) {
	d.err = err
	var failure *StoreError
	partly := errors.As(err, &failure) && failure.Failed != nil
	for i := range b.results {
		if !partly || slices.Contains(failure.Failed, i) {
			b.results[i] = Result{Granted: true, Unknown: true}
		}
	}
	d.record(b)
	if d.outcome == Denied {
		return // nothing was spent
	}
	for i := range b.charges {
		if b.results[i].Unknown && b.charges[i].Policy == FailClosed && !b.charges[i].Shadow {
			d.outcome = Unavailable
		}
	}
	if d.outcome == Unavailable && partly {
		d.giveBack(ctx)
	}
}

// giveBack returns all that the decision was granted.
func (d *Decision) giveBack(ctx context.Context) {
	var refunds []Refund
	for i, e := range d.entries() {
		if e.result.Granted && !e.result.Unknown {
			refunds = append(refunds, Refund{
				Key: e.key, Limit: d.bill.lines[i].rule.Name, Quota: d.bill.lines[i].quota,
				Units: e.cost, Receipt: e.result.Receipt,
			})
		}
	}
	ctx = context.WithoutCancel(ctx)
	if err := d.limiter.store.Give(ctx, refunds); err != nil {
		d.limiter.failed(ctx, err)
	}
}

// Outcome returns what becomes of the request.
func (d *Decision) Outcome() Outcome { return d.outcome }

// Allowed reports whether the request may go on.
func (d *Decision) Allowed() bool { return d.outcome == Allowed || d.outcome == Exempt }

// Err returns the store's error when it could not answer, whatever the limits'
// policies made of it; otherwise nil.
func (d *Decision) Err() error { return d.err }

// Identity returns who was charged.
func (d *Decision) Identity() Identity { return d.identity }

// Tier returns the tier whose quotas applied, or "" if no limit counted.
func (d *Decision) Tier() string {
	if d.bill == nil {
		return ""
	}
	return d.bill.tier
}

// Bill returns what the request was charged for, or nil if no limit counted it.
// It is the same for all requests of a route and tier.
func (d *Decision) Bill() *Bill {
	if d.n == 0 {
		return nil
	}
	return d.bill
}

// Len returns how many limits were decided.
func (d *Decision) Len() int { return d.n }

// Limit returns what the i-th limit answered, in the table's order.
func (d *Decision) Limit(i int) LimitResult {
	e, ln := &d.entries()[i], &d.bill.lines[i]
	return LimitResult{
		Refuses:  d.refuses(i),
		Limit:    ln.rule.Name,
		Tier:     d.bill.tier,
		Index:    ln.rule.index,
		Quota:    ln.quota,
		Cost:     e.cost,
		Hidden:   ln.rule.isHidden,
		Shadow:   ln.rule.Exceeded == Shadow,
		Fallback: ln.rule.Exceeded == Fallback,
		Result:   e.result,
	}
}

// RetryAfter returns how long a denied request has to wait, for this very cost:
// the longest of its denying limits, or [Never]. It is 0 when nothing denies.
func (d *Decision) RetryAfter() time.Duration {
	var longest time.Duration
	if d.outcome != Denied {
		return 0
	}
	for i, e := range d.entries() {
		if d.refuses(i) {
			longest = max(longest, e.result.RetryAfter)
		}
	}
	return longest
}

// Blocked reports whether a penalty is among the reasons of a denial.
func (d *Decision) Blocked() bool {
	for i, e := range d.entries() {
		if e.result.Blocked && d.bill.lines[i].rule.Exceeded != Shadow {
			return true
		}
	}
	return false
}

// Fallback reports whether the request goes to the fallback handler: it is refused,
// and by limits with [Fallback] only.
func (d *Decision) Fallback() bool {
	if d.Allowed() {
		return false
	}
	for i := range d.entries() {
		if d.refuses(i) && d.bill.lines[i].rule.Exceeded != Fallback {
			return false
		}
	}
	return true
}

// refuses reports whether the i-th limit is why the request does not go on.
func (d *Decision) refuses(i int) bool {
	r := d.bill.lines[i].rule
	if r.Exceeded == Shadow {
		return false
	}
	if d.outcome == Unavailable {
		return r.policy == FailClosed && d.entries()[i].result.Unknown
	}
	return !d.entries()[i].result.Granted
}

// Commit settles the limits that count by outcome: the charges of those that do
// not count this final status are given back. Call it when the status is known
// and before its first byte is sent. Only the first call does anything.
func (d *Decision) Commit(ctx context.Context, status int) error {
	if d.outcome != Allowed || !d.Counts() || !atomic.CompareAndSwapUint32(&d.settled, 0, 1) {
		return nil
	}
	var refunds []Refund
	for i, e := range d.entries() {
		r := d.bill.lines[i].rule
		if len(r.Count) == 0 || slices.Contains(r.Count, status) || !e.result.Granted || e.result.Unknown {
			continue
		}
		refunds = append(refunds, Refund{
			Key: e.key, Limit: r.Name, Quota: d.bill.lines[i].quota,
			Units: e.cost, Receipt: e.result.Receipt,
		})
	}
	if len(refunds) == 0 {
		return nil
	}
	ctx = context.WithoutCancel(ctx) // the charge is due back though the client has left
	if err := d.limiter.store.Give(ctx, refunds); err != nil {
		d.limiter.failed(ctx, err)
		return err
	}
	return nil
}

// Counts reports whether [Decision.Commit] has anything to settle, so that an
// adapter need not watch the status of other requests.
func (d *Decision) Counts() bool {
	if d.n == 0 {
		return false
	}
	for i := range d.bill.lines {
		if len(d.bill.lines[i].rule.Count) > 0 {
			return true
		}
	}
	return false
}

// Add charges a limit of this decision for cost that became known afterwards, as
// far as its units go, and returns how many were charged. It denies nobody.
func (d *Decision) Add(ctx context.Context, limit string, units int64) (int64, error) {
	if units < 0 {
		return 0, fmt.Errorf("core: add %d units to limit %q, want 0 or more", units, limit)
	}
	for i, e := range d.entries() {
		r := d.bill.lines[i].rule
		if r.Name != limit {
			continue
		}
		var b batch
		b.charges = []Charge{{
			Key: e.key, Limit: limit, Quota: d.bill.lines[i].quota, Extra: units, Policy: r.policy,
		}}
		b.results = make([]Result, 1)
		if err := d.limiter.store.Take(ctx, b.charges, b.results); err != nil {
			d.limiter.failed(ctx, err)
			return 0, err
		}
		return b.results[0].Extra, nil
	}
	return 0, fmt.Errorf("core: limit %q did not count this request", limit)
}
