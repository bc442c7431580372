package algo

import (
	"testing"
	"time"
)

func TestGiveRightAfterTakeRestoresEverything(t *testing.T) {
	for _, s := range append(everyAlgorithm(10, 10*time.Second), shaperOf(10, 10*time.Second, 9)) {
		t.Run(s.name(), func(t *testing.T) {
			q := mustCompile(t, s)
			for _, spent := range []int64{0, 4} {
				var key, want counter
				for _, k := range []*counter{&key, &want} {
					k.take(q, at(3*time.Second), Ask{Cost: spent})
				}
				ask := Ask{Cost: 2, Extra: 3, MaxDelay: time.Hour.Microseconds()}
				o := key.take(q, at(5*time.Second), ask)
				if !key.give(q, at(5*time.Second), 2+o.Extra, o.Receipt, false) {
					t.Fatalf("Give after %d: nothing returned", spent)
				}
				for d := 5 * time.Second; d < 40*time.Second; d += 250 * time.Millisecond {
					got, want := key.would(q, at(d), ask), want.would(q, at(d), ask)
					if got != want {
						t.Fatalf("after %d, at %v: %+v, want as if never asked: %+v", spent, d, got, want)
					}
				}
			}
		})
	}
}

func TestGiveReturnsNothingTwice(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		spec    Spec
		at      time.Duration
		changed bool
		left    int64 // remaining after giving back 4 of 10 that were taken at 0
		why     string
	}{
		{bucketOf(10, 10*s, 10), 0, true, 4, "four are returned"},
		{bucketOf(10, 10*s, 10), 5 * s, true, 9, "five have drained, one is left of the rest"},
		{bucketOf(10, 10*s, 10), 9 * s, true, 10, "of the last one only what had not drained"},
		{bucketOf(10, 10*s, 10), 10 * s, false, 10, "all have drained"},
		{fixedOf(10, 10*s), 9 * s, true, 4, "in its window"},
		{fixedOf(10, 10*s), 10 * s, false, 10, "its window is over"},
		{firstOf(10, 10*s), 9 * s, true, 4, "in its window"},
		{firstOf(10, 10*s), 10 * s, false, 10, "its window is over"},
		{slidingOf(10, 10*s), 9 * s, true, 4, "in its window"},
		{slidingOf(10, 10*s), 15 * s, true, 7, "in the previous one, where half of the six still weighs"},
		{slidingOf(10, 10*s), 20 * s, false, 10, "in neither"},
		{logOf(10, 10*s), 9 * s, true, 4, "still in the log"},
		{logOf(10, 10*s), 10 * s, false, 10, "expired"},
		{cellsOf(10, 10*s, 10), 10 * s, true, 4, "its cell still counts"},
		{cellsOf(10, 10*s, 10), 11 * s, false, 10, "its cell is over"},
	} {
		q := mustCompile(t, c.spec)
		var key counter
		o := key.take(q, at(0), Ask{Cost: 10})
		if c.spec.Algorithm == TokenBucket && c.at == 5*s {
			key.take(q, at(c.at), Ask{Cost: 4}) // spent by now: nine
			if changed := key.give(q, at(c.at), 10, o.Receipt, false); !changed {
				t.Errorf("%s: nothing returned", c.spec.name())
			}
			if got := key.peek(q, at(c.at), Ask{}).Remaining; got != 6 {
				t.Errorf("%s: remaining %d, want 6: only the five that had not drained, and never the later four", c.spec.name(), got)
			}
			continue
		}
		if changed := key.give(q, at(c.at), 4, o.Receipt, false); changed != c.changed {
			t.Errorf("%s at %v: changed %v, want %v: %s", c.spec.name(), c.at, changed, c.changed, c.why)
		}
		if got := key.peek(q, at(c.at), Ask{}).Remaining; got != c.left {
			t.Errorf("%s at %v: remaining %d, want %d: %s", c.spec.name(), c.at, got, c.left, c.why)
		}
	}
}

func TestGiveKeepsWithinWhatWasSpent(t *testing.T) {
	for _, s := range append(everyAlgorithm(10, 10*time.Second), shaperOf(10, 10*time.Second, 9)) {
		t.Run(s.name(), func(t *testing.T) {
			q := mustCompile(t, s)
			var key counter
			o := key.take(q, at(0), Ask{Cost: 3})
			for _, c := range []struct {
				units   int64
				receipt Receipt
				why     string
			}{
				{0, o.Receipt, "nothing"},
				{-5, o.Receipt, "less than nothing"},
				{3, Receipt{}, "a receipt for nothing"},
				{3, Receipt{At: at(-time.Hour), Level: 1}, "a receipt from long ago"},
				{3, Receipt{At: at(time.Hour)}, "a receipt from a time to come"},
			} {
				if key.give(q, at(0), c.units, c.receipt, false) {
					t.Errorf("Give(%d, %+v) changed the state: %s", c.units, c.receipt, c.why)
				}
				if got := key.owes(at(0)); got != 3 {
					t.Errorf("Give(%d, %+v): owes %d, want 3: %s", c.units, c.receipt, got, c.why)
				}
			}
			key.give(q, at(0), 1<<62, o.Receipt, false)
			if got := key.peek(q, at(0), Ask{}).Remaining; got != 10 {
				t.Errorf("after giving back more than was taken: remaining %d, want 10", got)
			}
			if key.give(q, at(0), 1, o.Receipt, false) {
				t.Errorf("giving back the same again changed the state")
			}
			var fresh counter
			if fresh.give(q, at(0), 3, o.Receipt, false) {
				t.Errorf("giving back to a key that was forgotten changed it")
			}
		})
	}
}

