package storetest

import (
	"slices"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

func sliceCases() []Case {
	return []Case{
		one("ChargesAreNotModified", "Charges and refunds that are passed in are not modified.", 0, chargesAreNotModified),
		one("SlicesAreNotRetained", "Slices that are passed in are not retained: they may be reused as soon as the call returns.", 0, slicesAreNotRetained),
		one("ResultsAreOverwritten", "Every field of a result is written, whatever it held.", Numbers, resultsAreOverwritten),
	}
}

func chargesAreNotModified(r *run) {
	for _, k := range r.kindsAtHand() {
		a, b := r.open(k.spec(10, r.long())), r.open(k.spec(10, r.long()))
		for _, list := range [][]core.Charge{
			{a.charge(3)},
			{a.charge(20)},
			{b.charge(1), shadowed(a.charge(20)), a.charge(2), b.charge(1)},
			{b.charge(1), a.charge(20)},
		} {
			before := slices.Clone(list)
			r.take(list...)
			r.want(slices.Equal(list, before), "%s: Take changed its charges to %+v", k.name, list)
			r.peek(list...)
			r.want(slices.Equal(list, before), "%s: Peek changed its charges to %+v", k.name, list)
			r.resetAll(list)
			r.want(slices.Equal(list, before), "%s: Reset changed its charges to %+v", k.name, list)
		}
		got := r.takeOne(a.charge(4))
		refunds := []core.Refund{a.refund(9, got.Receipt), b.refund(2, got.Receipt)}
		before := slices.Clone(refunds)
		r.give(refunds...)
		r.want(slices.Equal(refunds, before), "%s: Give changed its refunds to %+v", k.name, refunds)
	}
}

func (r *run) resetAll(list []core.Charge) {
	if !r.ok() {
		return
	}
	if err := r.s.Reset(r.ctx, list); err != nil {
		r.fail("Reset of %d keys: %w", len(list), err)
	}
}

// slicesAreNotRetained overwrites every slice as soon as it comes back, with the
// key of somebody who is charged for nothing, and results with nonsense.
func slicesAreNotRetained(r *run) {
	for _, k := range r.kindsAtHand() {
		bystander := r.open(k.spec(50, r.long()))
		a, b := r.open(k.spec(50, r.long())), r.open(k.spec(50, r.long()))
		charges, results := make([]core.Charge, 2), make([]core.Result, 2)
		for range 10 {
			charges[0], charges[1] = a.charge(2), b.charge(1)
			r.into("Take", r.s.Take, charges, results)
			receipt := results[0].Receipt
			r.poison(charges, results, bystander)
			r.give1(a.refund(1, receipt), bystander)
			charges[0], charges[1] = a.charge(1), b.charge(1)
			r.into("Peek", r.s.Peek, charges, results)
			r.poison(charges, results, bystander)
			r.left(bystander, 50, "the slices of an earlier call were overwritten with its key")
			r.want(results[0] == nonsense && results[1] == nonsense, "%s: results were written after their call", k.name)
		}
		r.left(a, 40, "each of 10 calls spent 2 of it, and 1 was given back")
		r.left(b, 40, "each of 10 calls spent 1 of it")
		r.reset(a)
		charges[0], charges[1] = a.charge(1), a.charge(1)
		r.resetAll(charges)
		r.poison(charges, results, b)
		r.grants(a, 1, 49, "the key was reset")
		r.left(b, 40, "the slice of an earlier Reset was overwritten with its key")
	}
}

func (r *run) into(name string, call storeCall, charges []core.Charge, results []core.Result) {
	if !r.ok() {
		return
	}
	if err := call(r.ctx, charges, results); err != nil {
		r.fail("%s of %d charges: %w", name, len(charges), err)
	}
}

func (r *run) poison(charges []core.Charge, results []core.Result, victim account) {
	for i := range charges {
		charges[i] = victim.charge(7)
		results[i] = nonsense
	}
}

func (r *run) give1(refund core.Refund, victim account) {
	list := []core.Refund{refund}
	r.give(list...)
	list[0] = victim.refund(7, refund.Receipt)
}

// nonsense is a result that no store gives.
var nonsense = core.Result{
	Granted: true, Blocked: true, Unknown: true, Partial: true,
	Remaining: -11, Extra: -12, Delay: -13, RetryAfter: -14, NextAfter: -15, ResetAfter: -16,
	Receipt: algo.Receipt{At: -17, Level: -18},
}

// resultsAreOverwritten puts the same story to two callers, one with clean results
// and one with nonsense in them.
func resultsAreOverwritten(r *run) {
	for _, k := range r.kindsAtHand() {
		clean, dirty := r.overwriteStory(k), r.overwriteStory(k)
		for i := range clean {
			r.sameAnswers(clean[i], dirty[i])
		}
	}
}

func (r *run) overwriteStory(k kind) [][]core.Charge {
	a, b, none := r.open(k.spec(5, r.long())), r.open(k.spec(5, r.long())), r.open(k.spec(0, r.long()))
	withExtra := a.charge(1)
	withExtra.Extra = 2
	list := [][]core.Charge{
		{a.charge(2)},
		{a.charge(0)},
		{a.charge(9)},
		{a.charge(4)},
		{none.charge(1)},
		{b.charge(1), a.charge(4)},
		{b.charge(1), shadowed(a.charge(4)), a.charge(1)},
		{withExtra},
	}
	if !r.lacks(Penalties) {
		blocked := r.open(k.spec(5, r.long())).with(penaltyOf(1, r.long()))
		list = append(list,
			[]core.Charge{blocked.charge(5)},
			[]core.Charge{blocked.charge(1)},
			[]core.Charge{blocked.charge(1), b.charge(1)})
	}
	return list
}

func (r *run) sameAnswers(clean, dirty []core.Charge) {
	for _, step := range []struct {
		name string
		call storeCall
	}{{"Peek", r.s.Peek}, {"Take", r.s.Take}} {
		want, got := make([]core.Result, len(clean)), make([]core.Result, len(clean))
		for i := range got {
			got[i] = nonsense
		}
		r.into(step.name, step.call, clean, want)
		r.into(step.name, step.call, dirty, got)
		for i := range got {
			r.want(alike(got[i], want[i], r.slack()),
				"%s(%s) over an old result is %+v, and over an empty one %+v", step.name, describe(dirty[i]), got[i], want[i])
		}
	}
}

// alike compares answers that two alike keys gave one after the other.
func alike(a, b core.Result, slack time.Duration) bool {
	near := func(x, y time.Duration) bool { return (x - y).Abs() <= slack }
	return a.Granted == b.Granted && a.Blocked == b.Blocked && a.Unknown == b.Unknown && a.Partial == b.Partial &&
		a.Remaining == b.Remaining && a.Extra == b.Extra &&
		near(a.Delay, b.Delay) && near(a.RetryAfter, b.RetryAfter) &&
		near(a.NextAfter, b.NextAfter) && near(a.ResetAfter, b.ResetAfter) &&
		(a.Receipt == algo.Receipt{}) == (b.Receipt == algo.Receipt{})
}
