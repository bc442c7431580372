package core

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
)

// Counts reports whether [Decision.Commit] has anything to settle, so that an
// adapter need not watch the status of other requests.
func (d *Decision) Counts() bool {
	if d.Len() == 0 {
		return false
	}
	for i := range d.bill.lines {
		if len(d.bill.lines[i].rule.Count) > 0 {
			return true
		}
	}
	return false
}

// Commit settles the limits that count by outcome: the charges of those that do
// not count this final status are given back. Call it when the status is known
// and before its first byte is sent. Only the first call does anything.
func (d *Decision) Commit(ctx context.Context, status int) error {
	if d.Outcome() != Allowed || !d.Counts() || !atomic.CompareAndSwapUint32(&d.state, open, committed) {
		return nil
	}
	return d.refund(ctx, func(r *rule) bool { return !r.counts(status) })
}

// Revise settles again a decision that was committed with the status from, when
// another one is sent after all. A charge that was given back is taken again, as far
// as units go: in between others may have had them.
func (d *Decision) Revise(ctx context.Context, from, to int) error {
	if d.Outcome() != Allowed || d.Len() == 0 || atomic.LoadUint32(&d.state) != committed {
		return nil
	}
	if err := d.refund(ctx, func(r *rule) bool { return r.counts(from) && !r.counts(to) }); err != nil {
		return err
	}
	var b batch
	for i, e := range d.entries() {
		r := d.bill.lines[i].rule
		if !r.counts(from) && r.counts(to) && e.spent() {
			b.charges = append(b.charges, d.extra(i, e.cost))
		}
	}
	if len(b.charges) == 0 {
		return nil
	}
	b.results = make([]Result, len(b.charges))
	return d.spend(context.WithoutCancel(ctx), &b)
}

// Cancel gives every charge back, of a request that a later mount has turned away.
// It does nothing after Commit.
func (d *Decision) Cancel(ctx context.Context) error {
	if d.Outcome() != Allowed || d.Len() == 0 || !atomic.CompareAndSwapUint32(&d.state, open, cancelled) {
		return nil
	}
	return d.refund(ctx, func(*rule) bool { return true })
}

// Holds reports whether the request holds slots of concurrency limits, which
// [Decision.Done] gives back.
func (d *Decision) Holds() bool {
	if d.Outcome() != Allowed {
		return false
	}
	for i := range d.entries() {
		if e := &d.entries()[i]; e.slot != 0 && e.spent() {
			return true
		}
	}
	return false
}

// Done gives back the slots of concurrency limits, when what they were taken for is
// over. Adapters call it when the handler has returned; whoever asks with
// [Limiter.Allow] calls it himself. Only the first call does anything, and none after
// Cancel. When the store cannot take a slot back it ends when its Hold has passed.
func (d *Decision) Done(ctx context.Context) error {
	if !d.Holds() || atomic.LoadUint32(&d.state) == cancelled || !atomic.CompareAndSwapUint32(&d.done, 0, 1) {
		return nil
	}
	return d.refundEntries(ctx, func(i int) bool { return d.entries()[i].slot != 0 })
}

// counts reports whether a response with this status is counted.
func (r *rule) counts(status int) bool {
	return len(r.Count) == 0 || slices.Contains(r.Count, status)
}

// spent reports whether the entry's cost was taken from its key.
func (e *entry) spent() bool { return e.result.Granted && !e.result.Unknown }

// refund gives back the charges that are due.
func (d *Decision) refund(ctx context.Context, due func(*rule) bool) error {
	return d.refundEntries(ctx, func(i int) bool { return due(d.bill.lines[i].rule) })
}

func (d *Decision) refundEntries(ctx context.Context, due func(i int) bool) error {
	var refunds []Refund
	for i, e := range d.entries() {
		r := d.bill.lines[i].rule
		if !due(i) || !e.spent() {
			continue
		}
		refunds = append(refunds, Refund{
			Key: e.key, Limit: r.Name, Quota: d.bill.lines[i].quota,
			Units: e.cost, Receipt: e.result.Receipt, Slot: e.slot,
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

// Add charges a limit that counted the request, here or at an earlier mount, for
// cost that became known afterwards, as far as its units go, and returns how many
// were charged. It denies nobody.
func (d *Decision) Add(ctx context.Context, limit string, units int64) (int64, error) {
	if units < 0 {
		return 0, fmt.Errorf("core: add %d units to limit %q, want 0 or more", units, limit)
	}
	at, i := d.find(limit)
	if at == nil {
		return 0, fmt.Errorf("core: limit %q did not count this request", limit)
	}
	if at.entries()[i].slot != 0 {
		return 0, fmt.Errorf("core: add to limit %q, which counts how many at once", limit)
	}
	b := batch{[]Charge{at.extra(i, units)}, make([]Result, 1)}
	if err := at.spend(ctx, &b); err != nil {
		return 0, err
	}
	return b.results[0].Extra, nil
}

// extra is a charge to the i-th limit for units as far as they go.
func (d *Decision) extra(i int, units int64) Charge {
	ln := &d.bill.lines[i]
	return Charge{
		Key: d.entries()[i].key, Limit: ln.rule.Name, Quota: ln.quota,
		Extra: units, Policy: ln.rule.policy,
	}
}

func (d *Decision) spend(ctx context.Context, b *batch) error {
	err := d.limiter.store.Take(ctx, b.charges, b.results)
	if err != nil {
		d.limiter.failed(ctx, err)
	}
	return err
}
