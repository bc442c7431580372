package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// Benchmark measures the same decisions for every store: granted and denied, of
// one key and of many, alone and in parallel. The clock is the real one. A
// benchmark fails when a decision was not the one it is named for, or when its
// keys were not really spread.
func Benchmark(b *testing.B, h Harness) {
	for _, w := range []struct {
		name string
		load load
	}{
		{"HotKey", load{keys: 1, limits: 1, burst: plenty}},
		{"1000Keys", load{keys: 1_000, limits: 1, burst: enough}},
		{"1MKeys", load{keys: 1_000_000, limits: 1, burst: enough}},
		{"ThreeCharges", load{keys: 1_000, limits: 3, burst: enough}},
		{"Denied", load{keys: 1, limits: 1, burst: 1, denied: true}},
		{"ThreeChargesDenied", load{keys: 1_000, limits: 3, burst: 1, denied: true}},
	} {
		b.Run(w.name, func(b *testing.B) { w.load.serial(b, h.New(b)) })
		b.Run(w.name+"Parallel", func(b *testing.B) { w.load.parallel(b, h.New(b)) })
	}
}

// Token buckets hold enough for any benchmark of many keys and refill so slowly
// that what was spent can be counted afterwards; the hot key needs more than such
// a bucket may hold.
const (
	plenty = 1_000_000_000
	enough = 1_000_000
)

// A load is the decisions of one benchmark. Each is of the next of so many
// callers, in a random order, with so many charges.
type load struct {
	keys   int
	limits int
	burst  int64
	denied bool

	quota  *algo.Quota
	names  []string
	caller []core.Key // of the first limit; the others differ in Lo
}

// prepare makes the keys, and uses up those that are to deny.
func (l *load) prepare(s core.Store) error {
	spec := algo.Spec{Limit: 1, Period: 1000 * time.Second, Burst: l.burst}
	if l.burst == plenty {
		spec = algo.Spec{Limit: plenty, Period: time.Second}
	}
	quota, err := algo.Compile(spec)
	if err != nil {
		return err
	}
	l.quota = quota
	for i := range l.limits {
		l.names = append(l.names, fmt.Sprintf("limit-%d", i))
	}
	l.caller = make([]core.Key, l.keys)
	for i := range l.caller {
		l.caller[i] = randomKey()
	}
	if !l.denied {
		return nil
	}
	charges, results := l.bill()
	for i := range l.caller {
		l.address(charges, i)
		if err := s.Take(context.Background(), charges, results); err != nil {
			return err
		}
	}
	return nil
}

func (l *load) bill() ([]core.Charge, []core.Result) {
	charges := make([]core.Charge, l.limits)
	for i := range charges {
		charges[i] = core.Charge{Limit: l.names[i], Quota: l.quota, Cost: 1}
	}
	return charges, make([]core.Result, l.limits)
}

// address makes the charges those of the i-th caller.
func (l *load) address(charges []core.Charge, i int) {
	for j := range charges {
		k := l.caller[i]
		k.Lo += uint64(j)
		charges[j].Key = k
	}
}

// decide has the store decide the i-th caller's charges.
func (l *load) decide(ctx context.Context, s core.Store, charges []core.Charge, results []core.Result, i int) error {
	l.address(charges, i)
	if err := s.Take(ctx, charges, results); err != nil {
		return err
	}
	if granted := results[0].Granted; granted == l.denied {
		return fmt.Errorf("a charge says granted: %v, want %v", granted, !l.denied)
	}
	return nil
}

func (l load) serial(b *testing.B, s core.Store) {
	defer closeAfter(b, s)
	if err := l.prepare(s); err != nil {
		b.Fatal(err)
	}
	charges, results := l.bill()
	ctx := context.Background()
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		if err := l.decide(ctx, s, charges, results, n%l.keys); err != nil {
			b.Fatal(err)
		}
		n++
	}
	if err := l.checkSpread(s, int64(n)); err != nil {
		b.Fatal(err)
	}
}

func (l load) parallel(b *testing.B, s core.Store) {
	defer closeAfter(b, s)
	if err := l.prepare(s); err != nil {
		b.Fatal(err)
	}
	var all atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		charges, results := l.bill()
		ctx := context.Background()
		i, n := rand.IntN(l.keys), int64(0)
		for ; pb.Next(); n++ {
			if err := l.decide(ctx, s, charges, results, i); err != nil {
				b.Error(err)
				return
			}
			if i++; i == l.keys {
				i = 0
			}
		}
		all.Add(n)
	})
	b.StopTimer()
	if err := l.checkSum(s, all.Load()); err != nil {
		b.Fatal(err)
	}
}

func closeAfter(b *testing.B, s core.Store) {
	if err := s.Close(); err != nil {
		b.Errorf("Close: %v", err)
	}
}

// spentBy returns what each of some callers has spent of each limit.
func (l *load) spentBy(s core.Store, callers []int) ([]int64, error) {
	charges, results := l.bill()
	spent := make([]int64, len(callers))
	for n, i := range callers {
		l.address(charges, i)
		if err := s.Peek(context.Background(), charges, results); err != nil {
			return nil, err
		}
		for j := range results {
			got := l.quota.Capacity() - results[j].Remaining
			if j > 0 && got != spent[n] {
				return nil, fmt.Errorf("a caller has spent %d of one limit and %d of another, want the same of all", spent[n], got)
			}
			spent[n] = got
		}
	}
	return spent, nil
}

// some returns a sample of the callers.
func (l *load) some() []int {
	const sample = 2_000
	callers := rand.Perm(l.keys)
	return callers[:min(sample, len(callers))]
}

// counts reports whether what was spent can still be told.
func (l *load) counts() bool { return l.burst == enough && !l.denied }

// checkSpread checks that n decisions went to the callers by turns.
func (l *load) checkSpread(s core.Store, n int64) error {
	if !l.counts() {
		return nil
	}
	callers := l.some()
	spent, err := l.spentBy(s, callers)
	if err != nil {
		return err
	}
	off := 0
	for j, i := range callers {
		want := n / int64(l.keys)
		if int64(i) < n%int64(l.keys) {
			want++
		}
		if spent[j] != want {
			off++
		}
	}
	if off > l.tolerated(len(callers)) {
		return fmt.Errorf("after %d decisions for %d callers by turns, %d of %d have not spent their share", n, l.keys, off, len(callers))
	}
	return nil
}

// tolerated is how many of so many keys may be counted together with others: a
// store at its bound may have no room for each.
func (l *load) tolerated(keys int) int {
	if l.keys < 100_000 {
		return 0
	}
	return keys / 100
}

// checkSum checks that n decisions were all counted, and none by a key that had no
// share in them. It takes every key to know that, so the largest load is let off.
func (l *load) checkSum(s core.Store, n int64) error {
	if !l.counts() || l.keys > 10_000 {
		return nil
	}
	spent, err := l.spentBy(s, rand.Perm(l.keys))
	if err != nil {
		return err
	}
	sum, most := int64(0), int64(0)
	for _, units := range spent {
		sum += units
		most = max(most, units)
	}
	ahead := int64(runtime.GOMAXPROCS(0)) // each goroutine may be one turn ahead with a key
	if sum != n || most > n/int64(l.keys)+ahead {
		return fmt.Errorf("%d decisions for %d callers were counted as %d, and as %d for one of them", n, l.keys, sum, most)
	}
	return nil
}
