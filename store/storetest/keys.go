package storetest

import (
	"fmt"
	"math/rand/v2"
	"time"
)

func keyCases() []Case {
	return []Case{
		one("KeysAreIndependent", "What one key spends is spent by no other, however alike they are.", 0, keysAreIndependent),
		one("LimitsOfOneCaller", "The limits of one caller are counted apart.", 0, limitsOfOneCaller),
		one("ManyKeys", "Every key is remembered by itself while it has something spent.", Numbers, manyKeys),
		one("RatesSideBySide", "A fast limit beside a slow one takes nothing from what the slow one remembers.", exactTime, ratesSideBySide),
	}
}

func keysAreIndependent(r *run) {
	spec := tokenBucket.spec(3, r.long())
	a := r.open(spec)
	r.drain(a)
	other := r.open(spec)
	r.grants(other, 1, 2, "another caller has used up another key")

	alike := r.openFor(a, spec)
	alike.key.Hi = a.key.Hi
	r.grants(alike, 1, 2, "the keys differ in Lo")
	alike = r.openFor(a, spec)
	alike.key.Lo = a.key.Lo
	r.grants(alike, 1, 2, "the keys differ in Hi")
	alike = a
	alike.key.Hi, alike.key.Lo = a.key.Lo, a.key.Hi
	r.grants(alike, 1, 2, "the keys have Hi and Lo changed round")

	r.denies(a, 1, 0, "the key itself is used up")
}

func limitsOfOneCaller(r *run) {
	first := r.open(tokenBucket.spec(5, r.long()))
	r.drain(first)
	for _, k := range allKinds {
		if r.lacks(k.needs) {
			continue
		}
		a := r.openFor(first, k.spec(5, r.long()))
		r.grants(a, 2, 3, "another limit of the caller is used up")
		r.left(first, 0, "another limit of the caller was charged")
	}
}

// manyKeys spends a different number for each key, and takes the rest.
func manyKeys(r *run) {
	n := 5_000
	if !r.exact() {
		n = 300
	}
	accounts := make([]account, n)
	quota := r.quota(tokenBucket.spec(8, r.long()))
	for i := range accounts {
		accounts[i] = account{limit: "many", key: randomKey(), quota: quota}
	}
	for i, a := range accounts {
		r.grants(a, int64(i%7), 8-int64(i%7), "the key is new")
	}
	for _, i := range rand.Perm(n) {
		r.holds(accounts[i], 8-int64(i%7), fmt.Sprintf("%d keys are in use, and this one has spent %d", n, i%7))
	}
}

func ratesSideBySide(r *run) {
	slow := r.open(fixedWindow.spec(30, r.long()))
	fast := r.openFor(slow, tokenBucket.spec(10, time.Second))
	for i := range int64(10) {
		r.grants(slow, 1, 29-i, "the slow limit remembers for an hour")
		for range 10 {
			r.takeOne(fast.charge(1))
			r.sleep(150 * time.Millisecond)
			r.takeOne(r.openFor(slow, tokenBucket.spec(10, time.Second)).charge(1))
		}
	}
}
