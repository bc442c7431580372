package storetest

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

func queueCases() []Case {
	return []Case{
		one("QueueInOrder", "A bucket grants a charge for a later turn, and tells how long until then.", Queues, queueInOrder),
		one("QueueIsBounded", "A leaky bucket's queue holds so many and no more, however long they would wait.", Queues, queueIsBounded),
		one("QueueIsPatient", "Nobody is queued for longer than MaxDelay.", Queues, queueIsPatient),
		one("QueueRetryAfter", "RetryAfter of a charge that may wait is the time until it may queue.", Queues|exactTime, queueRetryAfter),
		one("QueueAllOrNothing", "A turn in a call that is denied is not taken.", Queues, queueAllOrNothing),
		one("QueueStorm", "However many callers queue at one key, each gets a turn of its own.", Queues, queueStorm),
		one("OnlyBucketsQueue", "Algorithms that are no buckets do not queue.", 0, onlyBucketsQueue),
	}
}

// slow is a rate of one each ten seconds: real time hardly shows in it.
const (
	slowTurn   = 10 * time.Second
	slowUnits  = 100
	slowPeriod = slowUnits * slowTurn
)

func slowBucket(burst int64) algo.Spec {
	return algo.Spec{Limit: slowUnits, Period: slowPeriod, Burst: burst}
}

func waiting(c core.Charge, most time.Duration) core.Charge {
	c.MaxDelay = most
	return c
}

const forever = time.Duration(math.MaxInt64) - 1

// queues takes one unit and wants it granted for a turn so far away.
func (r *run) queues(a account, most, delay time.Duration, why string) core.Result {
	c := waiting(a.charge(1), most)
	got := r.takeOne(c)
	r.want(got.Granted, "Take(%s) was denied, retry after %v; want a delay of %v: %s", describe(c), got.RetryAfter, delay, why)
	r.same(got.Delay, delay, "Take(%s): Delay (%s)", describe(c), why)
	return got
}

func (r *run) refuses(a account, most, retry time.Duration, why string) {
	c := waiting(a.charge(1), most)
	got := r.takeOne(c)
	r.want(!got.Granted, "Take(%s) was granted with a delay of %v, want denied: %s", describe(c), got.Delay, why)
	r.same(got.RetryAfter, retry, "Take(%s): RetryAfter (%s)", describe(c), why)
}

func queueInOrder(r *run) {
	a := r.open(slowBucket(3))
	for range 3 {
		r.queues(a, forever, 0, "the burst waits for nothing")
	}
	for i := range time.Duration(5) {
		r.queues(a, forever, (i+1)*slowTurn, "one turn is after the other")
	}
	r.denies(a, 1, 0, "five are waiting already, and this one cannot")
	s := r.open(shaper(slowUnits, slowPeriod, 5))
	for i := range time.Duration(6) {
		r.queues(s, forever, i*slowTurn, "one turn is after the other")
	}
}

func queueIsBounded(r *run) {
	a := r.open(shaper(slowUnits, slowPeriod, 3))
	for i := range time.Duration(4) {
		r.queues(a, forever, i*slowTurn, "one leaves each turn, and three may wait")
	}
	r.refuses(a, forever, slowTurn, "the queue is full")
	r.refuses(a, time.Hour, slowTurn, "the queue is full")
}

func queueIsPatient(r *run) {
	const most = 25 * time.Second
	a := r.open(slowBucket(1))
	r.queues(a, most, 0, "the bucket is full")
	r.queues(a, most, slowTurn, "one is ahead")
	r.queues(a, most, 2*slowTurn, "two are ahead")
	r.refuses(a, most, 3*slowTurn-most, "three are ahead, which is too long")
	r.refuses(a, 0, 3*slowTurn, "it does not wait")
	r.queues(a, 4*slowTurn, 3*slowTurn, "the denied ones have taken no turn")

	s := r.open(shaper(slowUnits, slowPeriod, 50))
	r.queues(s, most, 0, "nobody is ahead")
	r.queues(s, most, slowTurn, "one is ahead")
	r.refuses(s, 0, 2*slowTurn, "it does not wait")
	r.queues(s, most, 2*slowTurn, "two are ahead")
	r.refuses(s, most, 3*slowTurn-most, "three are ahead, which is too long")
}

func queueRetryAfter(r *run) {
	for _, spec := range []algo.Spec{
		{Limit: shortUnits, Period: shortPeriod, Burst: 3},
		shaper(shortUnits, shortPeriod, 4),
	} {
		for _, most := range []time.Duration{0, time.Microsecond, 30 * time.Millisecond} {
			a := r.open(spec)
			for range 3 * shortUnits {
				r.takeOne(waiting(a.charge(1), most))
			}
			r.honest(waiting(a.charge(1), most))
		}
	}
}

func queueAllOrNothing(r *run) {
	a, empty := r.open(slowBucket(1)), r.open(fixedWindow.spec(1, r.long()))
	r.drain(empty)
	r.queues(a, forever, 0, "the bucket is full")
	got := r.take(waiting(a.charge(1), forever), waiting(empty.charge(1), forever))
	r.want(!got[1].Granted, "a fixed window queued a charge")
	r.queues(a, forever, slowTurn, "the call before was denied and took no turn")
}

func queueStorm(r *run) {
	const burst = 5
	a := r.open(slowBucket(burst))
	var mu sync.Mutex
	var delays []time.Duration
	r.parallel(stormers, func(_ int, r *run) {
		got := r.takeOne(waiting(a.charge(1), forever))
		mu.Lock()
		defer mu.Unlock()
		delays = append(delays, got.Delay)
	})
	slices.Sort(delays)
	for i, delay := range delays {
		r.same(delay, max(0, time.Duration(i-burst+1)*slowTurn), "the delay of caller %d of %d", i+1, stormers)
	}
}

func onlyBucketsQueue(r *run) {
	for _, k := range windows {
		if r.lacks(k.needs) {
			continue
		}
		a := r.open(k.spec(3, r.long()))
		r.drain(a)
		for _, most := range []time.Duration{time.Hour, forever} {
			got := r.takeOne(waiting(a.charge(1), most))
			r.want(!got.Granted, "%s granted a charge for later, with a delay of %v", k.name, got.Delay)
		}
	}
}
