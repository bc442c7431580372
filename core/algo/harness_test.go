package algo

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// counter is what a key has spent under any quota: two words, or a log.
type counter struct {
	state State
	log   Log
}

func (c *counter) take(q *Quota, now int64, ask Ask) Outcome {
	if q.Wide() {
		return q.TakeLog(&c.log, now, ask)
	}
	s, o := q.Take(c.state, now, ask)
	c.state = s
	return o
}

func (c *counter) peek(q *Quota, now int64, ask Ask) Outcome {
	if q.Wide() {
		return q.PeekLog(&c.log, now, ask)
	}
	s, o := q.Peek(c.state, now, ask)
	c.state = s
	return o
}

func (c *counter) give(q *Quota, now, units int64, r Receipt, turn bool) bool {
	if q.Wide() {
		return q.GiveLog(&c.log, now, units, r)
	}
	s, changed := q.Give(c.state, now, units, r, turn)
	c.state = s
	return changed
}

// owes returns the units spent at now, under the quota they were written under.
func (c *counter) owes(now int64) int64 {
	if c.state.Under != nil {
		return c.state.Under.Owes(c.state, now)
	}
	return c.log.LogOwes(now)
}

func (c *counter) clone() counter {
	d := *c
	d.log.ring = slices.Clone(c.log.ring)
	return d
}

// would answers an ask without spending anything.
func (c *counter) would(q *Quota, now int64, ask Ask) Outcome {
	if !q.Wide() {
		_, o := q.Take(c.state, now, ask)
		return o
	}
	d := c.clone()
	return d.take(q, now, ask)
}

// noon is where the stories start: an edge of every window of a whole number of
// seconds, minutes or hours that divides a day, and a midnight in UTC.
const noon = int64(1_704_067_200_000_000)

// at returns the instant of a story.
func at(d time.Duration) int64 { return noon + d.Microseconds() }

func mustCompile(t testing.TB, s Spec) *Quota {
	t.Helper()
	q, err := Compile(s)
	if err != nil {
		t.Fatalf("Compile(%+v): %v", s, err)
	}
	return q
}

// bucketOf and the rest name the quotas of the stories.
func bucketOf(limit int64, period time.Duration, burst int64) Spec {
	return Spec{Algorithm: TokenBucket, Limit: limit, Period: period, Burst: burst}
}

func meterOf(limit int64, period time.Duration, queue int64) Spec {
	return Spec{Algorithm: LeakyBucket, Limit: limit, Period: period, Queue: queue}
}

func shaperOf(limit int64, period time.Duration, queue int64) Spec {
	return Spec{Algorithm: LeakyBucket, Limit: limit, Period: period, Queue: queue, Shaper: true}
}

func fixedOf(limit int64, period time.Duration) Spec {
	return Spec{Algorithm: FixedWindow, Limit: limit, Period: period}
}

func firstOf(limit int64, period time.Duration) Spec {
	return Spec{Algorithm: FixedWindow, Limit: limit, Period: period, FirstRequest: true}
}

func slidingOf(limit int64, period time.Duration) Spec {
	return Spec{Algorithm: SlidingWindow, Limit: limit, Period: period}
}

func cellsOf(limit int64, period time.Duration, n int) Spec {
	return Spec{Algorithm: SlidingWindow, Limit: limit, Period: period, Cells: n}
}

func logOf(limit int64, period time.Duration) Spec {
	return Spec{Algorithm: SlidingLog, Limit: limit, Period: period}
}

// everyAlgorithm returns one quota of each kind that holds limit units at once
// and forgets them within two periods.
func everyAlgorithm(limit int64, period time.Duration) []Spec {
	return []Spec{
		bucketOf(limit, period, 0),
		meterOf(limit, period, limit-1),
		fixedOf(limit, period),
		firstOf(limit, period),
		slidingOf(limit, period),
		cellsOf(limit, period, 10),
		logOf(limit, period),
	}
}

// name returns a name for a subtest.
func (s Spec) name() string {
	kind := s.Algorithm.String()
	switch {
	case s.Shaper:
		kind += "/queue"
	case s.FirstRequest:
		kind += "/first-request"
	case s.Cells > 0:
		kind += fmt.Sprintf("/%d-cells", s.Cells)
	}
	if s.Period == Month {
		return fmt.Sprintf("%s/%d-per-month", kind, s.Limit)
	}
	return fmt.Sprintf("%s/%d-per-%v", kind, s.Limit, s.Period)
}

// unsaid is a number that a step does not look at.
const unsaid = -1

const never = time.Duration(Never)

// A step is one ask of a story and what must come of it.
type step struct {
	at        time.Duration // since the story began
	cost      int64
	granted   bool
	remaining int64
	retry     time.Duration // of a denial; 0 for a grant
	why       string
}

// tell asks step by step and compares the answers.
func tell(t *testing.T, s Spec, steps []step) {
	t.Helper()
	var key counter
	tellOn(t, &key, mustCompile(t, s), steps)
}

func tellOn(t *testing.T, key *counter, q *Quota, steps []step) {
	t.Helper()
	for i, want := range steps {
		got := key.take(q, at(want.at), Ask{Cost: want.cost})
		retry := never
		if got.RetryAfter != Never {
			retry = micros(got.RetryAfter)
		}
		if got.Granted != want.granted ||
			want.remaining != unsaid && got.Remaining != want.remaining ||
			want.retry != unsaid && retry != want.retry {
			t.Errorf("step %d at %v, cost %d: granted %v, remaining %d, retry %v; want %v, %d, %v: %s",
				i, want.at, want.cost, got.Granted, got.Remaining, retry, want.granted, want.remaining, want.retry, want.why)
		}
	}
}

// saturate asks for one unit every step of time for a span, and returns how many
// were granted.
func saturate(key *counter, q *Quota, from, span, every time.Duration) (granted int64) {
	for d := from; d < from+span; d += every {
		if key.take(q, at(d), Ask{Cost: 1}).Granted {
			granted++
		}
	}
	return granted
}
