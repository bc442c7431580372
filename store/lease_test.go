package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
	"github.com/tidegate/tidegate/store"
	"github.com/tidegate/tidegate/store/memstore"
	"github.com/tidegate/tidegate/store/storetest"
)

// A leasing store has every charge leased.
type leasing struct {
	core.Store
	share float64
}

func (s leasing) mark(charges []core.Charge) []core.Charge {
	list := make([]core.Charge, len(charges))
	for i, c := range charges {
		c.Prefetch = s.share
		list[i] = c
	}
	return list
}

func (s leasing) Take(ctx context.Context, charges []core.Charge, results []core.Result) error {
	return s.Store.Take(ctx, s.mark(charges), results)
}

func (s leasing) Peek(ctx context.Context, charges []core.Charge, results []core.Result) error {
	return s.Store.Peek(ctx, s.mark(charges), results)
}

func newLease(t testing.TB, inner core.Store, c store.LeaseConfig) *store.Lease {
	t.Helper()
	l, err := store.NewLease(inner, c)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// TestLeaseConformance leases every charge of the suite, by a tenth of the quota and by
// all of it.
func TestLeaseConformance(t *testing.T) {
	for _, share := range []float64{0.1, 1} {
		h := storetest.Harness{
			New: func(t testing.TB) core.Store {
				l, err := store.NewLease(memstore.New(memstore.Config{MaxKeys: 100_000}), store.LeaseConfig{})
				require.NoError(t, err)
				return leasing{l, share}
			},
			Virtual: true,
			Lacks:   storetest.Numbers | storetest.OneStep,
		}
		t.Run(fmt.Sprint(share), func(t *testing.T) {
			storetest.Run(t, exceptWhenThePeriodChanges(h))
		})
	}
}

// exceptWhenThePeriodChanges has the cases in which callers storm a key under two
// periods at once run without leases: units that are held when a period changes may not
// come back, because the store has no words for them any more, and those cases miss
// every unit. TestLeasePeriodChanges has what still holds.
func exceptWhenThePeriodChanges(h storetest.Harness) storetest.Harness {
	leased := h.New
	h.New = func(t testing.TB) core.Store {
		s := leased(t)
		if strings.Contains(t.Name(), "/RolloutOfAPeriod/") {
			return s.(leasing).Store
		}
		return s
	}
	return h
}

// TestLeasePeriodChanges: callers under two periods at once make no units.
func TestLeasePeriodChanges(t *testing.T) {
	for _, a := range []algo.Algorithm{algo.TokenBucket, algo.FixedWindow} {
		synctest.Test(t, func(t *testing.T) {
			l := newLease(t, memstore.New(memstore.Config{MaxKeys: 1000}), store.LeaseConfig{})
			const n = 60
			var granted atomic.Int64
			var group sync.WaitGroup
			for g := range 32 {
				q := compile(algo.Spec{Algorithm: a, Limit: n, Period: time.Duration(1+g%2) * time.Hour})
				group.Go(func() {
					for range 10 {
						if takeUnits(t, l, leased(1, q, 1), 1).Granted {
							granted.Add(1)
						}
					}
				})
			}
			group.Wait()
			require.LessOrEqual(t, granted.Load(), int64(n), "%v", a)
		})
	}
}

func compile(s algo.Spec) *algo.Quota {
	q, err := algo.Compile(s)
	if err != nil {
		panic(err)
	}
	return q
}

func window(n int64, period time.Duration) *algo.Quota {
	return compile(algo.Spec{Algorithm: algo.FixedWindow, Limit: n, Period: period})
}

// leased is a charge of one unit of which a share may be held.
func leased(id uint64, q *algo.Quota, share float64) core.Charge {
	c := charge(id, q, core.FailDefault)
	c.Prefetch = share
	return c
}

func takeUnits(t testing.TB, s core.Store, c core.Charge, units int64) core.Result {
	t.Helper()
	c.Cost = units
	got, err := take(t, s, c)
	require.NoError(t, err)
	return got[0]
}

// A spy is a store that remembers what it was asked.
type spy struct {
	core.Store
	mu     sync.Mutex
	takes  int
	gives  int
	asked  []core.Charge // by the last Take
	before core.Result   // what a look at the first of them would have shown
	fail   error         // what the next Takes return instead
	then   func()        // is run when a Take has been decided, before it is answered
	extras atomic.Int64  // under way
	most   int64         // of those at once
}

func newSpy() *spy { return &spy{Store: memstore.New(memstore.Config{MaxKeys: 10_000})} }

func (s *spy) Take(ctx context.Context, charges []core.Charge, results []core.Result) error {
	if charges[0].Extra > 0 {
		s.extras.Add(1)
		defer s.extras.Add(-1)
	}
	s.mu.Lock()
	then := s.then
	err := s.take(ctx, charges, results)
	s.mu.Unlock()
	if then != nil {
		then()
	}
	return err
}

func (s *spy) take(ctx context.Context, charges []core.Charge, results []core.Result) error {
	s.takes++
	s.asked = append(s.asked[:0], charges...)
	s.most = max(s.most, s.extras.Load())
	if s.fail != nil {
		return s.fail
	}
	var look [1]core.Result
	if err := s.Store.Peek(ctx, charges[:1], look[:]); err != nil {
		return err
	}
	s.before = look[0]
	return s.Store.Take(ctx, charges, results)
}

func (s *spy) Give(ctx context.Context, refunds []core.Refund) error {
	s.mu.Lock()
	s.gives++
	s.mu.Unlock()
	return s.Store.Give(ctx, refunds)
}

func (s *spy) left(t testing.TB, c core.Charge) int64 {
	t.Helper()
	var r [1]core.Result
	require.NoError(t, s.Store.Peek(t.Context(), []core.Charge{c}, r[:]))
	return r[0].Remaining
}

// warm makes a key busy, so that some of its units are held.
func warm(t testing.TB, l *store.Lease, c core.Charge) {
	t.Helper()
	for range 200 {
		require.True(t, takeUnits(t, l, c, 1).Granted)
		if _, held := l.Held(); held >= 5 {
			return
		}
	}
	t.Fatal("200 charges at once lease nothing")
}

func inBubble(t *testing.T, f func(t *testing.T, inner *spy, l *store.Lease)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(7*time.Hour + 123_456*time.Nanosecond)
		inner := newSpy()
		l := newLease(t, inner, store.LeaseConfig{})
		f(t, inner, l)
	})
}

