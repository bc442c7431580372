package storetest

import "time"

func giveBackCases() []Case {
	list := each(windows, "GiveAfterTheWindow",
		"What has been forgotten is not returned: units of a window that is over are not given to the next.", 0, giveAfterTheWindow)
	list = append(list, each(buckets, "GiveAfterRefill",
		"What has been refilled is not returned a second time.", exactTime|Numbers, giveAfterRefill)...)
	return append(list,
		one("GiveToTheVeryCell", "Units go back to the very window or entry that they came from, so they do not come back once more when it ends.", exactTime|Numbers, giveToTheVeryCell),
		one("GiveTurn", "A turn is given back only when no later grant stands behind it.", Queues, giveTurn),
		one("GivePlace", "A place in a leaky bucket's queue is given back only when it is the last.", Queues, givePlace),
		one("GiveKeepsTime", "What remains after a refund is told exactly: when it comes back, and when all has.", exactTime|Numbers, giveKeepsTime),
	)
}

func giveAfterTheWindow(r *run, k kind) {
	const period = 300 * time.Millisecond
	a := r.open(k.spec(10, period))
	old := r.grants(a, 6, 4, "nobody has used the key")
	r.sleep(r.peekOne(a.charge(1)).ResetAfter)
	if !r.exact() {
		r.sleep(2 * time.Millisecond)
	}
	start := r.s.now()
	got := r.takeOne(a.charge(5))
	r.want(got.Granted, "5 of 10 were denied after the window's end")
	r.give(a.refund(6, old.Receipt))
	left := r.peekOne(a.charge(1)).Remaining
	if r.exact() || r.s.now().Sub(start) < period/2 {
		r.want(left == 5, "%d remain after 5 of 10 were spent and 6 of an earlier window given back, want 5", left)
	}
}

func giveAfterRefill(r *run, k kind) {
	a := r.open(k.spec(5, 50*time.Millisecond)) // one each 10ms
	first := r.grants(a, 3, 2, "nobody has used the key")
	second := r.grants(a, 2, 0, "3 were spent")
	r.sleep(30 * time.Millisecond)
	r.left(a, 3, "3 were refilled")
	r.give(a.refund(3, first.Receipt))
	r.left(a, 3, "units drain in the order in which they were spent, so those 3 are back already")
	r.give(a.refund(2, second.Receipt))
	r.left(a, 5, "2 had not been refilled")
	r.sleep(time.Second)
	r.grants(a, 5, 0, "the bucket is full")
	r.give(a.refund(3, first.Receipt), a.refund(2, second.Receipt))
	r.left(a, 0, "what was spent a second ago has been refilled")

	b := r.open(k.spec(5, 50*time.Millisecond))
	got := r.grants(b, 5, 0, "nobody has used the key")
	r.sleep(25 * time.Millisecond)
	r.give(b.refund(5, got.Receipt))
	r.left(b, 5, "half was refilled and half given back")
	r.holds(b, 5, "half was refilled and half given back")
}

func giveToTheVeryCell(r *run) {
	for _, k := range []kind{slidingLog, slidingCells} {
		if r.lacks(k.needs) {
			continue
		}
		a := r.open(k.spec(10, shortPeriod))
		first := r.grants(a, 5, 5, "nobody has used the key")
		firstEnds := r.s.now().Add(first.ResetAfter)
		r.sleep(shortPeriod / 2)
		second := r.grants(a, 5, 0, "5 were spent")
		secondEnds := r.s.now().Add(second.ResetAfter)
		r.give(a.refund(5, first.Receipt))
		r.left(a, 5, "5 were given back")
		r.sleep(firstEnds.Sub(r.s.now()))
		r.left(a, 5, "what ends here was given back before")
		r.sleep(secondEnds.Sub(r.s.now()) - time.Microsecond)
		r.left(a, 5, "the second charge still counts")
		r.sleep(time.Microsecond)
		r.left(a, 10, "the second charge has ended")
	}
	r.giveToThePrevious()
}

// giveToThePrevious gives back to the previous of two counters.
func (r *run) giveToThePrevious() {
	a := r.open(slidingWindow.spec(10, shortPeriod))
	into := time.Duration(r.s.now().UnixNano()) % shortPeriod
	got := r.grants(a, 6, 4, "nobody has used the key")
	r.sleep(shortPeriod - into.Truncate(time.Microsecond)) // the window's edge
	r.grants(a, 1, 3, "the last window counts in full at the edge")
	r.give(a.refund(6, got.Receipt))
	r.left(a, 9, "what the last window held was given back")
	r.sleep(shortPeriod)
	r.left(a, 9, "one was spent in the window that has just ended")
	r.give(a.refund(6, got.Receipt))
	r.left(a, 9, "that window has long ended")
}

func giveTurn(r *run) {
	a := r.open(slowBucket(1))
	r.queues(a, forever, 0, "the bucket is full")
	second := r.queues(a, forever, slowTurn, "one is ahead")
	third := r.queues(a, forever, 2*slowTurn, "two are ahead")
	leave := a.refund(1, second.Receipt)
	leave.Turn = true
	r.give(leave)
	fourth := r.queues(a, forever, 3*slowTurn, "the second left, but the third stood behind it")
	leave = a.refund(1, fourth.Receipt)
	leave.Turn = true
	r.give(leave)
	r.queues(a, forever, 3*slowTurn, "the fourth left, and nobody stood behind it")
	leave = a.refund(1, third.Receipt)
	r.give(leave)
	r.queues(a, forever, 3*slowTurn, "the third was given back without regard to those behind it")
}

func givePlace(r *run) {
	a := r.open(shaper(slowUnits, slowPeriod, 5))
	r.queues(a, forever, 0, "nobody is ahead")
	second := r.queues(a, forever, slowTurn, "one is ahead")
	third := r.queues(a, forever, 2*slowTurn, "two are ahead")
	r.give(a.refund(1, second.Receipt))
	fourth := r.queues(a, forever, 3*slowTurn, "the second left, but the third stood behind it")
	r.give(a.refund(1, third.Receipt))
	r.give(a.refund(1, fourth.Receipt))
	r.queues(a, forever, 3*slowTurn, "the fourth left, and nobody stood behind it")
}

func giveKeepsTime(r *run) {
	for _, k := range r.kindsAtHand() {
		a := r.open(k.spec(10, shortPeriod))
		r.grants(a, 4, 6, "nobody has used the key")
		r.sleep(31 * time.Millisecond)
		got := r.takeOne(a.charge(4))
		r.sleep(time.Millisecond)
		r.give(a.refund(4, got.Receipt))
		told := r.peekOne(a.charge(1)).ResetAfter
		if told == 0 {
			continue // all of it has come back
		}
		r.sleep(told - time.Microsecond)
		early := r.peekOne(a.charge(1)).ResetAfter
		r.want(early == time.Microsecond, "%s: ResetAfter after a refund was %v, and is %v a microsecond before that", k.name, told, early)
		r.sleep(time.Microsecond)
		r.left(a, 10, "ResetAfter has passed")
	}
}
