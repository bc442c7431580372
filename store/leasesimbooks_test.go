package store_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
	"github.com/tidegate/tidegate/store"
)

// Books keep account of every unit of a world: whether it is in the store, outstanding
// (taken, and not admitted, given back or lost), or admitted. Units that the store grants
// to a request itself are admitted when it decides, as without leases; those that are
// held are admitted when they pay.
type books struct {
	w        *world
	mu       sync.Mutex
	problems []string
	history  uint64 // a hash of all that has happened, and when

	offered, calls        int64
	admitted, idealGrants int64
	out, mostOut          int64 // units outstanding

	// level is the level of a bucket without a bound that everything admitted is poured
	// into, and worst how far it was ever above the burst: the excess over the quota in
	// the worst span.
	level, worst float64
	at           time.Time

	// lowest is the least that (admitted − rate·t + outstanding) ever was. What is
	// admitted in a span that begins there may not be above burst + rate·T + outstanding.
	lowest float64

	windows map[int64]int64 // by receipt: admitted

	late int64 // what can still be had at the end, above what an exact bucket would have
}

func (b *books) open(w *world) {
	b.w, b.at, b.windows = w, w.began, map[int64]int64{}
	b.history = fnv.New64a().Sum64()
}

func (b *books) problem(format string, args ...any) {
	if len(b.problems) < 3 {
		after := time.Since(b.w.began)
		b.problems = append(b.problems, fmt.Sprintf("after %v ", after)+fmt.Sprintf(format, args...))
	}
}

// note adds to the history.
func (b *books) note(what ...int64) {
	for _, n := range append(what, time.Since(b.w.began).Nanoseconds()) {
		b.history = (b.history ^ uint64(n)) * 1099511628211
	}
}

// flow lets time pass up to now, before something happens.
func (b *books) flow() {
	now := time.Now()
	b.level = max(0, b.level-now.Sub(b.at).Seconds()*b.w.limit())
	b.at = now
	b.lowest = min(b.lowest, b.height()+float64(b.out))
}

func (b *books) height() float64 {
	return float64(b.admitted) - b.at.Sub(b.w.began).Seconds()*b.w.limit()
}

// admit counts units that pass.
func (b *books) admit(units int64) {
	b.admitted += units
	b.level += float64(units)
	b.worst = max(b.worst, b.level-float64(b.w.quota.Capacity()))
}

// check is after each thing that happens.
func (b *books) check() {
	if b.w.quota.Algorithm() != algo.TokenBucket {
		return
	}
	b.mostOut = max(b.mostOut, b.out)
	const rounding = 1e-3 // a store counts whole microseconds
	over := b.height() - b.lowest - float64(b.w.quota.Capacity())
	if over > rounding {
		b.problem("a span admitted %.3f more than its quota and the units outstanding when it began", over)
	}
	if b.w.strict && b.worst > rounding {
		b.problem("a strict fleet admitted %.3f more than its quota in a span", b.worst)
	}
}

// move changes what is outstanding at an instance. Requires the lock.
func (b *books) move(l *link, units int64) {
	if l.dead {
		return
	}
	b.out += units
	if l.held += units; l.held < 0 {
		b.problem("instance %d has spent or given back %d units more than it had", l.node.index, -l.held)
		b.out -= l.held
		l.held = 0
	}
}

// offer puts a request to one exact bucket.
func (b *books) offer(cost int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.offered++
	next, got := b.w.quota.Take(b.w.ideal, time.Now().UnixMicro(), algo.Ask{Cost: cost})
	if b.w.ideal = next; got.Granted {
		b.idealGrants += cost
	}
}

// decided is told what the store has decided, and whether the answer will arrive.
func (b *books) decided(l *link, r *request, cost int64, got *core.Result, arrives bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flow()
	b.note(1, int64(l.node.index), cost, got.Extra)
	if arrives && !l.dead {
		r.direct += cost
		b.admit(cost)
		b.inWindow(cost, got)
		b.move(l, got.Extra)
	}
	b.check()
}

// answer is told what a request was answered.
func (b *books) answer(r *request, granted bool, err error, got *core.Result) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flow()
	b.note(2, got.Remaining, int64(got.RetryAfter))
	if granted && !r.link.dead {
		here := r.cost - r.direct
		b.move(r.link, -here)
		b.admit(here)
		b.inWindow(here, got)
		if fixed := b.w.quota.Algorithm() == algo.FixedWindow; fixed && !r.called && time.Now().UnixMicro() >= got.Receipt.At {
			b.problem("a unit was spent %v after its window", time.Since(time.UnixMicro(got.Receipt.At)))
		}
	}
	if b.w.calm && err != nil {
		b.problem("in calm weather, Take failed: %v", err)
	}
	b.check()
}

func (b *books) inWindow(units int64, got *core.Result) {
	if b.w.quota.Algorithm() != algo.FixedWindow {
		return
	}
	b.windows[got.Receipt.At] += units
	if n := b.windows[got.Receipt.At]; n > b.w.quota.Capacity() {
		b.problem("a window of %d admitted %d", b.w.quota.Capacity(), n)
	}
}

// regret takes a request back before its units are given back.
func (b *books) regret(r *request) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.link.dead {
		return false
	}
	b.flow()
	b.admitted -= r.cost
	b.level = max(0, b.level-float64(r.cost))
	b.move(r.link, r.cost)
	b.check()
	return true
}

// sent is told of units that an instance gives back: it cannot spend them any more.
func (b *books) sent(l *link, units int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flow()
	b.note(3, int64(l.node.index), units)
	b.move(l, -units)
	b.check()
}

