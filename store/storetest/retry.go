package storetest

import (
	"fmt"
	"time"

	"github.com/tidegate/tidegate/core"
)

func retryCases() []Case {
	list := each(allKinds, "RetryAfter",
		"RetryAfter is the wait after which this very charge is granted, if nobody else takes from the key: exact, for every cost.", Numbers, retryAfter)
	list = append(list, each(allKinds, "NextAfter",
		"NextAfter is the time until Remaining grows by one; 0 when nothing is spent.", Numbers|exactTime, nextAfter)...)
	list = append(list, each(allKinds, "ResetAfter",
		"ResetAfter is the time until the key equals one never used.", Numbers, resetAfter)...)
	return append(list, each(allKinds, "RetriesChangeNothing",
		"A caller who keeps asking while denied waits no longer than one who waits.", Numbers, retriesChangeNothing)...)
}

const (
	shortUnits  = 7
	shortPeriod = 100 * time.Millisecond
)

// spendUnevenly takes everything from a new account, in several steps.
func (r *run) spendUnevenly(a account) {
	r.grants(a, 2, shortUnits-2, "nobody has used the key")
	r.sleep(13*time.Millisecond + 7*time.Microsecond)
	r.takeOne(a.charge(1))
	r.sleep(29*time.Millisecond + 31*time.Microsecond)
	c := a.charge(0)
	c.Extra = shortUnits
	r.takeOne(c)
}

func retryAfter(r *run, k kind) {
	costs := []int64{1, 2, 3, 4, 5, 6, 7}
	if !r.exact() {
		costs = []int64{1, 5}
	}
	for _, cost := range costs {
		a := r.open(k.spec(shortUnits, shortPeriod))
		r.spendUnevenly(a)
		r.honest(a.charge(cost))
	}
}

// honest has a charge that is denied now be granted after exactly the told time.
func (r *run) honest(c core.Charge) {
	start := r.s.now()
	got := r.takeOne(c)
	if !r.exact() && got.Granted {
		return // the machine was slow, and the key has earned it
	}
	r.want(!got.Granted, "Take(%s) was granted, want denied: everything is spent", describe(c))
	r.want(got.RetryAfter < core.Never, "Take(%s) says Never, and it fits", describe(c))
	if r.exact() {
		r.notBefore(c, got.RetryAfter)
	} else {
		r.notHalfway(c, start, got.RetryAfter)
	}
	after := r.takeOne(c)
	r.want(after.Granted, "Take(%s) was told to retry after %v, did, and is denied for another %v", describe(c), got.RetryAfter, after.RetryAfter)
}

// notBefore waits for as long as told, and wants the charge denied a microsecond
// before.
func (r *run) notBefore(c core.Charge, told time.Duration) {
	r.sleep(told - time.Microsecond)
	early := r.takeOne(c)
	r.want(!early.Granted, "Take(%s) was told to retry after %v and is granted a microsecond earlier", describe(c), told)
	r.want(early.RetryAfter == time.Microsecond, "Take(%s), a microsecond before the told %v, says retry after %v", describe(c), told, early.RetryAfter)
	r.sleep(time.Microsecond)
}

// notHalfway is notBefore in real time. An early try counts only when it was
// answered before the told time had passed since before the charge was denied.
func (r *run) notHalfway(c core.Charge, start time.Time, told time.Duration) {
	end := r.s.now().Add(told)
	r.sleep(told / 2)
	early := r.peekOne(c)
	if r.s.now().Sub(start) < told {
		r.want(!early.Granted, "Take(%s) was told to retry after %v and is granted halfway", describe(c), told)
	}
	const drift = 2 * time.Millisecond // the store's clock is another one
	r.sleep(end.Sub(r.s.now()) + drift)
}

func nextAfter(r *run, k kind) {
	a := r.open(k.spec(shortUnits, shortPeriod))
	r.want(r.peekOne(a.charge(1)).NextAfter == 0, "NextAfter of a new key is not 0")
	r.spendUnevenly(a)
	for range 4 * shortUnits {
		before := r.peekOne(a.charge(1))
		if !r.ok() || before.NextAfter == 0 {
			break
		}
		r.sleep(before.NextAfter - time.Microsecond)
		early := r.peekOne(a.charge(1))
		r.want(early.Remaining == before.Remaining, "Remaining is %d a microsecond before NextAfter, and was %d", early.Remaining, before.Remaining)
		r.sleep(time.Microsecond)
		after := r.peekOne(a.charge(1))
		r.want(after.Remaining > before.Remaining, "Remaining is still %d after NextAfter, which was %v", after.Remaining, before.NextAfter)
	}
	r.left(a, shortUnits, "it has all come back")
}

func resetAfter(r *run, k kind) {
	a := r.open(k.spec(shortUnits, shortPeriod))
	fresh := r.peekOne(a.charge(1))
	r.want(fresh.ResetAfter == 0, "ResetAfter of a new key is %v, want 0", fresh.ResetAfter)
	r.spendUnevenly(a)
	told := r.peekOne(a.charge(1)).ResetAfter
	if r.exact() {
		r.want(told > 0, "ResetAfter of a used key is %v", told)
		r.sleep(told - time.Microsecond)
		early := r.peekOne(a.charge(1)).ResetAfter
		r.want(early == time.Microsecond, "ResetAfter, a microsecond before the told %v, is %v", told, early)
		r.sleep(time.Microsecond)
	} else {
		r.sleep(told + 2*time.Millisecond)
	}
	got := r.peekOne(a.charge(1))
	r.want(sameNumbers(got, fresh), "a key that was told to reset after %v shows %s, and a new one %s", told, numbers(got), numbers(fresh))
	r.holds(a, shortUnits, "it equals a key never used")
}

func sameNumbers(a, b core.Result) bool {
	return a.Remaining == b.Remaining && a.NextAfter == b.NextAfter && a.ResetAfter == b.ResetAfter
}

func numbers(got core.Result) string {
	return fmt.Sprintf("{remaining %d, next after %v, reset after %v}", got.Remaining, got.NextAfter, got.ResetAfter)
}

func retriesChangeNothing(r *run, k kind) {
	a := r.open(k.spec(5, 2*shortPeriod))
	start := r.s.now()
	r.grants(a, 5, 0, "nobody has used the key")
	told := r.denies(a, 5, 0, "everything is spent").RetryAfter
	end := r.s.now().Add(told)
	for r.ok() && end.Sub(r.s.now()) > told/8 {
		r.sleep((told / 16).Truncate(time.Microsecond))
		got := r.takeOne(a.charge(5))
		if !r.exact() {
			if r.s.now().Sub(start) >= told {
				break
			}
			continue
		}
		want := end.Sub(r.s.now())
		r.want(!got.Granted && got.RetryAfter == want, "a try while denied says granted: %v, retry after %v; want denied for %v", got.Granted, got.RetryAfter, want)
	}
	r.sleep(end.Sub(r.s.now()))
	if !r.exact() {
		r.sleep(2 * time.Millisecond)
	}
	r.want(r.takeOne(a.charge(5)).Granted, "a caller who kept asking is still denied after the %v that the first denial told", told)
}
