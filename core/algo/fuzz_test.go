package algo

import (
	"math/rand/v2"
	"testing"
	"time"
)

// choices makes a fuzzer's bytes the first choices of a walk: two bytes each, where
// a choice looks first. When they run out it goes on at random.
type choices struct {
	bytes []byte
	rest  *rand.PCG
}

func (c *choices) Uint64() uint64 {
	n := c.rest.Uint64()
	if len(c.bytes) < 2 {
		c.bytes = nil
		return n
	}
	n = n>>16 | uint64(c.bytes[0])<<56 | uint64(c.bytes[1])<<48
	c.bytes = c.bytes[2:]
	return n
}

// fuzzWalk walks a key under the quota, and then changes it.
func fuzzWalk(t *testing.T, s Spec, data []byte) {
	q, err := Compile(s)
	if err != nil || q.Capacity() == 0 {
		t.Skip("no quota to walk")
	}
	steps := 8 + len(data)/4
	rng := rand.New(&choices{data, rand.NewPCG(uint64(len(data)), 0)})
	if err := newWalk(rng, q).run(min(steps, traceSteps)); err != nil {
		t.Fatal(err)
	}
}

func FuzzBucketPromise(f *testing.F) {
	f.Add(uint8(0), int64(10), int64(1_000_000), int64(20), []byte("one two three four five six seven"))
	f.Add(uint8(1), int64(7), int64(3_600_000_000), int64(1), []byte{})
	f.Add(uint8(2), int64(999_983), int64(1_000_000), int64(1), []byte{0, 0, 255, 255, 128, 0})
	f.Add(uint8(0), int64(1e15), int64(9_000_000), int64(1e15), make([]byte, 200))
	f.Add(uint8(2), int64(1), int64(400*24*3_600_000_000), int64(3), make([]byte, 100))
	f.Fuzz(func(t *testing.T, kind uint8, limit, period, burst int64, data []byte) {
		if period <= 0 || period > MaxPeriod.Microseconds() || burst < 0 {
			t.Skip("no quota")
		}
		d := time.Duration(period) * time.Microsecond
		fuzzWalk(t, []Spec{bucketOf(limit, d, burst), meterOf(limit, d, burst), shaperOf(limit, d, burst)}[kind%3], data)
	})
}

func FuzzWindowPromise(f *testing.F) {
	f.Add(uint8(0), int64(10), int64(1_000_000), []byte("one two three four five six seven"))
	f.Add(uint8(1), int64(7), int64(3_600_000_000), []byte{})
	f.Add(uint8(2), int64(MaxSliding), int64(1_000_000), []byte{0, 0, 255, 255, 128, 0})
	f.Add(uint8(3), int64(100), int64(7), make([]byte, 200))
	f.Add(uint8(4), int64(100), int64(7), make([]byte, 200))
	f.Fuzz(func(t *testing.T, kind uint8, limit, period int64, data []byte) {
		if period <= 0 || period > MaxPeriod.Microseconds() {
			t.Skip("no quota")
		}
		d := time.Duration(period) * time.Microsecond
		calendar := fixedOf(limit, Day*max(1, time.Duration(period%401)))
		if kind%5 == 4 {
			calendar.Period = Month
		}
		zone, err := time.LoadLocation(someZones[int(kind/5)%len(someZones)])
		if err != nil {
			t.Fatal(err)
		}
		calendar.Zone = zone
		fuzzWalk(t, []Spec{fixedOf(limit, d), firstOf(limit, d), slidingOf(limit, d), calendar, calendar}[kind%5], data)
	})
}

func FuzzLogPromise(f *testing.F) {
	f.Add(uint8(0), int64(10), int64(1_000_000), []byte("one two three four five six seven"))
	f.Add(uint8(10), int64(7), int64(3_600_000_000), []byte{})
	f.Add(uint8(60), int64(1<<50), int64(1), []byte{0, 0, 255, 255, 128, 0})
	f.Add(uint8(2), int64(MaxLog), int64(9973), make([]byte, 200))
	f.Fuzz(func(t *testing.T, cells uint8, limit, period int64, data []byte) {
		if period <= 0 || period > MaxPeriod.Microseconds() {
			t.Skip("no quota")
		}
		d := time.Duration(period) * time.Microsecond
		if cells %= MaxCells + 1; cells < MinCells {
			fuzzWalk(t, logOf(limit, d), data)
			return
		}
		fuzzWalk(t, cellsOf(limit, d, int(cells)), data)
	})
}
