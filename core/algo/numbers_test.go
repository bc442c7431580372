package algo

import (
	"testing"
	"time"
)

func TestRetryAfterIsWhatIsLeftOfTheWindow(t *testing.T) {
	for _, s := range []Spec{fixedOf(10, time.Minute), firstOf(10, time.Minute)} {
		tell(t, s, []step{
			{0, 10, true, 0, 0, "ten at the start of a window"},
			{20 * time.Second, 1, false, 0, 40 * time.Second, "not the whole window"},
			{59200 * time.Millisecond, 1, false, 0, 800 * time.Millisecond, "the last second is not rounded away"},
			{time.Minute, 1, true, 9, 0, "and then it is over"},
		})
	}
}

func TestRetryAfterCountsPartsOfAUnit(t *testing.T) {
	tell(t, bucketOf(1, time.Second, 1), []step{
		{0, 1, true, 0, 0, "full"},
		{200 * time.Millisecond, 1, false, 0, 800 * time.Millisecond, "0.2 of it is there already"},
	})
}

func TestRetryAfterKnowsTheBurst(t *testing.T) {
	tell(t, bucketOf(5, time.Second, 5), []step{
		{0, 5, true, 0, 0, "the burst"},
		{0, 1, false, 0, 200 * time.Millisecond, "one unit, not until full"},
		{0, 2, false, 0, 400 * time.Millisecond, "two units"},
		{0, 5, false, 0, time.Second, "all five"},
	})
}

func TestRetryAfterIsNotTooEarly(t *testing.T) {
	tell(t, bucketOf(6, time.Minute, 6), []step{
		{0, 6, true, 0, 0, "drained"},
		{0, 1, false, 0, 10 * time.Second, "told ten seconds"},
		{5 * time.Second, 1, false, 0, 5 * time.Second, "at five it is not yet"},
		{9990 * time.Millisecond, 1, false, 0, 10 * time.Millisecond, "nor just before ten"},
		{10 * time.Second, 1, true, 0, 0, "at ten it is"},
	})
}

func TestRetryAfterComesFromTheOldestEntry(t *testing.T) {
	tell(t, logOf(2, 10*time.Second), []step{
		{0, 1, true, 1, 0, "leaves at 10"},
		{6 * time.Second, 1, true, 0, 0, "leaves at 16"},
		{7 * time.Second, 1, false, 0, 3 * time.Second, "the oldest is enough"},
		{7 * time.Second, 2, false, 0, 9 * time.Second, "for two the newest is needed too"},
	})
}

// The reset of a denial is the reset of the last grant, less the time since.
func TestRetryAfterAgreesWithReset(t *testing.T) {
	for _, s := range []Spec{fixedOf(5, time.Minute), firstOf(5, time.Minute), logOf(5, time.Minute), bucketOf(5, time.Minute, 5)} {
		q := mustCompile(t, s)
		var key counter
		granted := key.take(q, at(0), Ask{Cost: 5})
		denied := key.take(q, at(10*time.Second), Ask{Cost: 5})
		if granted.ResetAfter != time.Minute.Microseconds() || denied.ResetAfter != (50*time.Second).Microseconds() {
			t.Errorf("%s: reset after %v, then %v, want 1m and 50s", s.name(), micros(granted.ResetAfter), micros(denied.ResetAfter))
		}
		if denied.RetryAfter != denied.ResetAfter {
			t.Errorf("%s: for everything, retry after %v, want the reset: %v", s.name(), micros(denied.RetryAfter), micros(denied.ResetAfter))
		}
	}
}

