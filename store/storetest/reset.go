package storetest

import "github.com/tidegate/tidegate/core"

func resetCases() []Case {
	return append(
		each(allKinds, "Reset", "Reset forgets what a key has spent, and touches no other.", 0, resetForgets),
		one("ResetAnyQuota", "Reset forgets what a key has spent, whichever quota it was spent under.", 0, resetAnyQuota),
		one("ResetForgetsDenials", "Reset forgets a key's denials.", Penalties, resetForgetsDenials),
		one("ResetForgetsBlock", "Reset forgets a key's block.", Penalties, resetForgetsBlock),
	)
}

func resetForgets(r *run, k kind) {
	spec := k.spec(10, r.long())
	a, second, never := r.open(spec), r.open(spec), r.open(spec)
	sibling, stranger := r.openFor(a, spec), r.open(spec)
	for _, used := range []account{a, second, sibling, stranger} {
		r.grants(used, 7, 3, "nobody has used the key")
	}
	r.reset(a, never, second)
	r.holds(a, 10, "the key was reset")
	r.holds(never, 10, "the key was reset, and had spent nothing")
	r.left(second, 10, "the key was reset")
	r.left(sibling, 3, "another limit of the same caller was reset")
	r.left(stranger, 3, "another key was reset")
}

func resetAnyQuota(r *run) {
	for _, k := range r.kindsAtHand() {
		period := r.long()
		a := r.open(k.spec(10, period))
		r.drain(a)
		r.reset(a.under(r.quota(k.spec(3, 2*period))))
		r.holds(a, 10, "the key was reset under another quota")
	}
}

func resetForgetsDenials(r *run) {
	for _, k := range r.kindsAtHand() {
		a := r.open(k.spec(1, r.long())).with(penaltyOf(2, r.long()))
		r.drain(a)
		r.deniesPlainly(a, "the first of 2 denials")
		r.reset(a)
		r.drain(a)
		r.deniesPlainly(a, "denials before a reset do not count")
		r.deniesBlocked(a, a.penalty.Block, "the second denial since the reset")
	}
}

func resetForgetsBlock(r *run) {
	for _, k := range r.kindsAtHand() {
		a := r.open(k.spec(5, r.long())).with(penaltyOf(2, r.long()))
		other := r.openFor(a, k.spec(5, r.long())).with(*a.penalty)
		r.block(a, a.penalty.Block)
		r.block(other, a.penalty.Block)
		r.reset(a)
		r.holds(a, 5, "the block was forgotten")
		r.deniesBlocked(other, a.penalty.Block, "another key was reset")
	}
}

// deniesPlainly wants one unit denied, and the key not blocked.
func (r *run) deniesPlainly(a account, why string) core.Result {
	got := r.takeOne(a.charge(1))
	r.want(!got.Granted, "Take(%s) was granted, want denied: %s", describe(a.charge(1)), why)
	r.want(!got.Blocked, "Take(%s) says Blocked: %s", describe(a.charge(1)), why)
	return got
}
