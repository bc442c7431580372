package storetest

import (
	"sync/atomic"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

func giveCases() []Case {
	list := each(allKinds, "GiveReturns",
		"Give returns units of earlier grants.", 0, giveReturns)
	list = append(list, each(allKinds, "GiveNeverAboveQuota",
		"Give never leaves a key with more than its quota, whatever is given and however often.", 0, giveNeverAbove)...)
	list = append(list, each(allKinds, "GiveUnderANewQuota",
		"Units are returned under the quota of the day, when it counts in the same windows.", Numbers|exactTime, giveUnderANewQuota)...)
	return append(list,
		one("GiveWithoutAReceipt", "Give with a zero receipt does nothing.", 0, giveWithoutReceipt),
		one("GiveOfNothing", "Give to a key that has spent nothing does nothing.", 0, giveOfNothing),
		one("GiveAfterReset", "What has been forgotten is not returned.", 0, giveAfterReset),
		one("GiveOfADenial", "A call that spends nothing has nothing to give back.", 0, giveOfADenial),
		one("GiveExtra", "Extra units can be given back with the cost, or alone.", 0, giveExtra),
		one("GiveSeveral", "One call returns units to several keys, and to one key several times.", 0, giveSeveral),
		one("GiveStorm", "Units that are taken and given back all the time are neither lost nor made.", 0, giveStorm),
	)
}

func giveReturns(r *run, k kind) {
	a := r.open(k.spec(10, r.long()))
	first := r.grants(a, 3, 7, "nobody has used the key")
	second := r.grants(a, 4, 3, "3 were spent")
	r.give(a.refund(1, first.Receipt))
	r.left(a, 4, "1 was given back")
	r.give(a.refund(4, second.Receipt))
	r.left(a, 8, "5 were given back")
	r.give(a.refund(0, first.Receipt))
	r.left(a, 8, "0 were given back")
	r.give(a.refund(2, first.Receipt))
	r.left(a, 10, "everything was given back")
	r.holds(a, 10, "everything was given back")
}

func giveNeverAbove(r *run, k kind) {
	a := r.open(k.spec(10, r.long()))
	got := r.grants(a, 3, 7, "nobody has used the key")
	r.grants(a, 2, 5, "3 were spent")
	for _, units := range []int64{3, 3, 3, 10, 1 << 40, 1<<63 - 1} {
		r.give(a.refund(units, got.Receipt))
		left := r.peekOne(a.charge(1)).Remaining
		r.want(left <= 10, "%d units given back leave %d of 10", units, left)
	}
	left := r.peekOne(a.charge(1)).Remaining
	r.holds(a, left, "Peek said so")
}

func giveUnderANewQuota(r *run, k kind) {
	period := r.long()
	a := r.open(k.spec(10, period))
	got := r.grants(a, 4, 6, "nobody has used the key")
	raised := a.under(r.quota(k.spec(20, period)))
	r.left(raised, 16, "4 were spent")
	r.give(raised.refund(4, got.Receipt))
	r.left(raised, 20, "4 were given back")
	got = r.grants(raised, 15, 5, "nothing was spent")
	r.left(a, 0, "15 were spent")
	r.give(a.refund(10, got.Receipt))
	r.left(a, 5, "10 of 15 were given back")
}

func giveWithoutReceipt(r *run) {
	for _, k := range r.kindsAtHand() {
		a := r.open(k.spec(10, r.long()))
		r.give(a.refund(3, algo.Receipt{}))
		r.left(a, 10, "nothing was spent")
		r.grants(a, 6, 4, "nobody has used the key")
		r.give(a.refund(3, algo.Receipt{}))
		r.left(a, 4, "a zero receipt returns nothing")
	}
}

func giveOfNothing(r *run) {
	for _, k := range r.kindsAtHand() {
		a, stranger := r.open(k.spec(10, r.long())), r.open(k.spec(10, r.long()))
		got := r.grants(a, 6, 4, "nobody has used the key")
		r.give(stranger.refund(6, got.Receipt))
		r.holds(stranger, 10, "the key has spent nothing")
		r.left(a, 4, "units were given to another key")
	}
}

func giveAfterReset(r *run) {
	for _, k := range r.kindsAtHand() {
		a := r.open(k.spec(10, r.long()))
		got := r.grants(a, 6, 4, "nobody has used the key")
		r.reset(a)
		r.give(a.refund(6, got.Receipt))
		r.holds(a, 10, "the spending was forgotten before it was given back")
	}
}

func giveOfADenial(r *run) {
	for _, k := range r.kindsAtHand() {
		a, empty := r.open(k.spec(10, r.long())), r.open(tokenBucket.spec(1, r.long()))
		r.drain(empty)
		r.grants(a, 6, 4, "nobody has used the key")
		for _, got := range [][]core.Result{
			r.take(a.charge(3), empty.charge(1)),
			r.take(empty.charge(1), a.charge(3)),
			r.take(a.charge(5)),
			r.peek(a.charge(3)),
		} {
			for i := range got {
				r.give(a.refund(3, got[i].Receipt))
			}
			r.left(a, 4, "the call spent nothing, and there is nothing to give back")
		}
	}
}

func giveExtra(r *run) {
	for _, k := range r.kindsAtHand() {
		a := r.open(k.spec(10, r.long()))
		c := a.charge(2)
		c.Extra = 5
		got := r.takeOne(c)
		r.want(got.Granted && got.Extra == 5, "%s: Take(%s) says granted: %v, %d extra", k.name, describe(c), got.Granted, got.Extra)
		r.give(a.refund(3, got.Receipt))
		r.left(a, 6, "3 of 7 were given back")
		r.give(a.refund(4, got.Receipt))
		r.holds(a, 10, "all 7 were given back")
	}
}

func giveSeveral(r *run) {
	accounts := r.mixed(6, 0, 10)
	got := r.take(charges(accounts, 5)...)
	var refunds []core.Refund
	for i, a := range accounts {
		refunds = append(refunds, a.refund(2, got[i].Receipt))
	}
	refunds = append(refunds, refunds[0], refunds[3])
	r.give(refunds...)
	for i, a := range accounts {
		left := int64(7)
		if i == 0 || i == 3 {
			left = 9
		}
		r.holds(a, left, "2 were given back, or 2 twice")
	}
}

// giveStorm keeps count of what is out, which must never be above the quota.
func giveStorm(r *run) {
	const n = 20
	for _, k := range r.kindsAtHand() {
		a := r.open(k.spec(n, r.long()))
		var out atomic.Int64
		r.parallel(stormers, func(_ int, r *run) {
			for range stormEach {
				got := r.takeOne(a.charge(1))
				if !got.Granted {
					continue
				}
				now := out.Add(1)
				r.want(now <= n, "%s: %d units are out at once, of %d", k.name, now, n)
				out.Add(-1)
				r.give(a.refund(1, got.Receipt))
			}
		})
		if r.exact() || k.name != tokenBucket.name && k.name != leakyMeter.name {
			r.holds(a, n, "everything that was taken was given back")
		}
	}
}
