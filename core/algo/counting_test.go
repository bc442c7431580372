package algo

import (
	"testing"
	"time"
)

// A refused ask spends nothing, whatever the algorithm.
func TestFailedAskChangesNothing(t *testing.T) {
	for _, s := range everyAlgorithm(10, 10*time.Second) {
		t.Run(s.name(), func(t *testing.T) {
			tell(t, s, []step{
				{0, 8, true, 2, 0, "eight of ten"},
				{0, 5, false, 2, unsaid, "five do not fit, and the two that are left stay"},
				{0, 1, true, 1, 0, "one of the two"},
				{0, 2, false, 1, unsaid, "two do not fit"},
				{0, 1, true, 0, 0, "the last"},
				{0, 1, false, 0, unsaid, "nothing is left"},
			})
			q := mustCompile(t, s)
			var key counter
			key.take(q, at(0), Ask{Cost: 8})
			before := key.clone()
			for range 3 {
				key.take(q, at(time.Second), Ask{Cost: 9})
			}
			if key.state != before.state || key.log.sum != before.log.sum || key.log.n != before.log.n {
				t.Errorf("after a denial: %+v, want %+v", key, before)
			}
		})
	}
}

func TestDeniedAttemptsDoNotExtendTheBlock(t *testing.T) {
	q := mustCompile(t, logOf(5, 10*time.Second))
	var key counter
	tellOn(t, &key, q, []step{{0, 5, true, 0, 0, "all five"}})
	for s := 1; s <= 9; s++ {
		d := time.Duration(s) * time.Second
		tellOn(t, &key, q, []step{{d, 1, false, 0, 10*time.Second - d, "the window is not over"}})
	}
	tellOn(t, &key, q, []step{{10*time.Second + time.Millisecond, 1, true, 4, 0, "the promise is about what was served, not about what was asked"}})

	for _, s := range everyAlgorithm(5, 10*time.Second) {
		t.Run(s.name(), func(t *testing.T) {
			patient, eager := counter{}, counter{}
			q := mustCompile(t, s)
			patient.take(q, at(0), Ask{Cost: 5})
			eager.take(q, at(0), Ask{Cost: 5})
			for d := time.Duration(0); d < 20*time.Second; d += 10 * time.Millisecond {
				if key := eager.clone(); key.take(q, at(d), Ask{Cost: 5}).Granted {
					break
				}
				eager.take(q, at(d), Ask{Cost: 5})
				if got, want := eager.peek(q, at(d), Ask{Cost: 5}), patient.peek(q, at(d), Ask{Cost: 5}); got != want {
					t.Fatalf("at %v, after being denied all the time: %+v, want %+v", d, got, want)
				}
			}
		})
	}
}

func TestAskingForTheHeadersTakesNothing(t *testing.T) {
	q := mustCompile(t, bucketOf(1, time.Minute, 5))
	var key counter
	for left := int64(4); left >= 0; left-- {
		key.take(q, at(0), Ask{Cost: 1})
		if got := key.peek(q, at(0), Ask{Cost: 1}).Remaining; got != left {
			t.Errorf("Peek: remaining %d, want %d", got, left)
		}
	}
	tellOn(t, &key, q, []step{
		{0, 1, false, 0, time.Minute, "denied"},
		{0, 1, false, 0, time.Minute, "and again"},
		{0, 1, false, 0, time.Minute, "and again"},
		{time.Minute, 1, true, 0, 0, "the denials and the peeks took nothing"},
	})
}

// A cost above what can ever be held, or a wait that would be too long, leaves
// the instant of the last refill where it was.
func TestFailedAskKeepsTheRefill(t *testing.T) {
	tell(t, bucketOf(5, time.Second, 5), []step{
		{0, 5, true, 0, 0, "drained"},
		{100 * time.Millisecond, 6, false, 0, never, "six never fit into five"},
		{200 * time.Millisecond, 1, true, 0, 0, "0.2 s at 5/s is one unit, whatever was asked in between"},
	})
}

func TestCostAboveCapacityIsNeverGranted(t *testing.T) {
	for _, s := range append(everyAlgorithm(5, time.Second), shaperOf(5, time.Second, 4)) {
		t.Run(s.name(), func(t *testing.T) {
			tell(t, s, []step{
				{0, 6, false, 5, never, "six never fit into five, on a fresh key"},
				{0, 1, true, 4, 0, "and a smaller cost still does"},
				{0, 6, false, 4, never, "on a used key neither"},
			})
		})
	}
}