// Around the instant at which a key expires no number is negative or above what
// the quota could ever say.
func TestRetryAfterAroundExpiry(t *testing.T) {
	for _, s := range everyAlgorithm(3, 10*time.Second) {
		q := mustCompile(t, s)
		for d := -5 * time.Microsecond; d <= 5*time.Microsecond; d += time.Microsecond {
			for _, edge := range []time.Duration{10 * time.Second, 11 * time.Second, 20 * time.Second} {
				var key counter
				key.take(q, at(0), Ask{Cost: 3})
				o := key.take(q, at(edge+d), Ask{Cost: 3})
				for _, n := range []int64{o.RetryAfter, o.NextAfter, o.ResetAfter, o.Remaining} {
					if n < 0 || n > (20*time.Second).Microseconds() {
						t.Errorf("%s %v after %v: %+v, want every number in 0 to 20 s", s.name(), d, edge, o)
					}
				}
				if o.Granted != (o.RetryAfter == 0) {
					t.Errorf("%s: granted %v with retry %d", s.name(), o.Granted, o.RetryAfter)
				}
			}
		}
	}
}

func TestRemainingIsNeverNegative(t *testing.T) {
	for _, s := range everyAlgorithm(3, time.Minute) {
		tell(t, s, []step{
			{0, 1, true, 2, 0, "two more"},
			{0, 1, true, 1, 0, "one more"},
			{0, 1, true, 0, 0, "none"},
			{0, 1, false, 0, unsaid, "none, not minus one"},
			{0, 1, false, 0, unsaid, "nor later"},
		})
	}
}

func TestRemainingCountsWhatPassesNow(t *testing.T) {
	for _, s := range everyAlgorithm(10, time.Second) {
		q := mustCompile(t, s)
		var key counter
		for left := int64(9); left >= 0; left-- {
			if got := key.take(q, at(0), Ask{Cost: 1}).Remaining; got != left {
				t.Errorf("%s: remaining %d, want %d", s.name(), got, left)
			}
		}
	}
	tell(t, bucketOf(10, time.Second, 25), []step{
		{0, 5, true, 20, 0, "the burst, not the rate"},
		{100 * time.Millisecond, 0, true, 21, 0, "and what has refilled"},
	})
}

// The meter passes queue + 1 at once; the queue lets them wait instead.
func TestLeakyBucketMeterAndQueue(t *testing.T) {
	const ms = time.Millisecond
	tell(t, meterOf(10, time.Second, 2), []step{
		{0, 3, true, 0, 0, "the one that leaves and two more"},
		{0, 1, false, 0, 100 * ms, "the next when one has leaked"},
		{100 * ms, 1, true, 0, 0, "which it then has"},
	})
	q := mustCompile(t, shaperOf(10, time.Second, 2))
	var key counter
	for i, c := range []struct {
		at       time.Duration
		maxDelay time.Duration
		granted  bool
		delay    time.Duration
		retry    time.Duration
		why      string
	}{
		{0, 0, true, 0, 0, "nobody before it: it leaves at once"},
		{0, 0, false, 0, 100 * ms, "it may not wait, and its turn is 100 ms away"},
		{0, 100 * ms, true, 100 * ms, 0, "it waits its turn"},
		{0, 150 * ms, false, 0, 50 * ms, "its turn comes in 200 ms, and in 50 ms it may queue for that long"},
		{0, time.Second, true, 200 * ms, 0, "the second waits"},
		{0, time.Second, false, 0, 100 * ms, "no place is free until one has left"},
		{99 * ms, time.Second, false, 0, ms, "nor just before"},
		{100 * ms, time.Second, true, 200 * ms, 0, "then there is one"},
		{250 * ms, time.Second, true, 150 * ms, 0, "and one each 100 ms"},
		{time.Minute, time.Second, true, 0, 0, "an idle queue delays nobody"},
	} {
		o := key.take(q, at(c.at), Ask{Cost: 1, MaxDelay: c.maxDelay.Microseconds()})
		if o.Granted != c.granted || micros(o.Delay) != c.delay || micros(o.RetryAfter) != c.retry {
			t.Errorf("step %d at %v: granted %v, delay %v, retry %v; want %v, %v, %v: %s",
				i, c.at, o.Granted, micros(o.Delay), micros(o.RetryAfter), c.granted, c.delay, c.retry, c.why)
		}
	}
}

