package algo

import (
	"testing"
	"time"
)

// A chapter is a part of a story under one quota.
type chapter struct {
	under Spec
	steps []step
}

func tellChapters(t *testing.T, chapters []chapter) {
	t.Helper()
	var key counter
	for _, c := range chapters {
		tellOn(t, &key, mustCompile(t, c.under), c.steps)
	}
}

func TestQuotaChangeBitesAtOnce(t *testing.T) {
	for _, of := range []func(limit int64, period time.Duration) Spec{fixedOf, firstOf, slidingOf, logOf} {
		tellChapters(t, []chapter{
			{of(100, time.Minute), []step{{0, 2, true, 98, 0, "two of a hundred"}}},
			{of(10, time.Minute), []step{{time.Second, 1, true, 7, 0, "lowered: the two stay spent"}}},
			{of(1, time.Minute), []step{{2 * time.Second, 1, false, 0, unsaid, "three of one: denied, and nothing is negative"}}},
			{of(100, time.Minute), []step{{3 * time.Second, 1, true, 96, 0, "back: the denied one took nothing"}}},
		})
	}
	tellChapters(t, []chapter{
		{bucketOf(100, time.Hour, 100), []step{{0, 40, true, 60, 0, "forty of a hundred"}}},
		{bucketOf(10, time.Hour, 10), []step{{0, 1, false, 0, 31 * 6 * time.Minute, "thirty above the burst and one unit at ten an hour: nothing is forgiven"}}},
		{bucketOf(100, time.Hour, 100), []step{{0, 61, false, 60, unsaid, "sixty are left"}, {0, 60, true, 0, 0, "the difference at once"}}},
	})
}

func TestQuotaChangeLetsTheDifferenceThrough(t *testing.T) {
	tellChapters(t, []chapter{
		{bucketOf(5, time.Hour, 5), []step{{0, 5, true, 0, 0, "exhausted"}}},
		{bucketOf(10, time.Hour, 10), []step{
			{0, 5, true, 0, 0, "raised: five more now, whatever the old rate would have taken for them"},
			{0, 1, false, 0, 6 * time.Minute, "and then one each six minutes"},
		}},
	})
	for _, of := range []func(limit int64, period time.Duration) Spec{fixedOf, firstOf, slidingOf, logOf} {
		chapters := []chapter{{of(10, time.Minute), []step{{0, 10, true, 0, 0, "all ten"}}}}
		for range 10 {
			chapters[0].steps = append(chapters[0].steps, step{0, 1, false, 0, unsaid, "and ten denied"})
		}
		chapters = append(chapters, chapter{of(20, time.Minute), []step{
			{0, 10, true, 0, 0, "the ten denied are not in the count"},
			{0, 1, false, 0, unsaid, "twenty"},
		}})
		tellChapters(t, chapters)
	}
}

// A lowered limit goes on at its own rate; it does not stop.
func TestQuotaChangeLoweredRateGoesOn(t *testing.T) {
	var key counter
	key.take(mustCompile(t, bucketOf(5, time.Second, 5)), at(0), Ask{Cost: 5})
	lowered := mustCompile(t, bucketOf(2, time.Second, 2))
	// Five spent, three above the new burst: they decay at the new rate first.
	tellOn(t, &key, lowered, []step{{0, 1, false, 0, 2 * time.Second, "(5 + 1 − 2) / 2 s"}})
	if got := saturate(&key, lowered, 2*time.Second, 5*time.Second, 10*time.Millisecond); got < 10 || got > 11 {
		t.Errorf("granted %d in five seconds, want two a second", got)
	}
}