// TestLeaseFollowsDemand: a busy key is asked for some ten times a second, a slow one
// at every charge.
func TestLeaseFollowsDemand(t *testing.T) {
	for _, tt := range []struct{ rate, most, least int }{
		{10_000, 250, 50}, {1000, 250, 50}, {80, 150, 50}, {20, 200, 200}, {1, 10, 10},
	} {
		inBubble(t, func(t *testing.T, inner *spy, l *store.Lease) {
			c := leased(1, bucket(100_000, time.Second), 0.1)
			if tt.rate > 1000 && testing.Short() {
				return
			}
			for range tt.rate * 10 {
				require.True(t, takeUnits(t, l, c, 1).Granted)
				time.Sleep(time.Second / time.Duration(tt.rate))
			}
			require.LessOrEqual(t, inner.takes, tt.most, "%d a second for 10s", tt.rate)
			require.GreaterOrEqual(t, inner.takes, tt.least, "%d a second for 10s", tt.rate)
		})
	}
}

// TestLeasePhi: never more than an eighth of what remains is asked for beside the need,
// nor more than may be held.
func TestLeasePhi(t *testing.T) {
	inBubble(t, func(t *testing.T, inner *spy, l *store.Lease) {
		c := leased(1, bucket(1000, time.Hour), 0.05)
		for granted := 0; ; granted++ {
			if !takeUnits(t, l, c, 1).Granted {
				require.Equal(t, 1000, granted, "all of the burst can be had")
				return
			}
			require.LessOrEqual(t, inner.asked[0].Extra, inner.before.Remaining/8)
			_, held := l.Held()
			require.LessOrEqual(t, held, int64(50))
		}
	})
}

