package storetest

import (
	"time"

	"github.com/tidegate/tidegate/core"
)

func peekCases() []Case {
	list := each(allKinds, "PeekSpendsNothing", "Peek spends nothing.", 0, peekSpendsNothing)
	list = append(list, each(allKinds, "PeekAgrees",
		"Peek answers as Take would at the same instant.", Numbers|exactTime, peekAgrees)...)
	return append(list,
		one("PeekOfSeveral", "Peek answers as Take would: charges of the same key see those before, and shadow charges deny nobody.", 0, peekOfSeveral),
		one("PeekOfAQueue", "Peek tells the delay that Take would, and takes no turn.", Queues, peekOfAQueue),
	)
}

func peekSpendsNothing(r *run, k kind) {
	a := r.open(k.spec(10, r.long()))
	for range 30 {
		r.left(a, 10, "nobody has used the key")
		c := a.charge(3)
		c.Extra = 4
		r.peekOne(c)
	}
	r.grants(a, 4, 6, "peeks have spent nothing")
	for range 30 {
		r.left(a, 6, "peeks spend nothing")
		r.peekOne(a.charge(8))
	}
	r.holds(a, 6, "peeks have spent nothing")
}

// peekAgrees looks before each step of a story, and takes at the same instant.
func peekAgrees(r *run, k kind) {
	a := r.open(k.spec(shortUnits, shortPeriod))
	for i, cost := range []int64{2, 0, 4, 3, 1, 1, 8, 5, 2, 7, 1, 3, 4} {
		c := a.charge(cost)
		before := r.peekOne(c)
		again := r.peekOne(c)
		r.want(before == again, "two looks at one instant differ: %+v and %+v", before, again)
		got := r.takeOne(c)
		r.want(before.Granted == got.Granted, "Peek(%s) says granted: %v, and Take %v", describe(c), before.Granted, got.Granted)
		r.want(before.RetryAfter == got.RetryAfter, "Peek(%s) says retry after %v, and Take %v", describe(c), before.RetryAfter, got.RetryAfter)
		if got.Granted {
			r.want(before.Remaining == got.Remaining+cost, "Peek(%s) says %d remaining, and Take %d after it", describe(c), before.Remaining, got.Remaining)
		} else {
			r.want(sameNumbers(before, got), "Peek(%s) shows %s, and the denial %s", describe(c), numbers(before), numbers(got))
		}
		after := r.peekOne(c)
		r.want(sameNumbers(after, got), "Peek(%s) right after Take shows %s, and Take %s", describe(c), numbers(after), numbers(got))
		r.sleep(time.Duration(i) * 5 * time.Millisecond)
	}
}

func peekOfSeveral(r *run) {
	for _, k := range r.kindsAtHand() {
		a, other := r.open(k.spec(10, r.long())), r.open(tokenBucket.spec(5, r.long()))
		r.grants(a, 5, 5, "nobody has used the key")
		got := r.peek(a.charge(3), other.charge(1), a.charge(3))
		r.want(got[0].Granted && got[1].Granted, "%s: Peek denies the first 3 of 5", k.name)
		r.want(!got[2].Granted, "%s: Peek grants 3 units of 5 twice", k.name)
		for _, i := range []int{0, 2} {
			r.wantLeft(got[i], 5, k.name+": Peek of a key named twice", "the numbers of Peek describe the keys as they are")
		}
		r.left(other, 5, "peeks spend nothing")
	}
	shadow, a := r.open(tokenBucket.spec(1, r.long())), r.open(tokenBucket.spec(2, r.long()))
	r.drain(shadow)
	got := r.peek(shadowed(shadow.charge(1)), a.charge(1))
	r.want(!got[0].Granted && got[1].Granted, "Peek of an empty shadow key beside another says granted: %v and %v", got[0].Granted, got[1].Granted)
}

func peekOfAQueue(r *run) {
	a := r.open(slowBucket(1))
	r.queues(a, forever, 0, "the bucket is full")
	for i := range time.Duration(3) {
		c := waiting(a.charge(1), forever)
		var got core.Result
		for range 3 {
			got = r.peekOne(c)
		}
		r.want(got.Granted, "Peek(%s) says denied", describe(c))
		r.same(got.Delay, (i+1)*slowTurn, "Peek(%s): Delay", describe(c))
		r.queues(a, forever, (i+1)*slowTurn, "Peek took no turn")
	}
}