// A place in a queue comes back only when nobody stands behind it.
func TestGiveTurn(t *testing.T) {
	wait := Ask{Cost: 1, MaxDelay: time.Hour.Microseconds()}
	for _, c := range []struct {
		spec Spec
		turn bool
	}{
		{shaperOf(1, time.Second, 9), true},
		{shaperOf(1, time.Second, 9), false}, // a queue knows no other way
		{bucketOf(1, time.Second, 1), true},
	} {
		q := mustCompile(t, c.spec)
		var key counter
		key.take(q, at(0), wait)
		first := key.take(q, at(0), wait)
		second := key.take(q, at(0), wait)
		if first.Delay != time.Second.Microseconds() || second.Delay != 2*time.Second.Microseconds() {
			t.Fatalf("%s: delays %d, %d, want 1 s, 2 s", c.spec.name(), first.Delay, second.Delay)
		}
		if key.give(q, at(500*time.Millisecond), 1, first.Receipt, c.turn) {
			t.Errorf("%s: the first gave its turn back though the second stands behind it", c.spec.name())
		}
		if !key.give(q, at(500*time.Millisecond), 1, second.Receipt, c.turn) {
			t.Errorf("%s: the last could not give its turn back", c.spec.name())
		}
		if got := key.take(q, at(500*time.Millisecond), wait).Delay; got != 1500*time.Millisecond.Microseconds() {
			t.Errorf("%s: the next waits %v, want until the turn that came back, 1.5s", c.spec.name(), micros(got))
		}
	}
}

// Units given back ahead of a grant are not returned a second time with it.
func TestGiveInAnyOrder(t *testing.T) {
	q := mustCompile(t, bucketOf(1, time.Second, 10))
	var key counter
	a := key.take(q, at(0), Ask{Cost: 5})
	b := key.take(q, at(0), Ask{Cost: 5})
	key.give(q, at(0), 5, a.Receipt, false)
	if got := key.owes(at(0)); got != 5 {
		t.Errorf("owes %d after the first came back, want 5", got)
	}
	key.give(q, at(3*time.Second), 5, b.Receipt, false)
	if got := key.owes(at(3 * time.Second)); got != 0 {
		t.Errorf("owes %d after both came back, want 0", got)
	}
	if key.give(q, at(3*time.Second), 5, a.Receipt, false) {
		t.Errorf("an empty bucket gave something back")
	}
}

// A window whose only charge was given back was never begun.
func TestGiveEndsAWindowThatNobodyUsed(t *testing.T) {
	q := mustCompile(t, firstOf(10, time.Minute))
	var key counter
	o := key.take(q, at(0), Ask{Cost: 1})
	key.give(q, at(time.Second), 1, o.Receipt, false)
	got := key.take(q, at(59*time.Second), Ask{Cost: 10})
	if want := time.Minute.Microseconds(); !got.Granted || got.ResetAfter != want {
		t.Errorf("the next charge: granted %v, reset after %v, want its own window of a minute", got.Granted, micros(got.ResetAfter))
	}
	if key.give(q, at(59*time.Second), 1, o.Receipt, false) {
		t.Errorf("the first charge was given back a second time")
	}
}