// TestLeaseTellsWhatItKnows: Remaining falls by what is spent, and is never above the
// quota.
func TestLeaseTellsWhatItKnows(t *testing.T) {
	for _, q := range []*algo.Quota{bucket(500, time.Hour), window(500, time.Hour)} {
		inBubble(t, func(t *testing.T, inner *spy, l *store.Lease) {
			c := leased(1, q, 0.1)
			for i := range int64(500) {
				got := takeUnits(t, l, c, 1)
				require.Equal(t, 499-i, got.Remaining)
				require.NotZero(t, got.ResetAfter)
				peek := make([]core.Result, 1)
				require.NoError(t, l.Peek(t.Context(), []core.Charge{c}, peek))
				require.Equal(t, 499-i, peek[0].Remaining)
			}
		})
	}
}

// TestLeaseAllOrNone: units that were set aside come back when the store denies, and a
// call of held charges makes no store call.
func TestLeaseAllOrNone(t *testing.T) {
	inBubble(t, func(t *testing.T, inner *spy, l *store.Lease) {
		day := time.Hour
		a, b := leased(1, bucket(1000, day), 0.1), leased(2, window(1000, day), 0.1)
		scarce := charge(3, bucket(1, day), core.FailDefault)
		warm(t, l, a)
		_, held := l.Held()
		before, calls := inner.left(t, a), inner.takes
		takeUnits(t, l, scarce, 1)
		for range 3 {
			got, err := take(t, l, a, scarce)
			require.NoError(t, err)
			require.True(t, got[0].Granted)
			require.False(t, got[1].Granted)
			require.Equal(t, before+held, got[0].Remaining)
			require.Zero(t, got[0].Receipt)
		}
		require.Equal(t, calls+4, inner.takes)
		require.Len(t, inner.asked, 1, "what is held is not asked for")
		_, now := l.Held()
		require.Equal(t, held, now)
		require.Equal(t, before, inner.left(t, a))

		for range 100 {
			got, err := take(t, l, a, b)
			require.NoError(t, err)
			require.True(t, got[0].Granted && got[1].Granted)
		}
		require.Less(t, inner.takes, calls+4+50)
	})
}

// TestLeasePaysInParts: what is held and what the store still has are one count.
func TestLeasePaysInParts(t *testing.T) {
	for _, q := range []*algo.Quota{bucket(100, time.Hour), window(100, time.Hour)} {
		inBubble(t, func(t *testing.T, inner *spy, l *store.Lease) {
			c := leased(1, q, 0.2)
			warm(t, l, c)
			left := takeUnits(t, l, c, 1).Remaining
			_, held := l.Held()
			require.NotZero(t, held)
			require.False(t, takeUnits(t, l, c, left+1).Granted)
			got := takeUnits(t, l, c, left)
			require.True(t, got.Granted)
			require.Zero(t, got.Remaining)
			require.Zero(t, inner.left(t, c))
			require.NoError(t, l.Give(t.Context(), []core.Refund{{Key: c.Key, Limit: c.Limit, Quota: q, Units: left, Receipt: got.Receipt}}))
			require.True(t, takeUnits(t, l, c, left).Granted, "all of it was given back")
		})
	}
}

// TestLeaseHoldsOff: a busy key that is denied is not asked for again before its time,
// and a caller who waits as told is granted.
func TestLeaseHoldsOff(t *testing.T) {
	inBubble(t, func(t *testing.T, inner *spy, l *store.Lease) {
		c := leased(1, bucket(1000, time.Second), 0.1) // one each ms
		for takeUnits(t, l, c, 1).Granted {
		}
		calls := inner.takes
		got := takeUnits(t, l, c, 1)
		require.Equal(t, 50*time.Millisecond, got.RetryAfter, "the hold-off")
		time.Sleep(30 * time.Millisecond)
		require.Equal(t, 20*time.Millisecond, takeUnits(t, l, c, 1).RetryAfter)
		more := takeUnits(t, l, c, 11)
		require.False(t, more.Granted)
		require.GreaterOrEqual(t, more.RetryAfter, 30*time.Millisecond)
		require.Equal(t, calls, inner.takes)
		time.Sleep(20 * time.Millisecond)
		require.True(t, takeUnits(t, l, c, 1).Granted)

		slow := leased(2, bucket(1, time.Second), 1)
		takeUnits(t, l, slow, 1)
		require.Equal(t, time.Second, takeUnits(t, l, slow, 1).RetryAfter)
	})
}

