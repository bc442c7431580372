package storetest

import (
	"time"

	"github.com/tidegate/tidegate/core/algo"
)

func paceCases() []Case {
	list := each(buckets, "NoDrift",
		"A bucket that is asked without pause grants its rate exactly, for as long as it is asked.", exactTime|Numbers, noDrift)
	list = append(list, each(allKinds, "EdgeBurst",
		"What was spent just before an edge of the clock counts after it, as each algorithm says.", exactTime|Numbers, edgeBurst)...)
	return append(list,
		one("FractionsAreKept", "What has been earned by the time of a denial is not lost by it.", exactTime|Numbers, fractionsAreKept),
		one("BurstThenPace", "A token bucket grants its burst and then its rate, never more.", exactTime|Numbers, burstThenPace),
	)
}

// noDrift asks whenever it is told to, at a rate that divides no second.
func noDrift(r *run, k kind) {
	const span = 10 * time.Second
	a := r.open(k.spec(shortUnits, shortPeriod))
	end := r.s.now().Add(span)
	granted := int64(0)
	for r.ok() && !r.s.now().After(end) {
		got := r.takeOne(a.charge(1))
		if got.Granted {
			granted++
		} else {
			r.sleep(got.RetryAfter)
		}
	}
	want := int64(shortUnits + shortUnits*span/shortPeriod)
	r.want(granted == want, "%s granted %d units in %v, want %d", quotaText(a.quota), granted, span, want)
}

// edgeBurst spends 10 of 10 a tenth of a second before an edge of the clock, and
// asks again as long after it.
func edgeBurst(r *run, k kind) {
	const period = 10 * time.Second
	a := r.open(k.spec(10, period))
	now := time.Duration(r.s.now().UnixMicro()) * time.Microsecond
	r.sleep(period - now%period + period - 100*time.Millisecond)
	r.drain(a)
	r.sleep(200 * time.Millisecond)
	want := map[string]time.Duration{
		tokenBucket.name:   800 * time.Millisecond, // one unit a second since 9.9
		leakyMeter.name:    800 * time.Millisecond,
		firstRequest.name:  9800 * time.Millisecond, // its window began at 9.9
		slidingWindow.name: 900 * time.Millisecond,  // the last window weighs 9 of 10 at 11.0
		slidingCells.name:  9900 * time.Millisecond, // 9.9 is in the cell from 7.5, which counts to 20
		slidingLog.name:    9800 * time.Millisecond,
	}[k.name]
	if k.name == fixedWindow.name {
		r.holds(a, 10, "a fixed window begins anew at the edge")
		return
	}
	got := r.denies(a, 1, 0, "the window before the edge still counts")
	r.want(got.RetryAfter == want, "%s, spent at 9.9s and asked at 10.1s, says retry after %v, want %v", quotaText(a.quota), got.RetryAfter, want)
}

func fractionsAreKept(r *run) {
	a := r.open(tokenBucket.spec(1, time.Second))
	for i, want := range []bool{true, false, true, false, true, false} {
		got := r.takeOne(a.charge(1))
		r.want(got.Granted == want, "one a second, asked at %v: granted: %v, want %v", time.Duration(i)*600*time.Millisecond, got.Granted, want)
		r.sleep(600 * time.Millisecond)
	}
}

func burstThenPace(r *run) {
	for _, tt := range []struct {
		spec    algo.Spec
		every   time.Duration
		calls   int
		granted int
	}{
		{algo.Spec{Limit: 3, Period: time.Second, Burst: 3}, 100 * time.Millisecond, 100, 32},
		{algo.Spec{Limit: 10, Period: time.Second, Burst: 10}, 20 * time.Millisecond, 3000, 609},
		{algo.Spec{Limit: 1, Period: 3 * time.Second, Burst: 2}, 50 * time.Millisecond, 1201, 22},
	} {
		a := r.open(tt.spec)
		granted := 0
		for range tt.calls {
			if r.takeOne(a.charge(1)).Granted {
				granted++
			}
			r.sleep(tt.every)
		}
		r.want(granted == tt.granted, "%s, asked %d times each %v, granted %d, want %d", quotaText(a.quota), tt.calls, tt.every, granted, tt.granted)
	}
}
