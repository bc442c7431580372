package memstore

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

func TestStormOnOneKeyAdmitsExactlyTheQuota(t *testing.T) {
	const goroutines, n = 64, 500
	for name, q := range every(t, n) {
		t.Run(name, func(t *testing.T) {
			clock := newFakeClock()
			s := New(Config{MaxKeys: 1000, Clock: clock.now})
			for storm := range 2 {
				if storm == 1 {
					clock.advance(72 * time.Hour)
				}
				var granted atomic.Int64
				var wg sync.WaitGroup
				for range goroutines {
					wg.Go(func() {
						for range 2 * n / goroutines * 2 {
							if take(t, s, key(1), q).Granted {
								granted.Add(1)
							}
						}
					})
				}
				wg.Wait()
				if got := granted.Load(); got != n {
					t.Errorf("storm %d: %d granted, want %d", storm, got, n)
				}
			}
		})
	}
}

// A table so small that keys give way all the time must still count each of them
// right while it remembers them: a key regains at most what was forgotten.
func TestKeysThatGiveWayRegainAtMostOneUnit(t *testing.T) {
	clock := newFakeClock()
	s := New(Config{MaxKeys: 60, Clock: clock.now})
	q := bucket(t, 32, time.Hour, 32)
	granted := map[uint64]int{}
	for range 20_000 {
		k := uint64(rand.IntN(100))
		if take(t, s, key(k), q).Granted {
			granted[k]++
		}
	}
	total := int64(0)
	for _, n := range granted {
		total += int64(n)
	}
	if most := 100*32 + s.Stats().Evicted; total > most {
		t.Errorf("%d granted to 100 keys, want at most 3200 and one for each of %d evictions", total, s.Stats().Evicted)
	}
	if s.Stats().Overflowed == 0 {
		t.Error("no charge overflowed: the test did not fill the table")
	}
}

func TestRaceOfKeysThatStealSlots(t *testing.T) {
	const goroutines, keys, n = 8, 400, 20
	clock := newFakeClock()
	s := New(Config{MaxKeys: 100, Clock: clock.now})
	q := bucket(t, n, time.Hour, n)
	var granted [keys]atomic.Int64
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 7))
			for range 40_000 / scale {
				k := r.IntN(keys)
				other := r.IntN(keys)
				results := takeAll(t, s,
					core.Charge{Key: key(uint64(k)), Limit: "a", Quota: q, Cost: 1},
					core.Charge{Key: key(uint64(other)), Limit: "a", Quota: q, Cost: 1})
				if results[0].Granted && results[1].Granted {
					granted[k].Add(1)
					granted[other].Add(1)
				}
			}
		})
	}
	wg.Wait()
	total := int64(0)
	for i := range granted {
		total += granted[i].Load()
	}
	if most := keys*n + s.Stats().Evicted; total > most {
		t.Errorf("%d units granted, want at most %d", total, most)
	}
}

// In a sketch every key is admitted at most as often as alone, by every algorithm.
func TestSketchNeverAdmitsMoreThanTheQuota(t *testing.T) {
	for name, q := range every(t, 10) {
		if q.Wide() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			clock := newFakeClock()
			s := New(Config{MaxKeys: 1000, Clock: clock.now})
			fill := 2000
			for i := range fill { // keys that owe all they have hold the table
				for range 10 {
					take(t, s, key(uint64(i)), q)
				}
			}
			if s.Stats().Overflowed == 0 {
				t.Fatal("nothing overflowed")
			}
			late := key(1 << 40)
			got := 0
			for range 100 {
				if take(t, s, late, q).Granted {
					got++
				}
			}
			if got > 10 {
				t.Errorf("a key in the sketch got %d, want at most 10", got)
			}
			// When the table has room again the key takes its debt along.
			for i := range fill {
				if err := s.Reset(context.Background(), []core.Charge{{Key: key(uint64(i)), Quota: q}}); err != nil {
					t.Fatal(err)
				}
			}
			if r := take(t, s, late, q); got == 10 && r.Granted {
				t.Error("a key that had spent all in the sketch is fresh in a slot")
			}
			// Once everything is over, the sketch is forgotten, and its memory with it.
			clock.advance(73 * time.Hour)
			if r := take(t, s, late, q); !r.Granted || r.Remaining != 9 {
				t.Errorf("after the quota came back: %+v, want 9 remaining", r)
			}
			take(t, s, key(1<<41), q)
			if live := s.over.live.Load(); live != 0 {
				t.Errorf("%d sketches live, want none", live)
			}
			if used := s.room.used.Load(); used != 0 {
				t.Errorf("%d bytes in use beside the table, want 0", used)
			}
		})
	}
}