// TestLeaseDeniesCallsHere: the other charges of a call that is denied here are not
// asked about, unless their denials have to be counted.
func TestLeaseDeniesCallsHere(t *testing.T) {
	inBubble(t, func(t *testing.T, inner *spy, l *store.Lease) {
		c := leased(1, bucket(100, time.Hour), 0.1)
		other := charge(2, bucket(1, time.Hour), core.FailDefault)
		for takeUnits(t, l, c, 1).Granted {
		}
		calls := inner.takes
		got, err := take(t, l, other, c)
		require.NoError(t, err)
		require.Equal(t, core.Result{Granted: true, Partial: true}, got[0])
		require.False(t, got[1].Granted)
		require.Equal(t, calls, inner.takes)
		other.Penalty = &algo.Penalty{After: 1, Within: time.Minute, Block: time.Minute}
		takeUnits(t, l, other, 1)
		got, err = take(t, l, other, c)
		require.NoError(t, err)
		require.True(t, got[0].Blocked, "the store counts the denial")
	})
}

// TestLeaseGivesBack: what is not used is back in the store after two horizons, or when
// the lease is closed, the key blocked, or its quota changed.
func TestLeaseGivesBack(t *testing.T) {
	for name, how := range map[string]func(t *testing.T, l *store.Lease, c core.Charge){
		"idle":  func(*testing.T, *store.Lease, core.Charge) { time.Sleep(300 * time.Millisecond) },
		"close": func(t *testing.T, l *store.Lease, _ core.Charge) { require.NoError(t, l.Close()) },
		"block": func(t *testing.T, l *store.Lease, c core.Charge) {
			c.Penalty = &algo.Penalty{After: 1, Within: time.Minute, Block: time.Minute}
			require.NoError(t, l.Block(t.Context(), c, 0))
		},
		"quota": func(t *testing.T, l *store.Lease, c core.Charge) {
			spec := c.Quota.Spec()
			spec.Limit, spec.Burst = 2000, 0
			c.Quota = compile(spec)
			got := takeUnits(t, l, c, 1000)
			require.True(t, got.Granted)
			require.NoError(t, l.Give(t.Context(), []core.Refund{{Key: c.Key, Limit: c.Limit, Quota: c.Quota, Units: 1000, Receipt: got.Receipt}}))
		},
		"wait": func(t *testing.T, l *store.Lease, c core.Charge) {
			c.MaxDelay, c.Extra = time.Second, 1
			got := takeUnits(t, l, c, 1)
			require.NoError(t, l.Give(t.Context(), []core.Refund{{Key: c.Key, Limit: c.Limit, Quota: c.Quota, Units: 1 + got.Extra, Receipt: got.Receipt}}))
		},
	} {
		for _, q := range []*algo.Quota{bucket(1000, time.Hour), window(1000, time.Hour)} {
			t.Run(name+"/"+q.Algorithm().String(), func(t *testing.T) {
				inBubble(t, func(t *testing.T, inner *spy, l *store.Lease) {
					c := leased(1, q, 0.1)
					warm(t, l, c)
					_, held := l.Held()
					spent := 1000 - inner.left(t, c) - held
					how(t, l, c)
					_, held = l.Held()
					require.Zero(t, held)
					require.Equal(t, 1000-spent, inner.left(t, c))
				})
			})
		}
	}
}

