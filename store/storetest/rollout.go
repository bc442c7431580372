package storetest

import (
	"runtime"
	"sync/atomic"
	"time"
)

func rolloutCases() []Case {
	list := each(allKinds, "Rollout",
		"While some callers know the old quota and some the new one, each judges the same spent units by its own numbers.", 0, rollout)
	list = append(list, each(allKinds, "RolloutOfAPeriod",
		"Callers that count in old and new periods together make no units.", 0, rolloutOfAPeriod)...)
	return append(list, each(ageing, "RolloutDeniesNobodyForEver",
		"Denials by old and new periods in turn do not keep what is spent from growing old.", exactTime|Numbers, rolloutEnds)...)
}

// ageing are the ways of counting whose spending grows old while two periods judge
// it in turn. The others move it into a window that begins now each time the
// period changes, be it for a denial.
var ageing = []kind{tokenBucket, leakyMeter, fixedWindow, slidingLog}

// rollout has goroutines take under an old and a new quota at once.
func rollout(r *run, k kind) {
	const old, raised = 40, 100
	period := r.long()
	a := r.open(k.spec(old, period))
	byOld, byNew := r.stormOnBoth(a, a.under(r.quota(k.spec(raised, period))))
	r.want(byOld <= old, "a quota of %d granted %d beside one of %d", old, byOld, raised)
	r.want(byOld+byNew == raised, "quotas of %d and %d granted %d together, want %d", old, raised, byOld+byNew, raised)
	r.denies(a, 1, 0, "the storm took everything")
}

func rolloutOfAPeriod(r *run, k kind) {
	const n = 60
	period := r.long()
	a := r.open(k.spec(n, period))
	byOld, byNew := r.stormOnBoth(a, a.under(r.quota(k.spec(n, 2*period))))
	r.want(byOld+byNew <= n, "%d units a period granted %d while the period changed", n, byOld+byNew)
	r.want(byOld+byNew >= n-1, "%d units a period granted only %d while the period changed", n, byOld+byNew)
}

func (r *run) stormOnBoth(old, raised account) (byOld, byNew int64) {
	var o, n atomic.Int64
	r.parallel(stormers, func(i int, r *run) {
		a, count := old, &o
		if i%2 == 1 {
			a, count = raised, &n
		}
		for range 2 * stormEach {
			if r.takeOne(a.charge(1)).Granted {
				count.Add(1)
			}
			runtime.Gosched()
		}
	})
	return o.Load(), n.Load()
}

// rolloutEnds has a denied caller keep asking under two periods in turn.
func rolloutEnds(r *run, k kind) {
	const every = 10 * time.Millisecond
	old := r.open(k.spec(10, time.Second))
	raised := old.under(r.quota(k.spec(10, 2*time.Second)))
	r.drain(old)
	told := max(r.peekOne(old.charge(1)).RetryAfter, r.peekOne(raised.charge(1)).RetryAfter)
	for waited := time.Duration(0); waited < told+every; waited += 2 * every {
		r.sleep(every)
		a := r.takeOne(old.charge(1))
		r.sleep(every)
		b := r.takeOne(raised.charge(1))
		if a.Granted || b.Granted || !r.ok() {
			return
		}
	}
	r.fail("a caller who kept asking under two periods was told %v at most, and is still denied after that", told)
}
