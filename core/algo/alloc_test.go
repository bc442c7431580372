package algo

import (
	"testing"
	"time"
)

// twoWords returns a quota of each kind whose state is two words.
func twoWords() []Spec {
	london, err := time.LoadLocation("Europe/London")
	if err != nil {
		panic(err)
	}
	day := fixedOf(1_000_000, Day)
	day.Zone = london
	return []Spec{
		bucketOf(1_000_000, time.Second, 0), meterOf(1_000_000, time.Second, 1000), shaperOf(1_000_000, time.Second, 1000),
		bucketOf(10_000_000_000, time.Minute, 0), // a coarser tick
		fixedOf(1_000_000, time.Second), firstOf(1_000_000, time.Second), day, fixedOf(1_000_000, Month),
		slidingOf(1_000_000, time.Second),
	}
}

func TestTwoWordsDoNotAllocate(t *testing.T) {
	for _, spec := range twoWords() {
		q := mustCompile(t, spec)
		other := spec
		other.Limit /= 2
		lowered := mustCompile(t, other)
		var s State
		now := noon
		if got := testing.AllocsPerRun(1000, func() {
			now++
			s, _ = q.Take(s, now, Ask{Cost: 2, Extra: 1})
			s, _ = q.Take(s, now, Ask{Cost: 1 << 40}) // denied
			s, _ = q.Peek(s, now, Ask{Cost: 1})
			_, o := q.Take(s, now, Ask{Cost: 1})
			s, _ = q.Give(s, now, 1, o.Receipt, true)
			s = q.Join(q.Meet(s, s, now), s, now)
			s = q.Unpack(q.Pack(s, now), now)
			_, _ = q.Owes(s, now), q.Fresh(s, now)
		}); got != 0 {
			t.Errorf("%s: %v allocations, want 0", spec.name(), got)
		}
		if spec.Algorithm == FixedWindow && spec.Zone != nil {
			continue // zones are told apart by name, once for each change
		}
		if got := testing.AllocsPerRun(1000, func() {
			now++
			s, _ = q.Take(s, now, Ask{Cost: 1})
			s, _ = lowered.Take(s, now, Ask{Cost: 1})
		}); got != 0 {
			t.Errorf("%s: %v allocations for a changed limit, want 0", spec.name(), got)
		}
	}
}

func TestLogAllocatesOnlyToGrow(t *testing.T) {
	for _, spec := range []Spec{logOf(1000, time.Millisecond), cellsOf(1000, 10*time.Millisecond, 60)} {
		q := mustCompile(t, spec)
		var l Log
		now := noon
		turn := func() {
			now += 10
			q.TakeLog(&l, now, Ask{Cost: 3, Extra: 2})
			q.TakeLog(&l, now, Ask{Cost: 1000}) // denied
			q.PeekLog(&l, now, Ask{Cost: 1})
			o := q.TakeLog(&l, now, Ask{Cost: 1})
			q.GiveLog(&l, now, 1, o.Receipt)
			l.LogOwes(now)
		}
		for range 10_000 {
			turn()
		}
		if got := testing.AllocsPerRun(1000, turn); got != 0 {
			t.Errorf("%s: %v allocations once the ring is large enough, want 0", spec.name(), got)
		}
		if got, most := l.Bytes(), int64(1024*entryBytes); got > most {
			t.Errorf("%s: the ring takes %d bytes, want at most %d", spec.name(), got, most)
		}
	}
}

// A log announces how large it may become, and a denial does not make it larger.
func TestLogGrowsAsAnnounced(t *testing.T) {
	q := mustCompile(t, logOf(100, time.Second))
	var l Log
	if l.Bytes() != 0 || l.Under() != nil || l.LogOwes(noon) != 0 {
		t.Errorf("a fresh log: %d bytes, under %v, owes %d", l.Bytes(), l.Under(), l.LogOwes(noon))
	}
	for i := range int64(150) {
		announced, before := l.Grown(), l.Bytes()
		o := q.TakeLog(&l, noon+i, Ask{Cost: 1})
		if l.Bytes() > announced || !o.Granted && l.Bytes() != before {
			t.Fatalf("ask %d (granted %v): %d bytes, announced %d, was %d", i, o.Granted, l.Bytes(), announced, before)
		}
	}
	if l.Under() != q {
		t.Errorf("Under() = %v, want the quota that it was written under", l.Under())
	}
	if got := l.LogOwes(noon); got != 100 {
		t.Errorf("LogOwes() = %d, want 100", got)
	}
}

// sink keeps the compiler from leaving out what a benchmark measures.
var sink int64

func BenchmarkTake(b *testing.B) {
	for _, spec := range twoWords() {
		q := mustCompile(b, spec)
		b.Run(spec.name(), func(b *testing.B) {
			b.ReportAllocs()
			var states [1024]State
			i, now, granted := 0, noon, int64(0)
			for b.Loop() {
				now++
				i = (i + 1) & 1023
				s, o := q.Take(states[i], now, Ask{Cost: 1})
				states[i] = s
				if o.Granted {
					granted++
				}
			}
			sink = granted
			if q.Owes(states[1], now) == 0 && q.Owes(states[512], now) == 0 && b.N > 10_000 && spec.Algorithm != TokenBucket && spec.Algorithm != LeakyBucket {
				b.Errorf("the keys' states were not written")
			}
		})
	}
}

func BenchmarkTakeDenied(b *testing.B) {
	for _, spec := range twoWords() {
		spec.Limit, spec.Burst, spec.Queue = 1, 0, 0
		q := mustCompile(b, spec)
		b.Run(spec.name(), func(b *testing.B) {
			b.ReportAllocs()
			s, _ := q.Take(State{}, noon, Ask{Cost: 1})
			denied := int64(0)
			for b.Loop() {
				if _, o := q.Take(s, noon+1, Ask{Cost: 1}); !o.Granted {
					denied++
				}
			}
			if sink = denied; denied == 0 {
				b.Errorf("nothing was denied")
			}
		})
	}
}

func BenchmarkTakeLog(b *testing.B) {
	for _, spec := range []Spec{logOf(100, time.Millisecond), logOf(MaxLog, time.Second), cellsOf(1000, time.Second, 10), cellsOf(1000, time.Second, 60)} {
		q := mustCompile(b, spec)
		b.Run(spec.name(), func(b *testing.B) {
			b.ReportAllocs()
			var l Log
			now, granted := noon, int64(0)
			for b.Loop() {
				now += 20
				if q.TakeLog(&l, now, Ask{Cost: 1}).Granted {
					granted++
				}
			}
			if sink = granted; granted == 0 {
				b.Errorf("nothing was granted")
			}
		})
	}
}

func BenchmarkGive(b *testing.B) {
	for _, spec := range []Spec{bucketOf(1_000_000, time.Second, 0), fixedOf(1_000_000, time.Second), slidingOf(1_000_000, time.Second)} {
		q := mustCompile(b, spec)
		b.Run(spec.name(), func(b *testing.B) {
			b.ReportAllocs()
			s, o := q.Take(State{}, noon, Ask{Cost: 1})
			given := int64(0)
			for b.Loop() {
				if _, changed := q.Give(s, noon, 1, o.Receipt, false); changed {
					given++
				}
			}
			if sink = given; given == 0 {
				b.Errorf("nothing was given back")
			}
		})
	}
}

func BenchmarkCalendar(b *testing.B) {
	c, _ := calendarOf(b, "America/Havana", Day)
	for b.Loop() {
		sink = c.find(noon).end
	}
}