// TestLeaseForgets: keys that nobody asks about any more are not watched, and a reset
// drops what is held.
func TestLeaseForgets(t *testing.T) {
	inBubble(t, func(t *testing.T, inner *spy, l *store.Lease) {
		c := leased(1, bucket(1000, time.Hour), 0.1)
		warm(t, l, c)
		require.NoError(t, l.Reset(t.Context(), []core.Charge{c}))
		_, held := l.Held()
		require.Zero(t, held)
		require.Equal(t, int64(1000), inner.left(t, c))
		time.Sleep(time.Second)
		keys, _ := l.Held()
		require.Zero(t, keys)
		require.Zero(t, inner.gives)
		time.Sleep(10_000 * time.Hour) // for ever, if the giver did not sleep
	})
}

// TestLeaseWindow: units of a window end with it, by the store's clock, which need not
// be this one.
func TestLeaseWindow(t *testing.T) {
	for _, skew := range []time.Duration{0, time.Minute, -time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			inner := newSpy()
			l := newLease(t, inner, store.LeaseConfig{Clock: func() time.Time { return time.Now().Add(skew) }})
			c := leased(1, window(1000, time.Second), 0.1)
			time.Sleep(950 * time.Millisecond)
			warm(t, l, c)
			time.Sleep(50*time.Millisecond - 1)
			require.NotZero(t, inner.left(t, c))
			calls := inner.takes
			require.True(t, takeUnits(t, l, c, 1).Granted)
			require.Equal(t, calls, inner.takes)
			time.Sleep(time.Nanosecond)
			require.Equal(t, int64(1000), inner.left(t, c), "the next window has begun")
			require.True(t, takeUnits(t, l, c, 1).Granted)
			require.Equal(t, calls+1, inner.takes)
			require.LessOrEqual(t, inner.left(t, c), int64(999))
		})
	}
}

// TestLeaseGive: what was paid from here comes back to here while it is held, and to the
// store after that.
func TestLeaseGive(t *testing.T) {
	inBubble(t, func(t *testing.T, inner *spy, l *store.Lease) {
		c := leased(1, bucket(1000, time.Hour), 0.1)
		warm(t, l, c)
		got := takeUnits(t, l, c, 1)
		refund := core.Refund{Key: c.Key, Limit: c.Limit, Quota: c.Quota, Units: 1, Receipt: got.Receipt}
		_, held := l.Held()
		require.NoError(t, l.Give(t.Context(), []core.Refund{refund}))
		_, now := l.Held()
		require.Equal(t, held+1, now)
		require.Zero(t, inner.gives)
		got = takeUnits(t, l, c, 1)
		time.Sleep(time.Second)
		before := inner.left(t, c)
		refund.Receipt = got.Receipt
		require.NoError(t, l.Give(t.Context(), []core.Refund{refund}))
		require.Equal(t, before+1, inner.left(t, c))
	})
}

// TestLeaseGiveAgain: what is given back more often than it was paid makes no units.
func TestLeaseGiveAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, inner *spy, l *store.Lease) {
		c := leased(1, bucket(1000, time.Hour), 0.1)
		warm(t, l, c)
		got := takeUnits(t, l, c, 1)
		for range 200 {
			refund := core.Refund{Key: c.Key, Limit: c.Limit, Quota: c.Quota, Units: 1, Receipt: got.Receipt}
			require.NoError(t, l.Give(t.Context(), []core.Refund{refund}))
			_, held := l.Held()
			require.LessOrEqual(t, held+inner.left(t, c), int64(1000))
		}
	})
}

// TestLeaseIsResetMeanwhile: what was taken before a reset, and is answered after it, is
// nobody's.
func TestLeaseIsResetMeanwhile(t *testing.T) {
	inBubble(t, func(t *testing.T, inner *spy, l *store.Lease) {
		c := leased(1, bucket(1000, time.Hour), 0.1)
		for range 5 {
			takeUnits(t, l, c, 1)
		}
		for asked := false; !asked; {
			inner.then = func() {
				asked = inner.asked[0].Extra > 0
				require.NoError(t, l.Reset(t.Context(), []core.Charge{c}))
			}
			require.True(t, takeUnits(t, l, c, 1).Granted)
		}
		_, held := l.Held()
		require.Zero(t, held)
		require.Equal(t, int64(1000), inner.left(t, c))
	})
}