// called counts a store call.
func (b *books) called() {
	b.mu.Lock()
	b.calls++
	b.mu.Unlock()
}

// crash loses what an instance holds.
func (b *books) crash(l *link) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flow()
	b.out -= l.held
	l.held, l.dead = 0, true
}

// close checks what a scenario promises of calm weather.
func (b *books) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.out != 0 && b.w.quota.Algorithm() == algo.TokenBucket { // a window's units end with it
		b.problem("%d units are still outstanding when every instance is closed", b.out)
	}
	if !b.w.calm {
		return
	}
	if w := b.w.within; w > 0 && (b.lost() > w || math.Abs(1-b.ratio()) > 4*w || b.ratio() > 1+w) {
		b.problem("%d units were admitted and %d came late, and one exact bucket would have admitted %d", b.admitted, b.late, b.idealGrants)
	}
	if b.w.scenario.calls > 0 && b.callsEach() > b.w.scenario.calls {
		b.problem("a request cost %.3f store calls, want %v at most", b.callsEach(), b.w.scenario.calls)
	}
}

// end notes what can still be had when the last client has been answered.
func (b *books) end() {
	var got [1]core.Result
	_ = b.w.bank.Peek(context.Background(), []core.Charge{{Key: simKey, Quota: b.w.quota, Cost: 1}}, got[:])
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ideal := b.w.quota.Peek(b.w.ideal, time.Now().UnixMicro(), algo.Ask{Cost: 1})
	b.late = got[0].Remaining + b.out - ideal.Remaining
}

// lost is the share of an exact bucket's grants that was neither admitted nor comes late.
func (b *books) lost() float64 {
	return float64(b.idealGrants-b.admitted-b.late) / float64(max(1, b.idealGrants))
}

func (b *books) ratio() float64     { return float64(b.admitted) / float64(max(1, b.idealGrants)) }
func (b *books) callsEach() float64 { return float64(b.calls) / float64(max(1, b.offered)) }

// A link is the network between an instance and the store, and as such a store.
type link struct {
	core.Store
	node  *node
	lease *store.Lease
	rng   *rand.Rand
	mu    sync.Mutex // guards rng
	held  int64      // by the books
	dead  bool       // by the books: the instance has crashed
	loss  float64    // the share of messages that are lost
	cut   []time.Duration
}

func newLink(n *node) *link {
	l := &link{Store: n.w.bank, node: n, rng: rand.New(rand.NewPCG(n.rng.Uint64(), 1))}
	if n.w.calm {
		return l
	}
	l.loss = l.rng.Float64() * 0.05
	for at := time.Duration(0); at < n.w.lasts; { // partitions begin and end
		at += time.Duration(l.rng.ExpFloat64() * 2e9)
		l.cut = append(l.cut, at)
		at += time.Duration(l.rng.ExpFloat64() * 2e8)
		l.cut = append(l.cut, at)
	}
	return l
}

// isCut reports whether the instance is cut off.
func (l *link) isCut() bool {
	at := time.Since(l.node.w.began)
	for i := 0; i < len(l.cut); i += 2 {
		if l.cut[i] <= at && at < l.cut[i+1] {
			return true
		}
	}
	return false
}

// A trip is what happens to a message and its answer.
type trip struct {
	there, back         time.Duration
	lostThere, lostBack bool
}

func (l *link) trip() trip {
	l.mu.Lock()
	defer l.mu.Unlock()
	leg := func() time.Duration { return time.Duration(3e5 + l.rng.ExpFloat64()*2e5) }
	t := trip{there: leg(), back: leg()}
	t.lostThere = l.isCut() || l.rng.Float64() < l.loss
	t.lostBack = l.rng.Float64() < l.loss
	return t
}

const simTimeout = 20 * time.Millisecond

var errLost = errors.New("no answer")

func (l *link) Take(ctx context.Context, charges []core.Charge, results []core.Result) error {
	w := l.node.w
	w.books.called()
	r := ctx.Value(requestKey{}).(*request)
	r.called = true
	t := l.trip()
	time.Sleep(t.there)
	if t.lostThere {
		time.Sleep(simTimeout)
		return &core.StoreError{Kind: "timeout", MaybeSpent: true, Err: errLost}
	}
	if err := w.bank.Take(ctx, charges, results); err != nil {
		return err
	}
	granted := true
	for i := range results {
		granted = granted && results[i].Granted
	}
	if granted && charges[0].Key == simKey {
		w.books.decided(l, r, charges[0].Cost, &results[0], !t.lostBack)
	}
	time.Sleep(t.back)
	if t.lostBack {
		time.Sleep(simTimeout)
		return &core.StoreError{Kind: "timeout", MaybeSpent: true, Err: errLost}
	}
	return nil
}

func (l *link) Give(ctx context.Context, refunds []core.Refund) error {
	w := l.node.w
	w.books.called()
	for i := range refunds {
		if refunds[i].Key == simKey {
			w.books.sent(l, refunds[i].Units)
		}
	}
	t := l.trip()
	time.Sleep(t.there)
	if t.lostThere || l.gone() {
		time.Sleep(simTimeout)
		return &core.StoreError{Kind: "timeout", MaybeSpent: true, Err: errLost}
	}
	err := w.bank.Give(ctx, refunds)
	time.Sleep(t.back)
	if t.lostBack {
		time.Sleep(simTimeout)
		return &core.StoreError{Kind: "timeout", MaybeSpent: true, Err: errLost}
	}
	return err
}

// gone reports whether the instance has crashed.
func (l *link) gone() bool {
	l.node.w.books.mu.Lock()
	defer l.node.w.books.mu.Unlock()
	return l.dead
}

func (l *link) Close() error { return nil }
