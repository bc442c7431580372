package storetest

func shadowCases() []Case {
	return []Case{
		one("ShadowNeverVetoes", "A Shadow charge never keeps the others from being spent, and reports its own denial.", 0, shadowNeverVetoes),
		one("ShadowIsCharged", "A Shadow charge is spent when the others are and it fits.", 0, shadowIsCharged),
		one("ShadowOfADenial", "When a charge that is not Shadow is denied, no key's spending changes, and a Shadow charge says what it would have been.", 0, shadowOfADenial),
		one("ShadowAlone", "A Shadow charge alone is spent when it fits, and is otherwise denied by its own word only.", 0, shadowAlone),
		one("ShadowBeforeItsKey", "A Shadow charge never keeps the others from being spent, not even one of its own key that comes after it.", 0, shadowBeforeItsKey),
	}
}

func shadowNeverVetoes(r *run) {
	for _, k := range r.kindsAtHand() {
		a, b, shadow := r.open(tokenBucket.spec(10, r.long())), r.open(k.spec(10, r.long())), r.open(k.spec(3, r.long()))
		r.grants(shadow, 2, 1, "nobody has used the key")
		got := r.take(a.charge(2), shadowed(shadow.charge(2)), b.charge(2))
		r.want(got[0].Granted && got[2].Granted, "%s: charges were denied beside a shadow charge that does not fit", k.name)
		r.want(!got[1].Granted, "%s: a shadow charge that does not fit says granted", k.name)
		r.left(a, 8, "only a shadow charge was denied")
		r.left(b, 8, "only a shadow charge was denied")
		r.left(shadow, 1, "a shadow charge that does not fit is not spent")
	}
}

func shadowIsCharged(r *run) {
	for _, k := range r.kindsAtHand() {
		a, shadow := r.open(tokenBucket.spec(10, r.long())), r.open(k.spec(5, r.long()))
		got := r.take(shadowed(shadow.charge(3)), a.charge(1))
		r.want(got[0].Granted && got[1].Granted, "%s: a call that fits was denied", k.name)
		r.wantLeft(got[0], 2, k.name+": the shadow charge", "it is spent with the others")
		r.holds(shadow, 2, "a shadow charge of 3 was spent")
		r.left(a, 9, "the call was granted")
	}
}

func shadowOfADenial(r *run) {
	for _, k := range r.kindsAtHand() {
		a, fits, full := r.open(tokenBucket.spec(1, r.long())), r.open(k.spec(5, r.long())), r.open(k.spec(5, r.long()))
		r.drain(a)
		r.drain(full)
		got := r.take(shadowed(fits.charge(2)), a.charge(1), shadowed(full.charge(2)))
		r.want(!got[1].Granted, "%s: an empty key granted", k.name)
		r.want(got[0].Granted && !got[2].Granted, "%s: shadow charges with 5 and 0 left say granted: %v and %v", k.name, got[0].Granted, got[2].Granted)
		r.wantLeft(got[0], 5, k.name+": the shadow charge", "the call spends nothing")
		r.left(fits, 5, "the call was denied, so its shadow charge is not spent")
	}
}

func shadowAlone(r *run) {
	shadow := r.open(tokenBucket.spec(2, r.long()))
	for i := range int64(4) {
		c := shadowed(shadow.charge(1))
		got := r.takeOne(c)
		r.want(got.Granted == (i < 2), "shadow charge %d of a limit of 2 says granted: %v", i+1, got.Granted)
		r.wantLeft(got, max(0, 1-i), "Take("+describe(c)+")", "a shadow charge counts like any other")
	}
	other := r.open(tokenBucket.spec(2, r.long()))
	got := r.take(shadowed(shadow.charge(1)), shadowed(other.charge(1)))
	r.want(!got[0].Granted && got[1].Granted, "shadow charges with 0 and 2 left say granted: %v and %v", got[0].Granted, got[1].Granted)
	r.left(other, 1, "no charge that counts was denied, so what fits is spent")
}

func shadowBeforeItsKey(r *run) {
	a := r.open(tokenBucket.spec(3, r.long()))
	got := r.take(shadowed(a.charge(2)), a.charge(2))
	r.want(got[1].Granted, "a charge of 2 was denied, with 3 left before the call")
	r.want(!got[0].Granted, "a shadow charge of 2 says granted, and 1 is left beside the charge that counts")
	r.left(a, 1, "the charge that counts was spent, and the shadow charge does not fit")
}
