package algo

import (
	"testing"
	"time"
)

// Callers' clocks disagree, or one clock steps back: the level is frozen until
// the clock has caught up with what is stored.
func TestClockGoingBackMakesNoUnits(t *testing.T) {
	for _, s := range everyAlgorithm(4, 2*time.Second) {
		t.Run(s.name(), func(t *testing.T) {
			tell(t, s, []step{
				{20 * time.Second, 4, true, 0, 0, "four"},
				{20 * time.Second, 1, false, 0, unsaid, "the fifth"},
				{10 * time.Second, 1, false, 0, unsaid, "an older clock neither refills"},
				{20 * time.Second, 1, false, 0, unsaid, "nor moves the refill back, to be counted again"},
			})
			q := mustCompile(t, s)
			var key counter
			granted := int64(0)
			for i := range 200 { // two clocks, ten seconds apart, taking turns
				for _, d := range []time.Duration{20, 10} {
					if key.take(q, at(d*time.Second+time.Duration(i)*10*time.Millisecond), Ask{Cost: 1}).Granted {
						granted++
					}
				}
			}
			if bound := int64(8); granted > bound {
				t.Errorf("granted %d, want at most the burst and what two seconds refill: %d", granted, bound)
			}
		})
	}
}

// Three of five are spent and the clock steps back. The two that are left can be
// had; then the wait is the frozen span and the time for one unit, since that is
// when the clock will show that it has refilled.
func TestClockGoingBackIsPartOfTheWait(t *testing.T) {
	tell(t, bucketOf(1, time.Second, 5), []step{
		{0, 3, true, 2, 0, "three of five"},
		{-11 * time.Second, 1, true, 1, 0, "no debt is made of the step"},
		{-11 * time.Second, 1, true, 0, 0, "five"},
		{-11 * time.Second, 1, false, 0, 12 * time.Second, "eleven frozen seconds and one to refill"},
		{time.Second - time.Microsecond, 1, false, 0, time.Microsecond, "which is the truth"},
		{time.Second, 1, true, 0, 0, "to the microsecond"},
	})
	tell(t, fixedOf(1, 10*time.Second), []step{
		{5 * time.Second, 1, true, 0, 0, "the window ends at 10"},
		{-5 * time.Second, 1, false, 0, 15 * time.Second, "and for an older clock too"},
	})
	tell(t, slidingOf(1, 10*time.Second), []step{
		{5 * time.Second, 1, true, 0, 0, "counted in full until 10, and until 20 in part"},
		{-5 * time.Second, 1, false, 0, 25 * time.Second, "and for an older clock too"},
	})
	tell(t, logOf(1, 10*time.Second), []step{
		{5 * time.Second, 1, true, 0, 0, "counts until 15"},
		{-5 * time.Second, 1, false, 0, 20 * time.Second, "and for an older clock too"},
	})
}

func TestClockGoingForwardFillsNoMoreThanTheBurst(t *testing.T) {
	for _, s := range everyAlgorithm(5, 5*time.Second) {
		t.Run(s.name(), func(t *testing.T) {
			tell(t, s, []step{
				{0, 3, true, 2, 0, "three of five"},
				{time.Hour, 5, true, 0, 0, "an hour later all five"},
				{time.Hour, 1, false, 0, unsaid, "and not one more"},
			})
		})
	}
}