// The log stays as small as its limit, and says the truth, when charges come back.
func TestGiveLeavesNoHolesInTheLog(t *testing.T) {
	q := mustCompile(t, logOf(10, time.Hour))
	var key counter
	key.take(q, at(0), Ask{Cost: 1})
	for i := range int64(100_000) {
		now := at(time.Second) + i
		o := key.take(q, now, Ask{Cost: 1})
		if !o.Granted || !key.give(q, now, 1, o.Receipt, false) {
			t.Fatalf("round %d: %+v", i, o)
		}
	}
	if got, want := key.log.Bytes(), int64(16*entryBytes); got > want {
		t.Errorf("after a hundred thousand charges given back the log takes %d bytes, want at most %d", got, want)
	}
	if got, want := key.peek(q, at(10*time.Second), Ask{}).ResetAfter, (time.Hour - 10*time.Second).Microseconds(); got != want {
		t.Errorf("reset after %v, want that of the one charge that counts: %v", micros(got), micros(want))
	}

	// Not in the order in which they were taken, either.
	for i := range int64(100_000) {
		now := at(20*time.Second) + 2*i
		first, second := key.take(q, now, Ask{Cost: 1}), key.take(q, now+1, Ask{Cost: 1})
		key.give(q, now+1, 1, first.Receipt, false)
		key.give(q, now+1, 1, second.Receipt, false)
	}
	if got, want := key.log.Bytes(), int64(16*entryBytes); got > want {
		t.Errorf("after as many pairs given back the log takes %d bytes, want at most %d", got, want)
	}

	// And from the middle.
	key = counter{}
	var receipts []Receipt
	for i := range int64(9) {
		receipts = append(receipts, key.take(q, at(0)+i, Ask{Cost: 1}).Receipt)
	}
	for _, i := range []int{4, 0, 8, 3, 5} {
		if !key.give(q, at(time.Second), 1, receipts[i], false) {
			t.Errorf("charge %d was not given back", i)
		}
	}
	want := []int64{1, 2, 6, 7}
	for i, w := range want {
		o := key.peek(q, at(time.Second), Ask{Cost: 7 + int64(i)})
		if o.RetryAfter != at(time.Hour)+w-at(time.Second) {
			t.Errorf("cost %d: retry after %v, want when charge %d expires", 7+i, micros(o.RetryAfter), w)
		}
	}
	if got := key.peek(q, at(time.Second), Ask{}).ResetAfter; got != at(time.Hour)+7-at(time.Second) {
		t.Errorf("reset after %v, want when charge 7 expires", micros(got))
	}
}

func TestGiveAfterAChange(t *testing.T) {
	for _, c := range []struct {
		old, now Spec
		changed  bool
		why      string
	}{
		{bucketOf(10, time.Minute, 10), bucketOf(5, time.Minute, 5), true, "the same words"},
		{bucketOf(10, time.Minute, 10), bucketOf(10, time.Hour, 10), false, "the receipt is in words of the old period"},
		{fixedOf(10, time.Minute), fixedOf(5, time.Minute), true, "the same window"},
		{fixedOf(10, time.Minute), fixedOf(10, time.Hour), false, "another window"},
		{slidingOf(10, time.Minute), slidingOf(5, time.Minute), true, "the same windows"},
		{slidingOf(10, time.Minute), slidingOf(10, time.Hour), false, "other windows"},
		{logOf(10, time.Minute), logOf(5, time.Hour), true, "the log keeps the instant"},
	} {
		old, now := mustCompile(t, c.old), mustCompile(t, c.now)
		var key counter
		o := key.take(old, at(30*time.Minute), Ask{Cost: 4})
		if got := key.give(now, at(30*time.Minute), 4, o.Receipt, false); got != c.changed {
			t.Errorf("%s to %s: changed %v, want %v: %s", c.old.name(), c.now.name(), got, c.changed, c.why)
		}
	}
}

// Two words cannot tell that a grant began to drain early because the one before it
// was given back. So what it returns later may be a later grant's, and a span may
// hold more than a burst; over the whole story nothing is gained.
func TestGiveOutOfOrderMayLendUnits(t *testing.T) {
	q := mustCompile(t, bucketOf(1, time.Second, 10))
	var key counter
	a := key.take(q, at(0), Ask{Cost: 5})
	b := key.take(q, at(0), Ask{Cost: 5})
	key.give(q, at(0), 5, a.Receipt, false)
	tellOn(t, &key, q, []step{{5 * time.Second, 5, true, 5, 0, "the second grant has drained"}})
	key.give(q, at(5*time.Second), 5, b.Receipt, false)
	tellOn(t, &key, q, []step{
		{5 * time.Second, 10, true, 0, 0, "fifteen at once, and fifteen is what the burst and five seconds make"},
		{5 * time.Second, 1, false, 0, time.Second, "and not one more"},
	})
}

// A clock that ran ahead for a give-back, and is put right again, has refilled
// nothing.
func TestGiveDoesNotMoveTime(t *testing.T) {
	for _, s := range everyAlgorithm(10, 10*time.Second) {
		t.Run(s.name(), func(t *testing.T) {
			q := mustCompile(t, s)
			for _, ahead := range []time.Duration{0, 5 * time.Second, 9 * time.Second, 15 * time.Second} {
				var key counter
				key.take(q, at(0), Ask{Cost: 9})
				o := key.take(q, at(0), Ask{Cost: 1})
				given := int64(0)
				if key.give(q, at(ahead), 1, o.Receipt, false) {
					given = 1
				}
				if got := key.peek(q, at(0), Ask{}).Remaining; got != given {
					t.Errorf("gave back %d at %v, then at 0 again: remaining %d, want %d", given, ahead, got, given)
				}
			}
		})
	}
}
