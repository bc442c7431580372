package algo

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// fields returns the fields that an error complains about, or false when it is not
// made of field errors alone.
func fields(err error) (names []string, ok bool) {
	if joined, is := err.(interface{ Unwrap() []error }); is {
		for _, inner := range joined.Unwrap() {
			more, ok := fields(inner)
			if !ok {
				return nil, false
			}
			names = append(names, more...)
		}
		return names, true
	}
	var field *FieldError
	if !errors.As(err, &field) {
		return nil, false
	}
	return []string{field.Field}, true
}

func TestCompileRefuses(t *testing.T) {
	shanghai := time.FixedZone("Shanghai", 8*3600)
	for _, c := range []struct {
		spec Spec
		want string // the fields, in order
		why  string
	}{
		{bucketOf(-1, time.Second, 0), "limit burst", "a negative limit, and a burst that follows it"},
		{bucketOf(1, 0, 0), "limit", "no period"},
		{bucketOf(1, -5, 0), "limit", "a negative period that is not a month"},
		{bucketOf(1, 290*365*Day, 0), "limit", "a period of 290 years"},
		{bucketOf(1, 1<<63-1, 0), "limit limit", "a period of 292 years and not of whole microseconds"},
		{bucketOf(1, 1500*time.Nanosecond, 0), "limit", "a period of a microsecond and a half"},
		{bucketOf(1, time.Second, -1), "burst", "a negative burst"},
		{bucketOf(0, time.Second, 5), "burst", "a burst of a limit that allows nothing"},
		{bucketOf(1<<53+1, time.Second, 1), "limit", "more than a double counts"},
		{bucketOf(1, time.Second, 1<<53+1), "burst", "more than a double counts"},
		{bucketOf(1_000_000_007, 9973*time.Microsecond, 1<<50), "limit", "a product above 2^53 that no tick makes smaller"},
		{bucketOf(1, 400*Day, 100), "limit", "more than a hundred years to fill"},
		{bucketOf(1, Month, 0), "limit", "months are for fixed windows"},
		{meterOf(1, time.Second, -1), "queue", "a negative queue"},
		{meterOf(1, time.Second, 1<<53), "queue", "a queue that no double counts"},
		{meterOf(1, 400*Day, 100), "limit", "more than a hundred years to drain"},
		{Spec{Algorithm: LeakyBucket, Limit: 1, Period: time.Second, Burst: 1}, "burst", "a leaky bucket has a queue"},
		{Spec{Algorithm: TokenBucket, Limit: 1, Period: time.Second, Queue: 1}, "queue", "a token bucket has a burst"},
		{Spec{Algorithm: FixedWindow, Limit: 1, Period: time.Second, Shaper: true}, "queue", "a window does not delay"},
		{Spec{Algorithm: FixedWindow, Limit: 1, Period: time.Second, Cells: 5}, "buckets", "a fixed window has no cells"},
		{cellsOf(1, time.Second, 1), "buckets", "one cell"},
		{cellsOf(1, time.Second, 61), "buckets", "too many cells"},
		{cellsOf(1, time.Second, -1), "buckets", "fewer than none"},
		{slidingOf(1<<31, time.Second), "limit", "more than half a word counts"},
		{slidingOf(MaxSliding, 399*Day+time.Second), "limit", "a product above 2^53 with any tick"},
		{slidingOf(1, Month), "limit", "months are for fixed windows"},
		{logOf(MaxLog+1, time.Second), "limit", "a log too long"},
		{Spec{Algorithm: SlidingLog, Limit: 1, Period: time.Second, FirstRequest: true}, "align", "a log has no windows"},
		{Spec{Algorithm: FixedWindow, Limit: 1, Period: Month, FirstRequest: true}, "align", "a month begins on the first"},
		{fixedOf(1, 25*time.Hour), "limit", "a day and an hour"},
		{fixedOf(1, 401*Day), "limit", "too long a window"},
		{Spec{Algorithm: FixedWindow, Limit: 1, Period: time.Hour, Zone: shanghai}, "timezone", "hours have no zone"},
		{Spec{Algorithm: FixedWindow, Limit: 1, Period: Day, FirstRequest: true, Zone: shanghai}, "timezone", "nor do a key's own days"},
		{Spec{Algorithm: SlidingWindow, Limit: 1, Period: Day, Zone: shanghai}, "timezone", "nor do sliding ones"},
		{Spec{Algorithm: Concurrency, Limit: 1, Period: time.Second}, "limit", "at once has no period"},
		{Spec{Algorithm: Concurrency, Limit: -1, Zone: shanghai}, "limit timezone", "at once has no zone"},
		{Spec{Algorithm: 17, Limit: 1, Period: time.Second}, "algorithm", "no such algorithm"},
		{Spec{Algorithm: SlidingLog, Limit: -1, Period: -7, Burst: 1, Queue: 1, Cells: 3, FirstRequest: true, Zone: shanghai}, "limit burst queue buckets align limit timezone", "every problem at once"},
	} {
		q, err := Compile(c.spec)
		if err == nil {
			t.Errorf("Compile(%+v) = %+v, want an error: %s", c.spec, q, c.why)
			continue
		}
		if got, ok := fields(err); !ok || strings.Join(got, " ") != c.want {
			t.Errorf("Compile(%+v): %q about %q, want about %q: %s", c.spec, err, got, c.want, c.why)
		}
	}
}