// Odd rates are exact: nothing is lost or won in a thousand periods. A capacity of
// two, so that no ask that comes a moment late finds the bucket overflowing.
func TestNoDriftAtOddRates(t *testing.T) {
	for _, c := range []struct {
		limit         int64
		period, every time.Duration
		span          time.Duration
		want          int64 // refilled in the span; the burst comes on top
		why           string
	}{
		{7, time.Hour, time.Minute, 1000 * time.Hour, 7000, "seven an hour"},
		{1, 3 * time.Second, 500 * time.Millisecond, Day, 28_800, "a third each second"},
		{1, 7 * time.Second, time.Second, 7 * Day, 86_400, "a seventh each second"},
		{1000, time.Minute, 10 * time.Millisecond, 10 * time.Minute, 10_000, "a thousand a minute"},
		{3, time.Second, time.Millisecond, 1000 * time.Second, 3000, "three a second"},
		{700, time.Minute, 50 * time.Millisecond, 10 * time.Minute, 7000, "seven hundred a minute, not 705"},
		{120_000, time.Minute, 100 * time.Microsecond, 10 * time.Second, 20_000, "more than a thousand a second"},
		{999_983, time.Second, time.Microsecond, time.Second, 999_983, "a prime of them"},
	} {
		t.Run(c.why, func(t *testing.T) {
			for _, s := range []Spec{bucketOf(c.limit, c.period, 2), meterOf(c.limit, c.period, 1)} {
				var key counter
				got := saturate(&key, mustCompile(t, s), 0, c.span, c.every)
				// Of the burst's two units one is granted at once; the other makes
				// up for the last unit of the span, which falls due at its very end.
				if want := c.want + 1; got != want {
					t.Errorf("%v: granted %d in %v, want %d", s.Algorithm, got, c.span, want)
				}
			}
		})
	}
	var key counter
	if got := saturate(&key, mustCompile(t, bucketOf(1e7, time.Second, 10)), 0, 10*time.Millisecond, time.Microsecond); got != 10_000 {
		t.Errorf("more than one unit a microsecond: granted %d of 10000", got)
	}
}

// A unit is there when its time has come, and not before: no 0.99999 of one.
func TestUnitIsThereOnTime(t *testing.T) {
	for _, c := range []struct {
		limit  int64
		period time.Duration
		wait   time.Duration // one unit, rounded up to a microsecond
	}{
		{3, time.Second, 333_334 * time.Microsecond},
		{7, time.Second, 142_858 * time.Microsecond},
		{10, time.Second, 100 * time.Millisecond},
		{1, 3 * time.Second, 3 * time.Second},
		{1, 7 * time.Second, 7 * time.Second},
		{1000, time.Minute, 60 * time.Millisecond},
	} {
		tell(t, bucketOf(c.limit, c.period, 1), []step{
			{0, 1, true, 0, 0, "the first"},
			{0, 1, false, 0, c.wait, "the second has to wait"},
			{c.wait - time.Millisecond, 1, false, 0, time.Millisecond, "a millisecond early is early"},
			{c.wait - time.Microsecond, 1, false, 0, time.Microsecond, "a microsecond early is early"},
			{c.wait, 1, true, 0, 0, "on time is in time"},
		})
	}
}

func TestLargeLimitsRefillAtTheirRate(t *testing.T) {
	for _, limit := range []int64{31_622, 31_623, 65_535, 1e6, 1e9} {
		tell(t, bucketOf(limit, time.Second, 0), []step{
			{0, 10, true, limit - 10, 0, "ten"},
			{time.Second, 1, true, limit - 1, 0, "a second later they are back"},
		})
	}
}

func TestOfferedMoreThanTheRate(t *testing.T) {
	for _, c := range []struct {
		spec        Spec
		every, span time.Duration
		want        int64
		why         string
	}{
		{bucketOf(10, time.Second, 10), 20 * time.Millisecond, time.Minute, 610, "no refill is skipped because a timer was late"},
		{bucketOf(3, time.Second, 3), 100 * time.Millisecond, 10 * time.Second, 32, "the bucket is not filled up once a period"},
		{bucketOf(700, time.Minute, 700), 10 * time.Millisecond, 10 * time.Minute, 7700, "no interval is rounded to whole milliseconds"},
	} {
		var key counter
		if got := saturate(&key, mustCompile(t, c.spec), 0, c.span, c.every); got < c.want-1 || got > c.want+1 {
			t.Errorf("%v every %v for %v: granted %d, want %d: %s", c.spec.name(), c.every, c.span, got, c.want, c.why)
		}
	}
}

func TestPartOfAUnitIsKeptOnADenial(t *testing.T) {
	const ms = time.Millisecond
	tell(t, bucketOf(1, time.Second, 1), []step{
		{0, 1, true, 0, 0, "full"},
		{600 * ms, 1, false, 0, 400 * ms, "0.6 of a unit"},
		{1200 * ms, 1, true, 0, 0, "1.2, of which 0.2 cannot be kept: the burst is one"},
		{1800 * ms, 1, false, 0, 400 * ms, "0.6"},
		{2400 * ms, 1, true, 0, 0, "1.2"},
		{3000 * ms, 1, false, 0, 400 * ms, "0.6"},
	})
}

