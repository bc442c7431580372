package storetest

import (
	"runtime"
	"sync/atomic"

	"github.com/tidegate/tidegate/core"
)

func stormCases() []Case {
	list := each(allKinds, "Storm",
		"However many callers meet at one key, they are granted its quota exactly, and again when it has come back.", 0, storm)
	return append(list,
		one("StormOfCalls", "Calls of several charges that meet at shared keys are granted exactly what the keys hold.", OneStep, stormOfCalls),
		one("StormNeverAbove", "Calls of several charges that meet at shared keys are never granted more than a key holds.", 0, stormNeverAbove),
		one("StormOfExtras", "Units beyond the cost are granted as far as they go, and no further, however many callers ask.", 0, stormOfExtras),
	)
}

const (
	stormers  = 64
	stormEach = 5 // calls a goroutine
)

func storm(r *run, k kind) {
	const n = 100
	a := r.open(k.spec(n, r.long()))
	r.want(r.stormOn(a) == n, "%d goroutines were not granted exactly %d units of a new key", stormers, n)
	r.denies(a, 1, 0, "the storm took everything")
	if r.exact() {
		r.sleep(r.peekOne(a.charge(1)).ResetAfter)
	} else {
		r.reset(a)
	}
	r.want(r.stormOn(a) == n, "%d goroutines were not granted exactly %d units once the key had come back", stormers, n)
}

// stormOn has many goroutines ask for one unit at a time and returns how many
// were granted.
func (r *run) stormOn(a account) int64 {
	var granted atomic.Int64
	r.parallel(stormers, func(_ int, r *run) {
		for range stormEach {
			if r.takeOne(a.charge(1)).Granted {
				granted.Add(1)
			}
			runtime.Gosched()
		}
	})
	return granted.Load()
}

// stormOfCalls has every call charge a shared key and one of two others.
func stormOfCalls(r *run) {
	const n = 90
	shared := r.open(tokenBucket.spec(n, r.long()))
	left := r.openFor(shared, fixedWindow.spec(n/3, r.long()))
	right := r.openFor(shared, slidingWindow.spec(n, r.long()))
	viaLeft, viaRight := r.stormOnPairs(shared, left, right)
	r.want(viaLeft <= n/3, "%d calls were granted through a key that holds %d", viaLeft, n/3)
	r.want(viaLeft+viaRight == n, "%d calls were granted through a key that holds %d", viaLeft+viaRight, n)
	r.left(shared, 0, "the storm took everything")
	r.left(left, n/3-viaLeft, "what the shared key denied was not spent")
	r.left(right, n-viaRight, "what the shared key denied was not spent")
}

// stormNeverAbove is stormOfCalls for keys of different callers, which a shared
// store may decide in several places.
func stormNeverAbove(r *run) {
	const n = 90
	shared := r.open(tokenBucket.spec(n, r.long()))
	left, right := r.open(fixedWindow.spec(n/3, r.long())), r.open(slidingWindow.spec(n, r.long()))
	viaLeft, viaRight := r.stormOnPairs(shared, left, right)
	r.want(viaLeft <= n/3, "%d calls were granted through a key that holds %d", viaLeft, n/3)
	r.want(viaLeft+viaRight <= n, "%d calls were granted through a key that holds %d", viaLeft+viaRight, n)
	r.left(shared, n-viaLeft-viaRight, "what was denied is given back by the time it is answered")
	r.left(left, n/3-viaLeft, "what was denied is given back by the time it is answered")
	r.left(right, n-viaRight, "what was denied is given back by the time it is answered")
}

func (r *run) stormOnPairs(shared, left, right account) (viaLeft, viaRight int64) {
	var l, rt atomic.Int64
	r.parallel(stormers, func(i int, r *run) {
		for range stormEach {
			pair, count := []core.Charge{shared.charge(1), left.charge(1)}, &l
			if i%2 == 1 {
				pair, count = []core.Charge{right.charge(1), shared.charge(1)}, &rt
			}
			if got := r.take(pair...); got[0].Granted && got[1].Granted {
				count.Add(1)
			}
			runtime.Gosched()
		}
	})
	return l.Load(), rt.Load()
}

func stormOfExtras(r *run) {
	const n = 200
	for _, k := range r.kindsAtHand() {
		a := r.open(k.spec(n, r.long()))
		var units atomic.Int64
		r.parallel(stormers, func(_ int, r *run) {
			c := a.charge(1)
			c.Extra = 6
			if got := r.takeOne(c); got.Granted {
				units.Add(1 + got.Extra)
			}
		})
		r.want(units.Load() == n, "%s: %d goroutines were granted %d units in all, want %d", k.name, stormers, units.Load(), n)
	}
}
