package storetest

import (
	"fmt"
	"time"

	"github.com/tidegate/tidegate/core/algo"
)

func changeCases() []Case {
	list := each(allKinds, "LowerKeepsSpent",
		"A key whose quota is lowered keeps what it has spent: less remains, and never less than 0.", Numbers, lowerKeepsSpent)
	list = append(list, each(allKinds, "RaiseLetsTheDifferenceThrough",
		"A key whose quota is raised keeps what it has spent: the difference passes at once, and no more.", 0, raiseLetsDifference)...)
	list = append(list, each(allKinds, "PeriodKeepsSpent",
		"A key whose period changes keeps what it has spent.", Numbers, periodKeepsSpent)...)
	list = append(list, each(allKinds, "RetryAfterALoweredQuota",
		"RetryAfter is exact under a quota that was lowered below what is spent.", Numbers|exactTime, retryAfterLowered)...)
	return append(list,
		one("BurstChanges", "A burst that changes with the rate changes at once.", 0, burstChanges),
		one("AlignmentChanges", "A fixed window that is aligned anew keeps what it has spent.", 0, alignmentChanges),
		one("LoweredRateStillFlows", "A bucket whose rate is lowered goes on at the lower rate, and never stops.", exactTime|Numbers, loweredRateFlows),
		one("AnotherAlgorithm", "A limit is known by its algorithm: what a key has spent under one is not read as the state of another.", 0, anotherAlgorithm),
	)
}

func lowerKeepsSpent(r *run, k kind) {
	period := r.long()
	a := r.open(k.spec(100, period))
	under := func(n int64) account { return a.under(r.quota(k.spec(n, period))) }
	r.grants(a, 1, 99, "nobody has used the key")
	r.grants(a, 1, 98, "1 was spent")
	r.grants(under(10), 1, 7, "2 were spent before the quota became 10")
	r.denies(under(1), 1, 0, "3 were spent before the quota became 1")
	r.grants(a, 1, 96, "3 were spent before the quota came back to 100")
	r.grants(a, 36, 60, "4 were spent")
	r.denies(under(10), 1, 0, "40 were spent before the quota became 10")
	r.left(under(41), 1, "40 were spent before the quota became 41")
	r.grants(under(50), 10, 0, "40 were spent before the quota became 50")
	r.grants(a, 1, 49, "50 were spent before the quota came back to 100")
	r.denies(under(0), 1, 0, "the quota is 0")
	r.left(a, 49, "51 were spent before the quota came back to 100")
}

func raiseLetsDifference(r *run, k kind) {
	period := r.long()
	a := r.open(k.spec(10, period))
	r.drain(a)
	for range 10 {
		r.denies(a, 1, 0, "everything is spent")
	}
	raised := a.under(r.quota(k.spec(20, period)))
	for i := range int64(10) {
		r.grants(raised, 1, 9-i, "10 were spent before the quota became 20, and denials have spent nothing")
	}
	for range 3 {
		r.denies(raised, 1, 0, "the difference has passed")
		r.denies(a, 1, 0, "20 were spent before the quota came back to 10")
	}
}

func periodKeepsSpent(r *run, k kind) {
	period := r.long()
	a := r.open(k.spec(10, period))
	other := a.under(r.quota(k.spec(10, 2*period)))
	r.grants(a, 4, 6, "nobody has used the key")
	r.left(other, 6, "4 were spent before the period changed")
	r.grants(other, 6, 0, "4 were spent before the period changed")
	for range 5 { // instances that do not all know of the change yet
		r.denies(a, 1, 0, "10 were spent before the period changed back")
		r.denies(other, 1, 0, "10 were spent before the period changed")
	}
}

func retryAfterLowered(r *run, k kind) {
	for _, cost := range []int64{1, 2, 3} {
		a := r.open(k.spec(20, shortPeriod))
		r.grants(a, 6, 14, "nobody has used the key")
		r.sleep(17*time.Millisecond + 3*time.Microsecond)
		r.takeOne(a.charge(13))
		r.honest(a.under(r.quota(k.spec(3, shortPeriod))).charge(cost))
	}
}

func burstChanges(r *run) {
	period := r.long()
	a := r.open(algo.Spec{Limit: 5, Period: period})
	r.grants(a, 1, 4, "the burst is that of the limit")
	r.grants(a.under(r.quota(algo.Spec{Limit: 10, Period: period})), 9, 0, "the burst grew with the limit, and 1 was spent")

	b := r.open(algo.Spec{Limit: 5, Period: period, Burst: 2})
	r.drain(b)
	wide := b.under(r.quota(algo.Spec{Limit: 5, Period: period, Burst: 8}))
	r.holds(wide, 6, "2 were spent before the burst became 8")
	r.denies(b, 1, 0, "8 were spent before the burst came back to 2")
}

func alignmentChanges(r *run) {
	period := r.long()
	a := r.open(fixedWindow.spec(10, period))
	r.grants(a, 4, 6, "nobody has used the key")
	first := a.under(r.quota(firstRequest.spec(10, period)))
	r.grants(first, 2, 4, "4 were spent in a window of the clock's")
	r.grants(a, 1, 3, "6 were spent in windows of both kinds")
}

// loweredRateFlows lowers 5 to 2 while 5 are spent: one passes when 4 have drained,
// and then one each half second.
func loweredRateFlows(r *run) {
	for _, k := range buckets {
		a := r.open(k.spec(5, time.Second))
		r.drain(a)
		low := a.under(r.quota(k.spec(2, time.Second)))
		r.denies(low, 1, 0, "5 were spent before the quota became 2")
		granted := 0
		for range 500 { // 5 seconds
			r.sleep(10 * time.Millisecond)
			if r.takeOne(low.charge(1)).Granted {
				granted++
			}
		}
		const want = 7 // the first at 2s, the last at 5s
		r.want(granted == want, "%s: lowered from 5 to 2 a second, with 5 spent, it granted %d in 5s, want %d", k.name, granted, want)
	}
}

func anotherAlgorithm(r *run) {
	for _, from := range r.kindsAtHand() {
		for _, to := range r.kindsAtHand() {
			a := r.open(from.spec(6, r.long()))
			b := a.under(r.quota(to.spec(10, r.long())))
			if a.quota.Algorithm() == b.quota.Algorithm() {
				continue
			}
			r.grants(a, 5, 1, "nobody has used the key")
			why := fmt.Sprintf("the key became one of a %v", b.quota.Algorithm())
			r.left(b, 10, why)
			r.grants(b, 4, 6, why)
			r.left(b, 6, why)
		}
	}
}
