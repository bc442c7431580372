package storetest

import (
	"fmt"

	"github.com/tidegate/tidegate/core"
)

func batchCases() []Case {
	return []Case{
		one("AllOrNothing", "A call spends all of its charges or none, whatever their algorithms, and however many there are.", 0, allOrNothing),
		one("AllOrNothingOfManyCallers", "A call spends all of its charges or none, also when they belong to different callers.", 0, allOrNothingOfMany),
		one("DenialTellsOfEachCharge", "Results of a denied call say of each charge whether it would have been granted, and what remains without it.", 0, denialTellsOfEach),
		one("SameKeyTwice", "Charges of one call that name the same key each see what those before it took.", 0, sameKeyTwice),
		one("AnyOrder", "Charges may come in any order, and no two calls wait for each other.", 0, anyOrder),
		one("EmptyCall", "A call without charges does nothing and is no error.", 0, emptyCall),
	}
}

// kindsAtHand returns the ways of counting that the store claims.
func (r *run) kindsAtHand() (list []kind) {
	for _, k := range allKinds {
		if !r.lacks(k.needs) {
			list = append(list, k)
		}
	}
	return list
}

// mixed opens n accounts of one caller that hold so much, of different kinds.
func (r *run) mixed(n, first int, capacity int64) []account {
	kinds := r.kindsAtHand()
	list := make([]account, n)
	for i := range list {
		list[i] = r.open(kinds[(first+i)%len(kinds)].spec(capacity, r.long()))
		list[i].key.Tag = list[0].key.Tag
	}
	return list
}

func charges(accounts []account, cost int64) []core.Charge {
	list := make([]core.Charge, len(accounts))
	for i, a := range accounts {
		list[i] = a.charge(cost)
	}
	return list
}

// allOrNothing has each of 2 to 8 charges be the one that denies.
func allOrNothing(r *run) {
	for n := 2; n <= 8; n++ {
		for denies := range n {
			r.oneDenies(r.mixed(n, n+denies, 10), denies)
		}
	}
}

func allOrNothingOfMany(r *run) {
	for denies := range 5 {
		accounts := r.mixed(5, denies, 10)
		for i := range accounts {
			accounts[i].key.Tag = randomKey().Tag
		}
		r.oneDenies(accounts, denies)
	}
}

func (r *run) oneDenies(accounts []account, denies int) {
	r.grants(accounts[denies], 7, 3, "nobody has used the key")
	why := fmt.Sprintf("charge %d of %d was denied", denies, len(accounts))
	for range 2 {
		r.take(charges(accounts, 4)...)
	}
	for i, a := range accounts {
		if i != denies {
			r.left(a, 10, why)
		}
	}
	r.left(accounts[denies], 3, why)
	for i, got := range r.take(charges(accounts, 3)...) {
		r.want(got.Granted, "charge %d of %d was denied, and all of them fit", i, len(accounts))
	}
	for i, a := range accounts {
		left := int64(7)
		if i == denies {
			left = 0
		}
		r.grants(a, left, 0, "3 were spent by the call that fits")
		r.denies(a, 1, 0, "3 were spent by the call that fits")
	}
}

func denialTellsOfEach(r *run) {
	accounts := r.mixed(4, 0, 10)
	r.grants(accounts[1], 10, 0, "nobody has used the key")
	r.grants(accounts[3], 6, 4, "nobody has used the key")
	for i, got := range r.take(charges(accounts, 5)...) {
		left := []int64{10, 0, 10, 4}[i]
		if got.Partial {
			continue // the store was not asked
		}
		r.want(got.Granted == (left >= 5), "charge %d of a denied call says granted: %v, with %d left", i, got.Granted, left)
		r.wantLeft(got, left, fmt.Sprintf("charge %d of a denied call", i), "the call spends nothing")
		r.want(got.Granted || got.RetryAfter != core.Never, "charge %d of a denied call says Never, and 5 fit into 10", i)
	}
}

func sameKeyTwice(r *run) {
	for _, k := range r.kindsAtHand() {
		a, other := r.open(k.spec(10, r.long())), r.open(k.spec(10, r.long()))
		r.grants(a, 5, 5, "nobody has used the key")
		got := r.take(a.charge(3), other.charge(1), a.charge(3))
		r.want(got[0].Granted, "%s: the first 3 of 5 were denied", k.name)
		r.want(!got[2].Granted, "%s: 3 units of 5 were granted twice in one call", k.name)
		r.left(a, 5, "the call was denied")
		r.left(other, 10, "the call was denied")

		got = r.take(a.charge(3), other.charge(1), a.charge(2))
		r.want(got[0].Granted && got[2].Granted, "%s: 3 and 2 units of 5 were denied", k.name)
		r.wantLeft(got[0], 2, k.name+": the first charge of the key", "it sees what was before the call")
		r.wantLeft(got[2], 0, k.name+": the second charge of the key", "it sees what the first one took")
		r.denies(a, 1, 0, "both charges were spent")
		r.left(other, 9, "the call was granted")
		r.sameKeyBesideDenial(k, other, a)
	}
}

// sameKeyBesideDenial has a spent key deny a call that names another key twice: a
// store that answers denials by a shorter way still has the charges see each other.
func (r *run) sameKeyBesideDenial(k kind, a, spent account) {
	got := r.take(a.charge(6), spent.charge(1), a.charge(6))
	r.want(!got[1].Granted, "%s: a unit of a spent key was granted", k.name)
	r.want(got[0].Granted || got[0].Partial, "%s: beside a denial, the first 6 of 9 are denied too", k.name)
	r.want(!got[2].Granted || got[2].Partial, "%s: beside a denial, 6 units of 9 are granted twice", k.name)
	r.left(a, 9, "the call was denied")
}

// anyOrder has goroutines charge the same keys in opposite orders, and counts
// that nothing was lost.
func anyOrder(r *run) {
	const goroutines, calls, keys = 16, 30, 8
	accounts := r.mixed(keys, 0, goroutines*calls+1)
	r.parallel(goroutines, func(i int, r *run) {
		list := charges(accounts, 1)
		for c := range calls {
			if i%2 == 1 {
				list[c%keys], list[keys-1-c%keys] = list[keys-1-c%keys], list[c%keys]
			}
			list = append(list[1:], list[0])
			for _, got := range r.take(list...) {
				r.want(got.Granted || r.lacks(OneStep), "a charge that fits was denied")
			}
		}
	})
	if r.lacks(OneStep) {
		return
	}
	for _, a := range accounts {
		r.holds(a, 1, "every call was granted and spent one unit of every key")
	}
}

func emptyCall(r *run) {
	r.take()
	r.peek()
	r.give()
	r.reset()
	if !r.ok() {
		return
	}
	err := r.s.Take(r.ctx, nil, nil)
	r.want(err == nil, "Take of nothing: %v", err)
}