func TestFreshKeysTakeNoRoom(t *testing.T) {
	clock := newFakeClock()
	s := New(Config{MaxKeys: 1000, Clock: clock.now})
	q := bucket(t, 10, time.Second, 10)
	for round := range 50 {
		for i := range 600 {
			if r := take(t, s, key(uint64(1000*round+i)), q); !r.Granted {
				t.Fatalf("round %d, key %d denied", round, i)
			}
		}
		clock.advance(time.Second)
	}
	if st := s.Stats(); st.Keys != 0 || st.Evicted != 0 || st.Overflowed != 0 {
		t.Errorf("%+v, want no key left and nothing forced", st)
	}
}

func TestMemoryOfLogsIsBoundedAndReturned(t *testing.T) {
	clock := newFakeClock()
	s := New(Config{MaxKeys: 2000, Clock: clock.now})
	q := quota(t, algo.Spec{Algorithm: algo.SlidingLog, Limit: 100, Period: time.Minute})
	denied := 0
	for i := range 5000 {
		if !take(t, s, key(uint64(i)), q).Granted {
			denied++
		}
	}
	st := s.Stats()
	if denied == 0 || st.Refused != int64(denied) {
		t.Errorf("%d denied, %d refused, want some and the same", denied, st.Refused)
	}
	if st.Bytes > 2000*bytesPerKey {
		t.Errorf("%d bytes, want at most %d", st.Bytes, 2000*bytesPerKey)
	}
	if r := take(t, s, key(0), q); !r.Granted || r.Remaining != 98 {
		t.Errorf("a key with a log: %+v, want it served on, 98 remaining", r)
	}
	clock.advance(2 * time.Minute)
	for i := range 2000 {
		if r := take(t, s, key(uint64(1<<30+i)), q); !r.Granted && i < 200 {
			t.Fatalf("key %d denied though every other log has expired: %+v", i, r)
		}
		clock.advance(time.Second)
	}
}

func TestAccountingOfWidesIsExact(t *testing.T) {
	clock := newFakeClock()
	s := New(Config{MaxKeys: 10_000, Clock: clock.now})
	log := quota(t, algo.Spec{Algorithm: algo.SlidingLog, Limit: 40, Period: time.Second})
	cells := quota(t, algo.Spec{Algorithm: algo.SlidingWindow, Limit: 40, Period: time.Second, Cells: 5})
	penalty := &algo.Penalty{After: 3, Within: time.Second, Block: time.Second}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		k, l := key(uint64(r.IntN(50))), key(uint64(100+r.IntN(50)))
		takeAll(t, s,
			core.Charge{Key: k, Limit: "log", Quota: log, Cost: int64(r.IntN(5)), Penalty: penalty},
			core.Charge{Key: l, Limit: "cells", Quota: cells, Cost: int64(r.IntN(60))},
			core.Charge{Key: k, Limit: "log", Quota: log, Cost: 1, Penalty: penalty})
		if r.IntN(50) == 0 {
			_ = s.Reset(context.Background(), []core.Charge{{Key: k, Quota: log}})
		}
		if r.IntN(50) == 0 {
			_ = s.Block(context.Background(), core.Charge{Key: k, Quota: log, Penalty: penalty}, time.Duration(r.IntN(2))*time.Second)
		}
		clock.advance(time.Duration(r.IntN(20)) * time.Millisecond)
	}
	var want int64
	for i := range s.shards {
		for _, w := range s.shards[i].wide {
			want += w.bytes()
		}
	}
	if got := s.room.used.Load(); got != want {
		t.Errorf("%d bytes accounted, want the %d there are", got, want)
	}
}

func TestGiantCostsAreDeniedAndChargeNothing(t *testing.T) {
	for name, q := range every(t, 10) {
		t.Run(name, func(t *testing.T) {
			s := New(Config{MaxKeys: 100, Clock: newFakeClock().now})
			one := core.Charge{Key: key(1), Limit: "a", Quota: q, Cost: 1}
			giant := core.Charge{Key: key(1), Limit: "a", Quota: q, Cost: 1<<63 - 1, Extra: 1<<63 - 1}
			r := takeAll(t, s, one, giant)
			if r[1].Granted || r[1].RetryAfter != core.Never {
				t.Errorf("giant cost: %+v, want denied for good", r[1])
			}
			if r := take(t, s, key(1), q); !r.Granted || r.Remaining != 9 {
				t.Errorf("then %+v, want 9 remaining", r)
			}
		})
	}
}

