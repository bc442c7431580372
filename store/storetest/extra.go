package storetest

import "math"

func extraCases() []Case {
	return append(
		each(allKinds, "Extra",
			"Extra units are granted after the cost, as far as they go.", 0, extra),
		one("ExtraOfADenial", "A call that spends nothing grants no extra units.", 0, extraOfADenial),
	)
}

func extra(r *run, k kind) {
	a := r.open(k.spec(10, r.long()))
	for _, step := range []struct {
		cost, extra int64
		granted     bool
		got, left   int64
		because     string
	}{
		{2, 3, true, 3, 5, "5 of 10 are spent"},
		{0, 1, true, 1, 4, "the cost may be nothing"},
		{1, 5, true, 3, 0, "3 are left after the cost"},
		{0, 5, true, 0, 0, "nothing is left, and nothing has to be granted"},
		{1, 5, false, 0, 0, "the cost does not fit, so nothing is granted"},
	} {
		c := a.charge(step.cost)
		c.Extra = step.extra
		got := r.takeOne(c)
		r.want(got.Granted == step.granted, "Take(%s) says granted: %v: %s", describe(c), got.Granted, step.because)
		r.want(got.Extra == step.got, "Take(%s) granted %d extra, want %d: %s", describe(c), got.Extra, step.got, step.because)
		r.wantLeft(got, step.left, "Take("+describe(c)+")", step.because)
	}
	r.denies(a, 1, 0, "extra units are spent like any other")

	b := r.open(k.spec(10, r.long()))
	c := b.charge(4)
	c.Extra = math.MaxInt64
	got := r.takeOne(c)
	r.want(got.Extra == 6, "Take(%s) granted %d extra of 10, want 6", describe(c), got.Extra)
}

func extraOfADenial(r *run) {
	for _, k := range r.kindsAtHand() {
		a, empty := r.open(k.spec(10, r.long())), r.open(tokenBucket.spec(1, r.long()))
		r.drain(empty)
		c := a.charge(1)
		c.Extra = 5
		got := r.take(c, empty.charge(1))
		r.want(got[0].Extra == 0, "%s: a denied call granted %d extra", k.name, got[0].Extra)
		r.left(a, 10, "the call was denied")
	}
}