// TestLeaseOfASlowStore: of many callers that ask at once one asks for more than it
// needs, and no more is held than may be.
func TestLeaseOfASlowStore(t *testing.T) {
	inBubble(t, func(t *testing.T, inner *spy, l *store.Lease) {
		inner.then = func() { time.Sleep(5 * time.Millisecond) }
		c := leased(1, bucket(10_000, time.Hour), 0.01)
		var group sync.WaitGroup
		for range 50 {
			group.Go(func() {
				for i := range int64(40) {
					takeUnits(t, l, c, 1+i%5)
					_, held := l.Held()
					if held > 100 {
						t.Errorf("%d units are held, want 100 at most", held)
					}
					time.Sleep(time.Millisecond)
				}
			})
		}
		group.Wait()
		require.Equal(t, int64(1), inner.most)
	})
}

// TestLeaseOfALateAnswer: units whose time is over when they arrive are given back, and
// those of a window that is over are nobody's.
func TestLeaseOfALateAnswer(t *testing.T) {
	for _, q := range []*algo.Quota{bucket(1000, time.Hour), window(1000, time.Second)} {
		inBubble(t, func(t *testing.T, inner *spy, l *store.Lease) {
			c := leased(1, q, 0.1)
			inner.then = func() {
				if inner.asked[0].Extra > 0 {
					time.Sleep(1100 * time.Millisecond)
				}
			}
			for range 5 {
				require.True(t, takeUnits(t, l, c, 1).Granted)
			}
			time.Sleep(100 * time.Millisecond)
			_, held := l.Held()
			require.Zero(t, held)
			if q.Algorithm() == algo.FixedWindow {
				require.Zero(t, inner.gives)
				return
			}
			require.Equal(t, int64(995), inner.left(t, c))
		})
	}
}

// TestLeasePutsBackWhatIsStillWorthSomething: not the units of a window that has ended
// while the store was deciding, and those whose time is over go to the store.
func TestLeasePutsBackWhatIsStillWorthSomething(t *testing.T) {
	for _, q := range []*algo.Quota{bucket(1000, time.Hour), window(1000, time.Second)} {
		inBubble(t, func(t *testing.T, inner *spy, l *store.Lease) {
			c, scarce := leased(1, q, 0.1), charge(2, bucket(1, time.Hour), core.FailDefault)
			warm(t, l, c)
			_, held := l.Held()
			left := inner.left(t, c)
			takeUnits(t, l, scarce, 1)
			inner.then = func() { time.Sleep(1100 * time.Millisecond) }
			c.Cost = held
			_, err := take(t, l, c, scarce)
			require.NoError(t, err)
			time.Sleep(100 * time.Millisecond)
			_, now := l.Held()
			require.Zero(t, now)
			if q.Algorithm() == algo.TokenBucket {
				require.Equal(t, left+held, inner.left(t, c))
			} else {
				require.Zero(t, inner.gives)
			}
		})
	}
}

// TestLeaseWithoutAStore: what is held pays when the store fails; after that the error
// goes through, and nothing is lost.
func TestLeaseWithoutAStore(t *testing.T) {
	inBubble(t, func(t *testing.T, inner *spy, l *store.Lease) {
		c, other := leased(1, bucket(1000, time.Hour), 0.1), charge(2, bucket(10, time.Hour), core.FailDefault)
		warm(t, l, c)
		inner.fail = &core.StoreError{Kind: "refused", Err: errDown}
		_, held := l.Held()
		_, err := take(t, l, c, other)
		require.ErrorIs(t, err, errDown)
		_, now := l.Held()
		require.Equal(t, held, now, "it was put back")
		for range held {
			require.True(t, takeUnits(t, l, c, 1).Granted)
		}
		_, err = take(t, l, c)
		require.ErrorIs(t, err, core.ErrStore)
		inner.fail = nil
		require.True(t, takeUnits(t, l, c, 1).Granted)
	})
}

// A half store fails to decide the charges of one key.
type half struct {
	core.Store
	fails core.Key
}

