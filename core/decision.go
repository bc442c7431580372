package core

import (
	"context"
	"errors"
	"net/netip"
	"slices"
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
// is an allowed request that no limit counts, and so is a nil Decision: every
// method may be called on it.
//
// A request that passes several mounts has a Decision at each, and the last one
// knows those before: see [Decision.Outer].
//
// Reading a Decision is safe from several goroutines once it has been made.
type Decision struct {
	limiter *Limiter
	bill    *Bill
	request Request
	outcome Outcome
	n       int
	inline  [inlineEntries]entry
	more    []entry
	err     error
	state   uint32 // open, committed or cancelled
	done    uint32 // 1: slots have been given back
}

// What has become of a decision's charges.
const (
	open uint32 = iota
	committed
	cancelled
)

// An entry is what came of one line of the bill.
type entry struct {
	key    Key
	cost   int64
	slot   uint64
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
	d.limiter, d.bill, d.request = l, nil, *r
	d.outcome, d.n, d.more, d.err, d.state, d.done = Allowed, 0, nil, nil, open, 0
}

// misuse is the decision of a call that could not be decided.
func misuse(err error) Decision { return Decision{outcome: Unavailable, err: err} }

func (d *Decision) entries() []entry {
	if d == nil {
		return nil
	}
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
		list[i] = entry{b.charges[i].Key, b.charges[i].Cost, b.charges[i].Slot, b.results[i]}
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
		_ = d.refund(ctx, func(*rule) bool { return true }) // the observer knows of an error
	}
}

// Outcome returns what becomes of the request.
func (d *Decision) Outcome() Outcome {
	if d == nil {
		return Allowed
	}
	return d.outcome
}

// Allowed reports whether the request may go on.
func (d *Decision) Allowed() bool { return d.Outcome() == Allowed || d.Outcome() == Exempt }

// Err returns the store's error when it could not answer, whatever the limits'
// policies made of it, or what was wrong with the call; otherwise nil.
func (d *Decision) Err() error {
	if d == nil {
		return nil
	}
	return d.err
}

// Identity returns who was charged.
func (d *Decision) Identity() Identity {
	if d == nil {
		return Identity{}
	}
	return d.request.Identity
}

// Addr returns the client's address. It is the zero Addr when it has none.
func (d *Decision) Addr() netip.Addr {
	if d == nil {
		return netip.Addr{}
	}
	return d.request.Addr
}

// Outer returns the decision that an earlier mount made of the same request, or
// nil. A mount of one limit on a route has that of the whole program's mount
// there, and a main stage that of the early one.
func (d *Decision) Outer() *Decision {
	if d == nil {
		return nil
	}
	return d.request.Outer
}

// Tier returns the tier whose quotas applied, or "" if no limit counted.
func (d *Decision) Tier() string {
	if d == nil || d.bill == nil {
		return ""
	}
	return d.bill.tier
}

// Bill returns what the request was charged for, or nil if no limit counted it.
// It is the same for all requests of a route and tier.
func (d *Decision) Bill() *Bill {
	if d.Len() == 0 {
		return nil
	}
	return d.bill
}

// Len returns how many limits were decided, those of [Decision.Outer] not among
// them.
func (d *Decision) Len() int {
	if d == nil {
		return 0
	}
	return d.n
}

// Limit returns what the i-th limit answered, in the table's order. It is the zero
// LimitResult when there are not so many.
func (d *Decision) Limit(i int) LimitResult {
	if i < 0 || i >= d.Len() {
		return LimitResult{}
	}
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

// Find returns what the limit of this name answered, here or at an earlier mount,
// and whether it counted the request at all.
func (d *Decision) Find(limit string) (LimitResult, bool) {
	if at, i := d.find(limit); at != nil {
		return at.Limit(i), true
	}
	return LimitResult{}, false
}

// find returns the decision that the limit is part of, and its place there.
func (d *Decision) find(limit string) (*Decision, int) {
	for ; d != nil; d = d.request.Outer {
		if i := d.index(limit); i >= 0 {
			return d, i
		}
	}
	return nil, 0
}

func (d *Decision) index(limit string) int {
	for i := range d.n {
		if d.bill.lines[i].rule.Name == limit {
			return i
		}
	}
	return -1
}

// RetryAfter returns how long a denied request has to wait, for this very cost:
// the longest of its denying limits, or [Never]. It is 0 when nothing denies.
func (d *Decision) RetryAfter() time.Duration {
	var longest time.Duration
	if d.Outcome() != Denied {
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
	found := false
	for i := range d.entries() {
		if !d.refuses(i) {
			continue
		}
		if d.bill.lines[i].rule.Exceeded != Fallback {
			return false
		}
		found = true
	}
	return found
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
