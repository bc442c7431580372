package storetest

import (
	"fmt"
	"math"

	"github.com/tidegate/tidegate/core"
)

func countCases() []Case {
	list := []Case{
		one("DenialIsNotAnError", "A denial is a result. An error means that the store does not know.", 0, denialIsNoError),
		one("CostZeroIsFree", "A charge of cost 0 asks for nothing: it is granted and spends nothing, even from an empty key.", 0, costZeroIsFree),
	}
	list = append(list, each(allKinds, "CountsDown",
		"Remaining is how many charges of cost 1 would pass right now, after this one.", Numbers, countsDown)...)
	list = append(list, each(allKinds, "MixedCosts",
		"A cost is granted whole or not at all, in whatever order large and small ones come.", 0, mixedCosts)...)
	list = append(list, each(allKinds, "DenialSpendsNothing",
		"After a denial no key's spending has changed.", 0, denialSpendsNothing)...)
	list = append(list, each(allKinds, "NeverFits",
		"A cost above what the limit can hold is denied with Never, spends nothing, and is told from a cost that fits later.", 0, neverFits)...)
	list = append(list, each(allKinds, "LimitZero",
		"A limit of 0 allows nothing, and no wait changes that.", 0, limitZero)...)
	return list
}

func denialIsNoError(r *run) {
	a := r.open(tokenBucket.spec(2, r.long()))
	r.drain(a)
	charges, results := []core.Charge{a.charge(1)}, make([]core.Result, 1)
	if !r.ok() {
		return
	}
	err := r.s.Take(r.ctx, charges, results)
	r.want(err == nil, "Take of an empty key returned the error %v, want a result that is not granted", err)
	r.want(!results[0].Granted, "Take of an empty key was granted")
	err = r.s.Peek(r.ctx, charges, results)
	r.want(err == nil, "Peek of an empty key returned the error %v, want a result that is not granted", err)
}

func costZeroIsFree(r *run) {
	a := r.open(tokenBucket.spec(3, r.long()))
	r.grants(a, 0, 3, "nothing was asked")
	r.drain(a)
	r.grants(a, 0, 0, "nothing is asked, so nothing can be lacking")
	r.denies(a, 1, 0, "the key is empty")
}

func countsDown(r *run, k kind) {
	const n = 12
	a := r.open(k.spec(n, r.long()))
	r.left(a, n, "nobody has used the key")
	for i := range int64(n) {
		r.grants(a, 1, n-1-i, fmt.Sprintf("%d units were spent before", i))
	}
	for range 3 {
		r.denies(a, 1, 0, "everything is spent")
	}
}

func mixedCosts(r *run, k kind) {
	for _, costs := range [][]int64{{9, 1}, {1, 9}, {1, 8, 1}, {4, 3, 2, 1}, {10}} {
		a := r.open(k.spec(10, r.long()))
		left := int64(10)
		for _, cost := range costs {
			left -= cost
			r.grants(a, cost, left, fmt.Sprintf("costs %v make 10", costs))
		}
		r.denies(a, 1, 0, fmt.Sprintf("costs %v make 10", costs))
	}
}

func denialSpendsNothing(r *run, k kind) {
	a := r.open(k.spec(10, r.long()))
	r.grants(a, 8, 2, "nobody has used the key")
	for range 5 {
		r.denies(a, 5, 2, "5 do not fit, and nothing of them is spent")
	}
	r.grants(a, 1, 1, "denials have spent nothing")
	r.holds(a, 1, "denials have spent nothing")
}

func neverFits(r *run, k kind) {
	a := r.open(k.spec(5, r.long()))
	left := int64(5)
	for _, spend := range []int64{2, 3, 0} {
		for _, cost := range []int64{6, 7, 1 << 40, math.MaxInt64} {
			got := r.denies(a, cost, left, "it never fits")
			r.want(got.RetryAfter == core.Never, "Take of cost %d against 5 says retry after %v, want Never", cost, got.RetryAfter)
		}
		if left < 5 {
			got := r.denies(a, 5, left, "it fits only later")
			r.want(got.RetryAfter != core.Never, "Take of cost 5 against 5 with %d left says Never, want a wait", left)
		}
		left -= spend
		r.grants(a, spend, left, "what never fits has spent nothing")
	}
}

func limitZero(r *run, k kind) {
	a, other := r.open(k.spec(0, r.long())), r.open(k.spec(5, r.long()))
	for _, cost := range []int64{1, 1, 7} {
		got := r.denies(a, cost, 0, "the limit is 0")
		r.want(got.RetryAfter == core.Never, "Take against a limit of 0 says retry after %v, want Never", got.RetryAfter)
	}
	got := r.peekOne(a.charge(1))
	r.want(!got.Granted, "Peek against a limit of 0 was granted")
	both := r.take(other.charge(1), a.charge(1))
	r.want(!both[1].Granted, "Take against a limit of 0, beside another limit, was granted")
	r.left(other, 5, "the charge beside it was denied")
}