func (s half) Take(ctx context.Context, charges []core.Charge, results []core.Result) error {
	var failed, at []int
	var list []core.Charge
	for i, c := range charges {
		if c.Key == s.fails {
			failed = append(failed, i)
		} else {
			list, at = append(list, c), append(at, i)
		}
	}
	got := make([]core.Result, len(list))
	if err := s.Store.Take(ctx, list, got); err != nil {
		return err
	}
	for n, i := range at {
		results[i] = got[n]
	}
	if failed == nil {
		return nil
	}
	return &core.StoreError{Kind: "half", Failed: failed, Err: errDown}
}

// TestLeaseOfAHalfStore: the indexes of an error are those of the caller's charges.
func TestLeaseOfAHalfStore(t *testing.T) {
	inBubble(t, func(t *testing.T, inner *spy, _ *store.Lease) {
		c, good, bad := leased(1, bucket(1000, time.Hour), 0.1), charge(2, bucket(10, time.Hour), core.FailDefault), leased(3, bucket(100, time.Hour), 0.1)
		l := newLease(t, half{inner, bad.Key}, store.LeaseConfig{})
		warm(t, l, c)
		_, held := l.Held()
		got, err := take(t, l, c, good, bad)
		var failure *core.StoreError
		require.ErrorAs(t, err, &failure)
		require.Equal(t, []int{2}, failure.Failed)
		require.True(t, got[0].Granted && got[1].Granted)
		require.Equal(t, int64(9), got[1].Remaining)
		_, now := l.Held()
		require.Equal(t, held-1, now)
		good.Cost = 10
		got, err = take(t, l, bad, good, c)
		require.ErrorAs(t, err, &failure)
		require.Equal(t, []int{0}, failure.Failed)
		require.False(t, got[1].Granted)
		_, now = l.Held()
		require.Equal(t, held-1, now, "the call was denied")
	})
}

// TestLeaseStrict: what may be held is taken off the burst, and a cost that does not fit
// into the rest makes its limit exact.
func TestLeaseStrict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := newSpy()
		l := newLease(t, inner, store.LeaseConfig{Strict: true, Instances: 5})
		c := leased(1, bucket(100, time.Hour), 0.1)
		granted := int64(0)
		for takeUnits(t, l, c, 1).Granted {
			granted++
		}
		require.Equal(t, int64(50), granted)
		require.True(t, takeUnits(t, l, leased(2, c.Quota, 0.1), 60).Granted, "it fits into the quota")
		require.True(t, takeUnits(t, l, c, 50).Granted, "the limit is exact from here on")
		greedy := leased(3, bucket(100, time.Hour), 0.2)
		require.True(t, takeUnits(t, l, greedy, 100).Granted, "nothing would be left, so it is not leased")
		require.True(t, takeUnits(t, l, leased(4, window(100, time.Hour), 0.2), 100).Granted, "windows never see more")
	})
}

// TestLeaseIsBounded floods a small lease with keys. The busy one stays leased.
func TestLeaseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := newSpy()
		l := newLease(t, inner, store.LeaseConfig{MaxKeys: 1000})
		q := bucket(1000, time.Second)
		busy := leased(1, q, 0.1)
		for i := range uint64(20_000) {
			takeUnits(t, l, leased(10+i, q, 0.1), 1)
			if i%10 == 0 {
				require.True(t, takeUnits(t, l, busy, 1).Granted)
			}
			time.Sleep(200 * time.Microsecond)
		}
		keys, _ := l.Held()
		require.LessOrEqual(t, keys, 1000)
		require.Less(t, inner.takes, 20_000+500)
	})
}

// TestLeaseAllocates nothing where it pays from what is held.
func TestLeaseAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	now := time.Now()
	l := newLease(t, newSpy(), store.LeaseConfig{Clock: func() time.Time { return now }})
	q := bucket(1_000_000, time.Hour)
	one := []core.Charge{leased(1, q, 0.1)}
	two := []core.Charge{leased(2, q, 0.1), leased(3, window(1_000_000, time.Hour), 0.1)}
	for _, charges := range [][]core.Charge{one, two} {
		results := make([]core.Result, len(charges))
		call := func() { require.NoError(t, l.Take(t.Context(), charges, results)) }
		for range 20_000 { // as time stands still, demand only grows
			call()
		}
		require.Zero(t, testing.AllocsPerRun(500, call), "%d charges", len(charges))
	}
}