// A token bucket that lets callers wait reserves for them, one behind the other.
func TestTokenBucketWaits(t *testing.T) {
	const ms = time.Millisecond
	q := mustCompile(t, bucketOf(10, time.Second, 2))
	var key counter
	for i, c := range []struct {
		at       time.Duration
		cost     int64
		maxDelay time.Duration
		granted  bool
		delay    time.Duration
		retry    time.Duration
		why      string
	}{
		{0, 2, time.Second, true, 0, 0, "the burst waits for nothing"},
		{0, 1, time.Second, true, 100 * ms, 0, "the next for one unit"},
		{0, 2, time.Second, true, 300 * ms, 0, "and the next for two, behind it"},
		{0, 1, 0, false, 0, 400 * ms, "who does not wait is denied"},
		{0, 1, 100 * ms, false, 0, 300 * ms, "and may queue when the wait is short enough"},
		{300*ms - time.Microsecond, 1, 100 * ms, false, 0, time.Microsecond, "not before"},
		{300 * ms, 1, 100 * ms, true, 100 * ms, 0, "exactly then"},
		{300 * ms, 3, time.Hour, false, 0, never, "three never fit into two"},
	} {
		o := key.take(q, at(c.at), Ask{Cost: c.cost, MaxDelay: c.maxDelay.Microseconds()})
		retry := never
		if o.RetryAfter != Never {
			retry = micros(o.RetryAfter)
		}
		if o.Granted != c.granted || micros(o.Delay) != c.delay || retry != c.retry {
			t.Errorf("step %d at %v: granted %v, delay %v, retry %v; want %v, %v, %v: %s",
				i, c.at, o.Granted, micros(o.Delay), retry, c.granted, c.delay, c.retry, c.why)
		}
	}
}

// A reservation that would make the level inexact is refused, and the wait until
// it is not is told.
func TestReservationsStayExact(t *testing.T) {
	q := mustCompile(t, bucketOf(1, time.Hour, 800_000)) // 800 000 · 3.6e9 is a third of 2^53
	var key counter
	forever := Ask{Cost: 800_000, MaxDelay: Never}
	for range 3 {
		if o := key.take(q, at(0), forever); !o.Granted {
			t.Fatalf("reserving: %+v, want granted", o)
		}
	}
	o := key.take(q, at(0), forever)
	if o.Granted || o.RetryAfter <= 0 || o.RetryAfter == Never {
		t.Fatalf("a fourth reservation, above 2^53: %+v, want a denial with a wait", o)
	}
	if got := key.would(q, at(0)+o.RetryAfter, forever); !got.Granted {
		t.Errorf("after the wait of %v: %+v, want granted", micros(o.RetryAfter), got)
	}
	if got := key.would(q, at(0)+o.RetryAfter-1, forever); got.Granted {
		t.Errorf("just before: %+v, want denied", got)
	}
}

func TestWindowOfAQuota(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want time.Duration
		why  string
	}{
		{bucketOf(10, time.Second, 20), 2 * time.Second, "the time to fill"},
		{bucketOf(3, time.Second, 1), 333_334 * time.Microsecond, "rounded up"},
		{bucketOf(0, time.Second, 0), time.Second, "the period, when nothing is allowed"},
		{meterOf(10, time.Second, 50), 5100 * time.Millisecond, "queue + 1 at the rate"},
		{fixedOf(10, time.Minute), time.Minute, "the window"},
		{fixedOf(10, Month), 0, "months differ"},
		{slidingOf(10, time.Minute), time.Minute, "the window"},
		{cellsOf(10, time.Minute, 10), time.Minute, "the window, not its cells"},
		{logOf(10, time.Minute), time.Minute, "the window"},
		{Spec{Algorithm: Concurrency, Limit: 3}, 0, "at once"},
	} {
		if got := mustCompile(t, c.spec).Window(); got != c.want {
			t.Errorf("%s: Window() = %v, want %v: %s", c.spec.name(), got, c.want, c.why)
		}
	}
	if got := micros(1 << 62); got != micros(maxSpan) {
		t.Errorf("micros(2^62) = %v, want the longest span %v", got, micros(maxSpan))
	}
}