func TestBurstFollowsLimitWhenNotGiven(t *testing.T) {
	tellChapters(t, []chapter{
		{bucketOf(5, time.Second, 0), []step{{0, 5, true, 0, 0, "five"}}},
		{bucketOf(10, time.Second, 0), []step{
			{time.Second, 0, true, 10, 0, "after an idle second"},
			{time.Second, 10, true, 0, 0, "ten pass at once"},
		}},
	})
	if got := mustCompile(t, bucketOf(10, time.Second, 0)).Spec().Burst; got != 10 {
		t.Errorf("Spec().Burst = %d, want the limit, 10", got)
	}
}

// Until the change the old rate holds, even for a key that nobody has asked about
// since: what has drained is not spent again, and what has not is not forgiven.
func TestQuotaChangeDrainsThePastAtTheOldRate(t *testing.T) {
	tellChapters(t, []chapter{
		{bucketOf(100, time.Minute, 100), []step{{0, 100, true, 0, 0, "a hundred, refilled after a minute"}}},
		{bucketOf(1, Day, 1), []step{
			{time.Hour, 1, true, 0, 0, "they had been refilled long before the limit was lowered"},
			{time.Hour, 1, false, 0, Day, "the new rate"},
		}},
	})
	tellChapters(t, []chapter{
		{bucketOf(1, time.Hour, 10), []step{{0, 10, true, 0, 0, "ten, at one an hour"}}},
		{bucketOf(3600, time.Hour, 10), []step{
			{time.Hour, 2, false, 1, time.Second, "one of them has come back, not ten"},
			{time.Hour + time.Second, 2, true, 0, 0, "from now on at the new rate"},
		}},
	})
	tellChapters(t, []chapter{
		{shaperOf(10, time.Second, 9), []step{{0, 1, true, 9, 0, "one"}}},
		{shaperOf(1, time.Minute, 9), []step{{time.Second, 1, true, 9, 0, "it left long ago"}}},
	})
}

// A change of period rescales what is spent, rounded up.
func TestQuotaChangeOfPeriod(t *testing.T) {
	tellChapters(t, []chapter{
		{bucketOf(60, time.Minute, 10), []step{{0, 7, true, 3, 0, "seven of ten"}}},
		{bucketOf(3600, time.Hour, 10), []step{
			{0, 3, true, 0, 0, "the same rate in other words: three are left"},
			{0, 1, false, 0, time.Second, "one a second"},
		}},
		{bucketOf(1, time.Second, 10), []step{{time.Second, 1, true, 0, 0, "and again"}}},
	})
	tellChapters(t, []chapter{
		{bucketOf(1, 7*time.Second, 1), []step{{0, 1, true, 0, 0, "one"}}},
		{bucketOf(1, 3*time.Second, 1), []step{
			{time.Second, 1, false, 0, 2571429 * time.Microsecond, "6/7 of a unit, at one in three seconds, rounded up"},
		}},
	})
	// A tick of a second: the change takes effect with its next step.
	coarse := bucketOf(1_000_000_000_000_000, time.Second, 0)
	if got := mustCompile(t, coarse).Tick(); got != time.Second {
		t.Fatalf("Tick() = %v, want 1s", got)
	}
	tellChapters(t, []chapter{
		{bucketOf(10, time.Second, 10), []step{{1500 * time.Millisecond, 10, true, 0, 0, "ten"}}},
		{coarse, []step{
			{1600 * time.Millisecond, 0, true, 999_999_999_999_991, 0, "nine are still spent"},
			{2900 * time.Millisecond, 0, true, 999_999_999_999_991, 0, "until a whole step has passed"},
			{3 * time.Second, 0, true, 1_000_000_000_000_000, 0, "which it now has"},
		}},
	})
}