func TestCompileAccepts(t *testing.T) {
	for _, c := range []struct {
		spec     Spec
		capacity int64
		tick     time.Duration
		why      string
	}{
		{bucketOf(10, time.Second, 0), 10, time.Microsecond, "the burst is the limit"},
		{bucketOf(1, 400*Day, 0), 1, time.Microsecond, "one in four hundred days"},
		{bucketOf(1_000_000_000, time.Second, 0), 1_000_000_000, time.Microsecond, "a thousand million a second"},
		{bucketOf(1_000_000_000_000_000, 9*time.Second, 0), 1_000_000_000_000_000, time.Second, "a thousand million million in nine seconds, seen second by second"},
		{bucketOf(1_000_000_007, time.Minute, 100_000_000_000), 100_000_000_000, time.Millisecond, "a coarser tick for a large burst"},
		{bucketOf(1_000_000, Day, 0), 1_000_000, 10 * time.Microsecond, "a million a day"},
		{meterOf(10, time.Second, 0), 1, time.Microsecond, "no queue: one at a time"},
		{shaperOf(10, time.Second, 50), 51, time.Microsecond, "fifty behind the one that leaves"},
		{fixedOf(1<<53, 7*time.Hour), 1 << 53, time.Microsecond, "any period under a day"},
		{fixedOf(1, 400*Day), 1, time.Microsecond, "whole days"},
		{fixedOf(1, Month), 1, time.Microsecond, "months"},
		{firstOf(1, 25*time.Hour), 1, time.Microsecond, "a key's own window may be as long as it likes"},
		{slidingOf(MaxSliding, time.Second), MaxSliding, time.Microsecond, "two billion a second"},
		{slidingOf(MaxSliding, 40*Day), MaxSliding, time.Second, "and in forty days, second by second"},
		{cellsOf(1<<53, time.Second, 60), 1 << 53, time.Microsecond, "cells count anything"},
		{logOf(MaxLog, 400*Day), MaxLog, time.Microsecond, "the longest log"},
		{Spec{Algorithm: Concurrency, Limit: 5}, 5, time.Microsecond, "five at once"},
		{Spec{Algorithm: Concurrency}, 0, time.Microsecond, "none at once"},
	} {
		q, err := Compile(c.spec)
		if err != nil {
			t.Errorf("Compile(%+v): %v, want %s", c.spec, err, c.why)
			continue
		}
		if q.Capacity() != c.capacity || q.Tick() != c.tick {
			t.Errorf("Compile(%+v): capacity %d, tick %v, want %d, %v: %s", c.spec, q.Capacity(), q.Tick(), c.capacity, c.tick, c.why)
		}
		if got := q.Algorithm(); got != c.spec.Algorithm {
			t.Errorf("Algorithm() = %v, want %v", got, c.spec.Algorithm)
		}
		if got, want := q.Wide(), c.spec.Algorithm == SlidingLog || c.spec.Algorithm == Concurrency || c.spec.Cells > 0; got != want {
			t.Errorf("%s: Wide() = %v, want %v", c.spec.name(), got, want)
		}
	}
}

// The same numbers are the same quota, found again by its number, from any
// goroutine.
func TestQuotasAreInterned(t *testing.T) {
	specs := everyAlgorithm(7, 13*time.Second)
	first := make([]*Quota, len(specs))
	for i, s := range specs {
		first[i] = mustCompile(t, s)
		if ByID(first[i].ID()) != first[i] || first[i].ID() == 0 {
			t.Errorf("%s: ByID(%d) = %p, want %p", s.name(), first[i].ID(), ByID(first[i].ID()), first[i])
		}
		if slices.Index(first, first[i]) != i {
			t.Errorf("%s is one quota with another", s.name())
		}
	}
	if ByID(0) != nil || ByID(1<<31) != nil {
		t.Errorf("ByID of no quota: %v, %v, want nil", ByID(0), ByID(1<<31))
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i, s := range specs {
				if q, err := Compile(s); err != nil || q != first[i] || ByID(q.ID()) != q {
					t.Errorf("Compile(%s) = %p, %v, want %p", s.name(), q, err, first[i])
				}
			}
		})
	}
	wg.Wait()
}