func TestPenaltyWithoutMemoryStillDenies(t *testing.T) {
	clock := newFakeClock()
	s := New(Config{MaxKeys: 10, Clock: clock.now})
	s.room.limit = 0
	q := bucket(t, 1, time.Hour, 1)
	penalty := &algo.Penalty{After: 1, Within: time.Minute, Block: time.Hour}
	c := core.Charge{Key: key(1), Limit: "a", Quota: q, Cost: 1, Penalty: penalty}
	takeAll(t, s, c)
	if r := takeAll(t, s, c)[0]; r.Granted || r.Blocked {
		t.Errorf("got %+v, want an ordinary denial", r)
	}
	if err := s.Block(context.Background(), c, time.Minute); err == nil {
		t.Error("Block without memory succeeded")
	}
	if err := s.Block(context.Background(), c, 0); err != nil {
		t.Errorf("releasing a key that is not blocked: %v", err)
	}
	if s.Stats().Refused != 2 {
		t.Errorf("refused %d, want 2", s.Stats().Refused)
	}
}

func TestNoRoomForASketchDenies(t *testing.T) {
	clock := newFakeClock()
	s := New(Config{MaxKeys: 10, Clock: clock.now})
	s.room.limit = 0
	q := bucket(t, 5, time.Hour, 5)
	denied := 0
	for i := range 100 {
		if r := take(t, s, key(uint64(i)), q); !r.Granted {
			denied++
			if r.RetryAfter <= 0 || r.RetryAfter == core.Never {
				t.Fatalf("refused with RetryAfter %v, want a hint", r.RetryAfter)
			}
		}
	}
	if denied == 0 {
		t.Error("100 keys fit a table of 10")
	}
}

func TestBlockNeedsAPenalty(t *testing.T) {
	s := New(Config{MaxKeys: 10})
	if err := s.Block(context.Background(), core.Charge{Key: key(1)}, time.Second); err == nil {
		t.Error("Block without a penalty succeeded")
	}
}

func TestAMillionIdleKeysCostLittle(t *testing.T) {
	n := 1_000_000 / scale
	before := heapInUse()
	clock := newFakeClock()
	s := New(Config{MaxKeys: n, Clock: clock.now})
	q := bucket(t, 100, time.Hour, 100)
	for i := range n {
		take(t, s, key(uint64(i)), q)
	}
	got := float64(heapInUse()-before) / float64(n)
	st := s.Stats()
	t.Logf("%.1f bytes a key, %+v", got, st)
	if got > 56 {
		t.Errorf("%.1f heap bytes a key, want at most 56", got)
	}
	if float64(st.Keys) < 0.999*float64(n) {
		t.Errorf("%d keys remembered, want all but a few of %d", st.Keys, n)
	}
	runtime.KeepAlive(s)
}

func TestStoresAreCollected(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	collected := make(chan struct{})
	func() {
		for range 100 {
			s := New(Config{MaxKeys: 100})
			take(t, s, key(1), bucket(t, 1, time.Second, 1))
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			_ = s.Close()
		}
		s := New(Config{MaxKeys: 100})
		runtime.AddCleanup(s, func(struct{}) { close(collected) }, struct{}{})
	}()
	runtime.GC()
	select {
	case <-collected:
	case <-time.After(10 * time.Second):
		t.Error("a dropped store is not collected")
	}
	if got := runtime.NumGoroutine(); got > goroutines+1 {
		t.Errorf("%d goroutines, want %d as before", got, goroutines)
	}
}

func TestMaxKeysDefault(t *testing.T) {
	s := New(Config{})
	slots := len(s.shards) * len(s.shards[0].groups) * groupSlots
	if slots < DefaultMaxKeys*5/4 || slots > DefaultMaxKeys*5/4+DefaultMaxKeys/50 {
		t.Errorf("%d slots, want five for four of %d keys", slots, DefaultMaxKeys)
	}
	if got := s.Traits(); got != (core.Traits{}) {
		t.Errorf("traits %+v, want none", got)
	}
}