func TestQuotaChangeOfWindow(t *testing.T) {
	tellChapters(t, []chapter{
		{fixedOf(10, time.Minute), []step{{70 * time.Second, 7, true, 3, 0, "seven in the minute from 60"}}},
		{fixedOf(10, time.Hour), []step{
			{80 * time.Second, 4, false, 3, time.Hour - 80*time.Second, "they count in the hour that contains now"},
			{80 * time.Second, 3, true, 0, 0, "three are left"},
		}},
		{fixedOf(10, 10*time.Second), []step{
			{85 * time.Second, 1, false, 0, 5 * time.Second, "and then in the ten seconds that contain now"},
			{90 * time.Second, 10, true, 0, 0, "and no longer"},
		}},
	})
	tellChapters(t, []chapter{
		{fixedOf(10, time.Minute), []step{{10 * time.Second, 7, true, 3, 0, "seven in the minute from 0"}}},
		{fixedOf(10, time.Hour), []step{{time.Minute, 10, true, 0, 0, "whose window was over before the change"}}},
	})
	tellChapters(t, []chapter{
		{fixedOf(10, time.Minute), []step{{10 * time.Second, 7, true, 3, 0, "in aligned windows"}}},
		{firstOf(10, time.Minute), []step{{20 * time.Second, 4, false, 3, time.Minute, "the key's own window begins now"}}},
	})
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	local := fixedOf(10, Day)
	local.Zone = shanghai
	tellChapters(t, []chapter{
		{fixedOf(10, Day), []step{{10 * time.Hour, 7, true, 3, 0, "in a day of UTC"}}},
		{local, []step{
			{11 * time.Hour, 4, false, 3, 5 * time.Hour, "in Shanghai it ends at 16:00 UTC"},
			{16 * time.Hour, 10, true, 0, 0, "and then it is over"},
		}},
		{fixedOf(10, Month), []step{{17 * time.Hour, 1, false, 0, 30*Day + 7*time.Hour, "the first of February"}}},
	})
	tellChapters(t, []chapter{
		{slidingOf(100, 10*time.Second), []step{
			{9 * time.Second, 80, true, 20, 0, "eighty in the window from 0"},
			{15 * time.Second, 10, true, 50, 0, "of which forty weigh in the middle of the next"},
		}},
		{slidingOf(100, time.Minute), []step{
			{15 * time.Second, 51, false, 50, unsaid, "fifty are spent, before the change and after it"},
			{15 * time.Second, 50, true, 0, 0, "fifty are not"},
		}},
	})
	tellChapters(t, []chapter{
		{logOf(10, time.Minute), []step{
			{0, 3, true, 7, 0, "three at 0"},
			{50 * time.Second, 4, true, 3, 0, "four at 50"},
		}},
		{logOf(10, 20*time.Second), []step{{55 * time.Second, 6, true, 0, 0, "a shorter window sees only the four"}}},
		{logOf(10, time.Hour), []step{{56 * time.Second, 1, false, 0, time.Hour - 6*time.Second, "a longer one cannot recall the three"}}},
	})
}

// What the old quota had forgotten is not recalled by a longer one, whether or not
// somebody happened to look in between.
func TestQuotaChangeRecallsNothing(t *testing.T) {
	for _, c := range []struct{ old, longer Spec }{
		{logOf(10, time.Second), logOf(10, time.Hour)},
		{cellsOf(10, time.Second, 10), cellsOf(10, time.Hour, 10)},
		{cellsOf(10, time.Second, 10), cellsOf(10, 1100*time.Millisecond, 11)},
	} {
		old, longer := mustCompile(t, c.old), mustCompile(t, c.longer)
		var watched, alone counter
		watched.take(old, at(0), Ask{Cost: 10})
		alone.take(old, at(0), Ask{Cost: 10})
		watched.peek(old, at(1100*time.Millisecond), Ask{Cost: 1})
		want := watched.take(longer, at(1100*time.Millisecond), Ask{Cost: 1})
		if got := alone.take(longer, at(1100*time.Millisecond), Ask{Cost: 1}); got != want || got.Remaining != 9 {
			t.Errorf("%s to %s: %+v, want %+v as after a peek, with nine remaining", c.old.name(), c.longer.name(), got, want)
		}
	}
}

