package memstore

import (
	"runtime"
	"testing"
	"time"

	"github.com/tidegate/tidegate/core/algo"
)

// A flood of fresh keys tries to push a limited caller out of a bounded table, and
// to lock honest callers out of it.
type flood struct {
	name     string
	quota    *algo.Quota
	maxKeys  int
	rate     int     // fresh requests a second
	perKey   int     // requests of each fresh key
	seconds  int     // of virtual time
	honest   int     // callers who stay well under the limit
	honestPS float64 // requests a second of each
}

type floodResult struct {
	abuser        int // what the limited caller got
	bound         int64
	honest        int
	honestDenied  int
	heap          int64
	stats         Stats
	perFloodCalls time.Duration
}

func (f flood) run(t *testing.T) floodResult {
	t.Helper()
	clock := newFakeClock()
	before := heapInUse()
	s := New(Config{MaxKeys: f.maxKeys, Clock: clock.now})
	began := clock.us.Load()
	var r floodResult
	abuser, burst := key(1<<60), f.quota.Capacity()
	for range 10 * burst {
		if take(t, s, abuser, f.quota).Granted {
			r.abuser++
		}
	}
	step := time.Second / time.Duration(f.rate)
	var owed float64
	caller := 0
	started := time.Now()
	requests := f.rate * f.seconds / scale
	for i := range requests {
		clock.advance(step)
		take(t, s, key(uint64(i/f.perKey)), f.quota)
		if i%(requests/10) == requests/10-1 { // silent meanwhile, so that a cache would forget it
			for range burst {
				if take(t, s, abuser, f.quota).Granted {
					r.abuser++
				}
			}
		}
		for owed += f.honestPS * float64(f.honest) / float64(f.rate); owed >= 1; owed-- {
			caller++
			r.honest++
			if !take(t, s, key(uint64(1<<50+caller%f.honest)), f.quota).Granted {
				r.honestDenied++
			}
		}
	}
	r.perFloodCalls = time.Since(started) / time.Duration(requests)
	spec := f.quota.Spec()
	elapsed := time.Duration(clock.us.Load()-began) * time.Microsecond
	r.bound = burst + int64(elapsed/(spec.Period/time.Duration(spec.Limit)))
	r.heap, r.stats = heapInUse()-before, s.Stats()
	runtime.KeepAlive(s)
	return r
}

func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The scenarios are those of the study behind this design, in which a table that
// evicts the least recently used gave an abuser 3 100 of 101.
func TestFloodForgivesNobody(t *testing.T) {
	for _, f := range []flood{
		{"10/s burst 20, flood 200k/s", bucket(t, 10, time.Second, 20), 1 << 16, 200_000, 1, 10, 2000, 5},
		{"10/s burst 20, flood 1M/s", bucket(t, 10, time.Second, 20), 1 << 16, 1_000_000, 1, 4, 2000, 5},
		{"100/h burst 100, flood 100k/s", bucket(t, 100, time.Hour, 100), 1 << 16, 100_000, 1, 60, 2000, 0.02},
		{"100/h burst 100, flood 100k/s, 10 of each", bucket(t, 100, time.Hour, 100), 1 << 16, 100_000, 10, 60, 2000, 0.02},
	} {
		t.Run(f.name, func(t *testing.T) {
			r := f.run(t)
			t.Logf("abuser %d of %d, honest denied %d of %d, heap %d, %v a call, %+v", r.abuser, r.bound, r.honestDenied, r.honest, r.heap, r.perFloodCalls, r.stats)
			if int64(r.abuser) > r.bound {
				t.Errorf("the limited caller got %d, want at most %d", r.abuser, r.bound)
			}
			if r.honestDenied > 0 {
				t.Errorf("%d of %d honest requests denied, want none", r.honestDenied, r.honest)
			}
			checkMemory(t, f.maxKeys, r)
		})
	}
}

// TestFloodOfFiveMillionKeys is the flood that the product promises to survive.
func TestFloodOfFiveMillionKeys(t *testing.T) {
	f := flood{"", bucket(t, 60, time.Minute, 60), 100_000, 500_000, 1, 10, 1000, 0.5}
	r := f.run(t)
	t.Logf("abuser %d of %d, honest denied %d of %d, heap %d, %v a call, %+v", r.abuser, r.bound, r.honestDenied, r.honest, r.heap, r.perFloodCalls, r.stats)
	if int64(r.abuser) > r.bound {
		t.Errorf("the limited caller got %d, want at most %d", r.abuser, r.bound)
	}
	if r.honestDenied > 0 {
		t.Errorf("%d of %d honest requests denied, want none", r.honestDenied, r.honest)
	}
	checkMemory(t, f.maxKeys, r)
}

func checkMemory(t *testing.T, maxKeys int, r floodResult) {
	t.Helper()
	bound := int64(maxKeys) * bytesPerKey
	if r.stats.Bytes > bound {
		t.Errorf("the store counts %d bytes, want at most %d", r.stats.Bytes, bound)
	}
	const slack = 256 << 10 // the test's own, and the shards' headers
	if r.heap > bound+slack {
		t.Errorf("the heap grew by %d bytes, want at most %d", r.heap, bound)
	}
}