func TestAlgorithmNames(t *testing.T) {
	for a := TokenBucket; a <= Concurrency; a++ {
		if got, err := ParseAlgorithm(a.String()); err != nil || got != a {
			t.Errorf("ParseAlgorithm(%q) = %v, %v, want %d", a.String(), got, err, a)
		}
	}
	if got, want := Algorithm(9).String(), "algorithm(9)"; got != want {
		t.Errorf("Algorithm(9).String() = %q, want %q", got, want)
	}
	if _, err := ParseAlgorithm("bucket"); err == nil {
		t.Errorf("ParseAlgorithm(\"bucket\"): no error")
	} else {
		for _, name := range algorithmNames {
			if !strings.Contains(err.Error(), name) {
				t.Errorf("%q does not name %s", err, name)
			}
		}
	}
}

// Asking a quota for what it has not is a mistake of the caller's.
func TestWrongStatePanics(t *testing.T) {
	for _, s := range []Spec{cellsOf(1, time.Second, 2), logOf(1, time.Second), {Algorithm: Concurrency, Limit: 1}} {
		q := mustCompile(t, s)
		for what, f := range map[string]func(){
			"Take": func() { q.Take(State{}, at(0), Ask{Cost: 1}) },
			"Peek": func() { q.Peek(State{}, at(0), Ask{Cost: 1}) },
			"Give": func() { q.Give(State{Under: q}, at(0), 1, Receipt{At: 1}, false) },
		} {
			func() {
				defer func() {
					if text := fmt.Sprint(recover()); !strings.Contains(text, what) {
						t.Errorf("%s: %s: %s, want a panic that says so", s.name(), what, text)
					}
				}()
				f()
			}()
		}
	}
}

func FuzzCompile(f *testing.F) {
	f.Add(uint8(0), int64(10), int64(time.Second), int64(20), int64(0), false, 0, false, uint8(0))
	f.Add(uint8(1), int64(1<<53), int64(MaxPeriod), int64(0), int64(1<<52), true, 0, false, uint8(0))
	f.Add(uint8(2), int64(1), int64(Month), int64(0), int64(0), false, 0, false, uint8(2))
	f.Add(uint8(3), int64(MaxSliding), int64(time.Hour), int64(0), int64(0), false, 60, false, uint8(0))
	f.Add(uint8(3), int64(999_999_937), int64(9973*time.Microsecond), int64(0), int64(0), false, 0, false, uint8(0))
	f.Add(uint8(255), int64(-1), int64(-1<<63), int64(-1<<63), int64(1<<63-1), true, -1<<63, true, uint8(3))
	f.Fuzz(func(t *testing.T, algorithm uint8, limit, period, burst, queue int64, shaper bool, cells int, first bool, zone uint8) {
		s := Spec{
			Algorithm: Algorithm(algorithm), Limit: limit, Period: time.Duration(period),
			Burst: burst, Queue: queue, Shaper: shaper, Cells: cells, FirstRequest: first,
		}
		if zone%4 > 0 {
			s.Zone = time.FixedZone("somewhere", int(zone)*300)
		}
		if _, err := compiled(s); err != nil {
			t.Fatal(err)
		}
	})
}

// compiled compiles s and checks what Compile promises of it.
func compiled(s Spec) (*Quota, error) {
	q, err := Compile(s)
	if err != nil {
		if names, ok := fields(err); !ok || len(names) == 0 {
			return nil, fmt.Errorf("Compile(%+v): %w, want field errors alone", s, err)
		}
		return nil, nil
	}
	ticks := (s.Period / time.Microsecond / time.Duration(q.tick)).Nanoseconds()
	scaled := q.spec.Algorithm == TokenBucket || q.spec.Algorithm == LeakyBucket || q.spec.Algorithm == SlidingWindow && q.spec.Cells == 0
	if hi, lo := bits.Mul64(uint64(q.burst), uint64(ticks)); scaled && (hi > 0 || lo > 1<<53) {
		return nil, fmt.Errorf("Compile(%+v): %d units over %d ticks are above 2^53", s, q.burst, ticks)
	}
	if s.Period > 0 && scaled && s.Period%q.Tick() != 0 {
		return nil, fmt.Errorf("Compile(%+v): a tick of %v does not divide the period", s, q.Tick())
	}
	if q.Window() < 0 || q.Window() > 101*365*Day || q.Capacity() < 0 || (q.Capacity() == 0) != (s.Limit == 0) {
		return nil, fmt.Errorf("Compile(%+v): window %v, capacity %d", s, q.Window(), q.Capacity())
	}
	again, err := Compile(q.Spec())
	if err != nil || again != q {
		return nil, fmt.Errorf("Compile(%+v) = %p, %w, want the same again: %p", q.Spec(), again, err, q)
	}
	return q, nil
}