// Cells are moved to other cells as if each charge had come at the end of its own.
func TestQuotaChangeOfCells(t *testing.T) {
	tellChapters(t, []chapter{
		{cellsOf(10, 10*time.Second, 2), []step{
			{0, 4, true, 6, 0, "in the cell from 0 to 5"},
			{7 * time.Second, 3, true, 3, 0, "in the cell from 5 to 10"},
		}},
		{cellsOf(10, 10*time.Second, 10), []step{
			{8 * time.Second, 4, false, 3, 7 * time.Second, "the four now count from 4 to 15"},
			{15 * time.Second, 7, true, 0, 0, "then they are gone"},
			{15 * time.Second, 1, false, 0, 4 * time.Second, "the three from 8 to 19, since it was 8 when they were moved"},
		}},
	})
}

// What is owed may be more than a lifetime's worth under the new quota. No number
// overflows, and nothing is granted.
func TestQuotaChangeForCenturies(t *testing.T) {
	tellChapters(t, []chapter{
		{bucketOf(1_000_000_000, time.Second, 0), []step{{0, 1_000_000_000, true, 0, 0, "a thousand million"}}},
		{bucketOf(5, 400*Day, 450), []step{
			{0, 1, false, 0, micros(maxSpan), "at five in four hundred days"},
			{100 * 365 * Day, 1, false, 0, micros(maxSpan), "nor a century later"},
		}},
		{bucketOf(1, 400*Day, 1), []step{{100 * 365 * Day, 1, false, 0, micros(maxSpan), "nor at one"}}},
	})
}

// The clock is behind the stored window when the window is changed: time does not
// go back for the new one either.
func TestQuotaChangeWhileTheClockIsBehind(t *testing.T) {
	for _, c := range []struct{ old, now Spec }{
		{fixedOf(10, time.Minute), fixedOf(10, 10*time.Second)},
		{firstOf(10, time.Minute), firstOf(10, 10*time.Second)},
		{fixedOf(10, Day), fixedOf(10, time.Hour)},
		{slidingOf(10, time.Minute), slidingOf(10, 10*time.Second)},
		{bucketOf(10, time.Minute, 10), bucketOf(10, 10*time.Second, 10)},
		{logOf(10, time.Minute), logOf(10, 10*time.Second)},
		{cellsOf(10, time.Minute, 10), cellsOf(10, 10*time.Second, 5)},
	} {
		var key counter
		key.take(mustCompile(t, c.old), at(0), Ask{Cost: 10})
		q := mustCompile(t, c.now)
		tellOn(t, &key, q, []step{
			{-36 * time.Hour, 1, false, 0, unsaid, "the clock has stepped back: " + c.now.name()},
			{0, 1, false, 0, unsaid, "and nothing is forgotten until it is back: " + c.now.name()},
		})
	}
}

// Instances with the old and the new numbers may take turns during a rollout.
// Nobody is refilled by that, and denials alone do not add up.
func TestQuotaChangeBackAndForth(t *testing.T) {
	for _, c := range []struct{ a, b Spec }{
		{bucketOf(7, time.Hour, 50), bucketOf(11, time.Minute, 40)},
		{meterOf(7, time.Hour, 50), meterOf(11, time.Minute, 40)},
		{fixedOf(100, time.Hour), fixedOf(40, time.Hour)},
		{slidingOf(100, time.Hour), slidingOf(40, time.Minute)},
		{logOf(100, time.Hour), logOf(40, time.Hour)},
	} {
		a, b := mustCompile(t, c.a), mustCompile(t, c.b)
		var key counter
		key.take(a, at(0), Ask{Cost: 40})
		for range 1000 {
			key.take(b, at(0), Ask{Cost: 40})
			key.take(a, at(0), Ask{Cost: 100})
		}
		if got := key.owes(at(0)); got < 40 || got > 41 {
			t.Errorf("%s and %s: owes %d after a thousand changes, want 40 or, rounded up, 41", c.a.name(), c.b.name(), got)
		}
	}
}