func TestLimitZeroDeniesEverything(t *testing.T) {
	for _, s := range append(everyAlgorithm(0, time.Second)[2:], bucketOf(0, time.Second, 0), meterOf(0, time.Second, 3), shaperOf(0, time.Second, 3)) {
		t.Run(s.name(), func(t *testing.T) {
			tell(t, s, []step{
				{0, 1, false, 0, never, "none means none"},
				{time.Second, 1, false, 0, never, "after a period neither"},
				{365 * Day, 1, false, 0, never, "nor after a year"},
				{365 * Day, 0, false, 0, never, "no cost is small enough"},
			})
			q := mustCompile(t, s)
			if got := q.Capacity(); got != 0 {
				t.Errorf("Capacity() = %d, want 0", got)
			}
			var key counter
			key.take(q, at(0), Ask{Cost: 1, Extra: 5, MaxDelay: int64(1e12)})
			if got := key.peek(q, at(0), Ask{Cost: 1}); got != (Outcome{RetryAfter: Never}) {
				t.Errorf("Peek: %+v, want a denial for ever", got)
			}
			if key.give(q, at(0), 1, Receipt{At: at(0), Level: 1}, false) {
				t.Errorf("Give returned something that was never taken")
			}
			if got := key.owes(at(0)); got != 0 || !q.Wide() && !q.Fresh(key.state, at(0)) {
				t.Errorf("owes %d, want 0 and fresh", got)
			}
		})
	}
}

func TestLogCountsMixedCosts(t *testing.T) {
	for _, s := range everyAlgorithm(10, time.Minute) {
		t.Run(s.name(), func(t *testing.T) {
			tell(t, s, []step{
				{0, 9, true, 1, 0, "nine"},
				{0, 1, true, 0, 0, "and one are ten"},
				{0, 1, false, 0, unsaid, "eleven are too many"},
			})
			tell(t, s, []step{
				{0, 1, true, 9, 0, "one"},
				{0, 9, true, 0, 0, "and nine are ten"},
				{0, 1, false, 0, unsaid, "eleven are too many, in this order too"},
			})
		})
	}
}

func TestExtraIsGrantedAsFarAsItGoes(t *testing.T) {
	for _, s := range append(everyAlgorithm(10, time.Second), shaperOf(10, time.Second, 9)) {
		t.Run(s.name(), func(t *testing.T) {
			q := mustCompile(t, s)
			for _, c := range []struct {
				spent, cost, extra int64
				granted            bool
				want, left         int64
			}{
				{0, 1, 4, true, 4, 5},
				{0, 1, 100, true, 9, 0},
				{7, 1, 100, true, 2, 0},
				{7, 3, 100, true, 0, 0},
				{7, 0, 100, true, 3, 0},
				{10, 0, 100, true, 0, 0},
				{7, 4, 100, false, 0, 3},
				{0, 0, 0, true, 0, 10},
			} {
				var key counter
				key.take(q, at(0), Ask{Cost: c.spent})
				ask := Ask{Cost: c.cost, Extra: c.extra}
				if s.Shaper {
					ask.MaxDelay = time.Minute.Microseconds()
					if c.cost == 0 {
						continue // no turn to share: see the walks
					}
				}
				got := key.take(q, at(0), ask)
				if got.Granted != c.granted || got.Extra != c.want || got.Remaining != c.left {
					t.Errorf("after %d, Take(cost %d, extra %d): granted %v, extra %d, remaining %d; want %v, %d, %d",
						c.spent, c.cost, c.extra, got.Granted, got.Extra, got.Remaining, c.granted, c.want, c.left)
				}
				if peek := key.peek(q, at(0), Ask{Cost: 1, Extra: 5}); peek.Extra != 0 || peek.Remaining != c.left {
					t.Errorf("Peek after that: extra %d, remaining %d; want 0, %d", peek.Extra, peek.Remaining, c.left)
				}
			}
		})
	}
}

// A charge that costs nothing leaves no trace, however often it is made.
func TestAskingForNothingKeepsNothing(t *testing.T) {
	for _, s := range append(everyAlgorithm(3, time.Second), shaperOf(3, time.Second, 2)) {
		t.Run(s.name(), func(t *testing.T) {
			q := mustCompile(t, s)
			var key counter
			key.take(q, at(0), Ask{})
			if key.state != (State{}) || key.log.n != 0 {
				t.Errorf("a fresh key after an ask for nothing: %+v", key)
			}
			key.take(q, at(0), Ask{Cost: 3})
			for i := range 1000 {
				o := key.take(q, at(0)+int64(i), Ask{Extra: 5})
				if !o.Granted || o.Extra > 0 {
					t.Fatalf("Take(extra 5) on a spent key: %+v, want granted with nothing extra", o)
				}
			}
			if got, want := key.log.Bytes(), int64(firstRing*entryBytes); got > want {
				t.Errorf("after a thousand asks that got nothing the log takes %d bytes, want at most %d", got, want)
			}
		})
	}
}