// BenchmarkLease pays from what is held.
func BenchmarkLease(b *testing.B) {
	now := time.Now()
	l := newLease(b, newSpy(), store.LeaseConfig{Clock: func() time.Time { return now }})
	charges, results := []core.Charge{leased(1, bucket(1_000_000_000, time.Hour), 0.5)}, make([]core.Result, 1)
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Take(b.Context(), charges, results); err != nil || !results[0].Granted {
			b.Fatal(err, results)
		}
	}
}

// TestLeaseStorm has everything done at once, and counts that a window never grants more
// than it has.
func TestLeaseStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLease(t, memstore.New(memstore.Config{MaxKeys: 1000}), store.LeaseConfig{})
		const n = 3000
		c, other := leased(1, window(n, time.Hour), 0.05), leased(2, bucket(n/2, time.Hour), 0.05)
		var spent atomic.Int64
		var group sync.WaitGroup
		for g := range 16 {
			group.Go(func() {
				rng := rand.New(rand.NewPCG(1, uint64(g)))
				for range 400 {
					stormOnce(t, l, rng, c, other, &spent)
				}
			})
		}
		group.Wait()
		require.LessOrEqual(t, spent.Load(), int64(n))
		require.NoError(t, l.Close())
		require.GreaterOrEqual(t, spent.Load(), int64(n/2))
	})
}

func stormOnce(t *testing.T, l *store.Lease, rng *rand.Rand, c, other core.Charge, spent *atomic.Int64) {
	charges := []core.Charge{c}
	charges[0].Cost = 1 + rng.Int64N(3)
	if rng.IntN(3) == 0 {
		charges = append(charges, other)
	}
	results := make([]core.Result, len(charges))
	if !errors.Is(l.Take(t.Context(), charges, results), nil) {
		t.Error("Take failed")
	}
	for _, r := range results {
		if !r.Granted {
			return
		}
	}
	spent.Add(charges[0].Cost)
	if rng.IntN(4) == 0 {
		spent.Add(-charges[0].Cost)
		refund := core.Refund{Key: c.Key, Limit: c.Limit, Quota: c.Quota, Units: charges[0].Cost, Receipt: results[0].Receipt}
		if err := l.Give(t.Context(), []core.Refund{refund}); err != nil {
			t.Error(err)
		}
	}
	if rng.IntN(50) == 0 {
		time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
	}
}

// TestLeaseTellsOfLostUnits: what cannot be given back is told of, and stays charged.
func TestLeaseTellsOfLostUnits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := newFlaky()
		var told atomic.Int64
		l := newLease(t, inner, store.LeaseConfig{OnError: func(err error) {
			if errors.Is(err, core.ErrStore) {
				told.Add(1)
			}
		}})
		warm(t, l, leased(1, bucket(1000, time.Hour), 0.1))
		inner.down.Store(true)
		time.Sleep(time.Second)
		require.Equal(t, int64(1), told.Load())
		_, held := l.Held()
		require.Zero(t, held)
	})
}

// TestLeaseConfig: what contradicts itself is refused, and says so.
func TestLeaseConfig(t *testing.T) {
	_, err := store.NewLease(nil, store.LeaseConfig{})
	require.ErrorContains(t, err, "no store")
	_, err = store.NewLease(newSpy(), store.LeaseConfig{Strict: true})
	require.ErrorContains(t, err, "Instances is 0")
	_, err = store.NewLease(newSpy(), store.LeaseConfig{Horizon: time.Microsecond})
	require.ErrorContains(t, err, "Horizon is 1µs")
	l := newLease(t, newFlaky(), store.LeaseConfig{})
	require.Equal(t, core.Traits{Shared: true, Prefetches: true, Splits: true}, l.Traits())
}