// Ten at 9.9 s and ten at 10.1 s, at ten in ten seconds: each algorithm has its
// own answer at an edge, and says it.
func TestAroundAnEdge(t *testing.T) {
	const before, after = 9900 * time.Millisecond, 10100 * time.Millisecond
	first := step{before, 10, true, 0, 0, "ten just before the edge"}
	t.Run("fixed window", func(t *testing.T) {
		tell(t, fixedOf(10, 10*time.Second), []step{
			first,
			{after, 10, true, 0, 0, "another ten just after it: twice the limit, as the docs say"},
			{after, 1, false, 0, 9900 * time.Millisecond, "and no more until the next edge"},
		})
	})
	t.Run("two counters", func(t *testing.T) {
		tell(t, slidingOf(10, 10*time.Second), []step{
			first,
			{after, 1, false, 0, 900 * time.Millisecond, "10·0.99 + 1 > 10"},
			{11*time.Second - time.Microsecond, 1, false, 0, time.Microsecond, "just above"},
			{11 * time.Second, 1, true, 0, 0, "10·0.9 + 1 = 10"},
		})
	})
	t.Run("cells", func(t *testing.T) {
		tell(t, cellsOf(10, 10*time.Second, 10), []step{
			first,
			{after, 1, false, 0, 9900 * time.Millisecond, "its cell counts until 20"},
			{20*time.Second - time.Microsecond, 1, false, 0, time.Microsecond, "in full"},
			{20 * time.Second, 10, true, 0, 0, "and no longer"},
		})
	})
	t.Run("log", func(t *testing.T) {
		tell(t, logOf(10, 10*time.Second), []step{
			first,
			{after, 1, false, 0, 9800 * time.Millisecond, "exactly one window after the first ten"},
			{19900*time.Millisecond - time.Microsecond, 1, false, 0, time.Microsecond, "not before"},
			{19900 * time.Millisecond, 10, true, 0, 0, "then all of them"},
		})
	})
	t.Run("token bucket", func(t *testing.T) {
		tell(t, bucketOf(1, time.Second, 10), []step{
			first,
			{after, 1, false, 0, 800 * time.Millisecond, "0.2 of a unit"},
			{10900 * time.Millisecond, 1, true, 0, 0, "one"},
			{10900 * time.Millisecond, 1, false, 0, time.Second, "and only one"},
		})
	})
	t.Run("first request", func(t *testing.T) {
		tell(t, firstOf(10, 10*time.Second), []step{
			first,
			{after, 1, false, 0, 9800 * time.Millisecond, "the window began with the key's first charge"},
			{19900 * time.Millisecond, 10, true, 0, 0, "and ends ten seconds later"},
		})
	})
}

// A key first used in the middle of a window gets the whole limit at once and
// then half of it again within the window that follows: that is the method, and
// never a burst above the limit.
func TestTwoCountersAfterIdling(t *testing.T) {
	q := mustCompile(t, slidingOf(10, time.Second))
	var key counter
	tellOn(t, &key, q, []step{
		{500 * time.Millisecond, 10, true, 0, 0, "the whole limit in the middle of a window"},
		{500 * time.Millisecond, 1, false, 0, 600 * time.Millisecond, "not one more"},
	})
	if got := saturate(&key, q, 501*time.Millisecond, 999*time.Millisecond, time.Millisecond); got != 4 {
		t.Errorf("granted %d more before 1.5 s, want 4", got)
	}
	tellOn(t, &key, q, []step{
		{1500 * time.Millisecond, 1, true, 0, 0, "the fifth at 1.5 s"},
		{1500 * time.Millisecond, 1, false, 0, 100 * time.Millisecond, "the sixth later"},
	})
}

// A log's window is half open: (now − period, now].
func TestLogForgetsAtTheEdge(t *testing.T) {
	tell(t, logOf(5, time.Second), []step{
		{0, 5, true, 0, 0, "five"},
		{time.Second - time.Microsecond, 1, false, 0, time.Microsecond, "still in the window"},
		{time.Second + time.Millisecond, 1, true, 4, 0, "expired, and forgotten before counting"},
	})
	tell(t, logOf(5, time.Second), []step{
		{0, 5, true, 0, 0, "five"},
		{time.Second, 5, true, 0, 0, "exactly one window later they are out"},
	})
}
