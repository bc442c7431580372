package algo

import (
	"flag"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"
	"time"
)

var (
	seedFlag  = flag.Uint64("algo.seed", 1, "the seed of the random walks")
	traceFlag = flag.Int64("algo.trace", -1, "walk only this trace")
)

// manySteps is how far each algorithm is walked.
func manySteps() int {
	if raced || testing.Short() {
		return 40_000
	}
	return 1_000_000
}

// traceSteps is how far one key goes before another quota is tried.
const traceSteps = 250

// eachTrace calls f with a source of randomness for one trace after the other,
// until all have been that many steps together.
func eachTrace(t *testing.T, steps int, f func(rng *rand.Rand) error) {
	t.Helper()
	for trace := int64(0); trace*traceSteps < int64(steps); trace++ {
		if *traceFlag >= 0 && trace != *traceFlag {
			continue
		}
		if err := f(rand.New(rand.NewPCG(*seedFlag, uint64(trace)))); err != nil {
			t.Fatalf("%v\n\treplay: go test ./core/algo -run '^%s$' -algo.seed=%d -algo.trace=%d", err, t.Name(), *seedFlag, trace)
		}
	}
}

// lateEnough ends a trace: beyond it a span may reach past what an instant holds.
const lateEnough = int64(5e15)

// A walk takes one key through a random trace and compares every answer with the
// model's, and with what comes of it when one does as the answer says.
type walk struct {
	rng    *rand.Rand
	q      *Quota
	key    counter
	model  model
	now    int64
	last   Outcome
	grants []grant
}

// grant is an admission that may be given back.
type grant struct {
	admission
	delayed bool
	receipt Receipt
}

func newWalk(rng *rand.Rand, q *Quota) *walk {
	start := time.Date(2005+rng.IntN(30), 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	return &walk{rng: rng, q: q, model: newModel(q.Spec(), q.tick), now: start + rng.Int64N(Day.Microseconds()*365)}
}

func (w *walk) run(steps int) error {
	for i := 0; i < steps && w.now < lateEnough; i++ {
		w.advance()
		ask := w.ask()
		if err := w.step(ask); err != nil {
			return fmt.Errorf("%+v (tick %v)\n\tstep %d at %d, %+v: %w", w.q.Spec(), w.q.Tick(), i, w.now, ask, err)
		}
		if err := w.giveSome(); err != nil {
			return fmt.Errorf("%+v (tick %v)\n\tstep %d at %d, giving back: %w", w.q.Spec(), w.q.Tick(), i, w.now, err)
		}
	}
	if err := w.checkSpans(); err != nil {
		return fmt.Errorf("%+v (tick %v): %w", w.q.Spec(), w.q.Tick(), err)
	}
	return nil
}

// period is how long a window is, about.
func (w *walk) period() int64 {
	if w.q.spec.Period == Month {
		return 31 * Day.Microseconds()
	}
	return w.q.spec.Period.Microseconds()
}

// advance moves the clock: a little, a lot, to where something is said to happen,
// or back.
func (w *walk) advance() {
	period := w.period()
	perUnit := max(1, period/w.q.limit)
	jitter := w.rng.Int64N(3) - 1
	switch w.rng.IntN(16) {
	case 0, 1, 2:
	case 3, 4:
		w.now += w.rng.Int64N(3 * w.q.tick)
	case 5, 6:
		w.now += w.rng.Int64N(3 * perUnit)
	case 7, 8:
		w.now += w.rng.Int64N(period)
	case 9:
		if w.last.RetryAfter != Never {
			w.now += w.last.RetryAfter + jitter
		}
	case 10:
		w.now += w.last.NextAfter + jitter
	case 11:
		w.now += w.last.ResetAfter + jitter
	case 12:
		w.now += period - w.now%period + jitter
	case 13:
		w.now += w.rng.Int64N(3 * period)
	case 14:
		w.now -= w.rng.Int64N(3 * perUnit)
	case 15:
		w.now -= w.rng.Int64N(2 * period)
	}
}

func (w *walk) ask() Ask {
	capacity := w.q.Capacity()
	ask := Ask{Cost: 1}
	switch w.rng.IntN(16) {
	case 0:
		ask.Cost = 0
	case 1, 2, 3:
		ask.Cost += w.rng.Int64N(min(capacity, 5))
	case 4, 5:
		ask.Cost += w.rng.Int64N(capacity)
	case 6:
		ask.Cost = capacity
	case 7:
		ask.Cost = capacity + 1 + w.rng.Int64N(capacity)
	case 8:
		ask.Cost = w.last.Remaining
	case 9:
		ask.Cost = w.last.Remaining + 1
	}
	if w.rng.IntN(6) == 0 {
		ask.Extra = w.rng.Int64N(2 * capacity)
	}
	queues := w.q.spec.Algorithm == TokenBucket || w.q.spec.Algorithm == LeakyBucket
	if queues && (w.q.spec.Shaper || w.rng.IntN(8) == 0) {
		switch w.rng.IntN(4) {
		case 0:
		case 1:
			ask.MaxDelay = w.rng.Int64N(3 * max(1, w.period()/w.q.limit))
		default:
			ask.MaxDelay = w.rng.Int64N(2 * w.period())
		}
	}
	return ask
}

// step makes one ask and looks at the answer from all sides.
func (w *walk) step(ask Ask) error {
	before := w.key.clone()
	granted, delay := w.expect(ask)
	o := w.key.take(w.q, w.now, ask)
	w.last = o
	if o.Granted != granted || o.Delay != delay {
		return fmt.Errorf("granted %v, delay %d, want %v, %d (room %d)", o.Granted, o.Delay, granted, delay, w.model.room(w.now))
	}
	extra := int64(0)
	if granted {
		extra = max(0, min(ask.Extra, w.model.room(w.now)-ask.Cost))
		if w.q.spec.Shaper && ask.Cost == 0 {
			extra = 0 // extra units share the cost's turn
		}
		if ask.Cost+extra > 0 {
			w.model.admit(w.now, ask.Cost+extra)
			w.grants = append(w.grants, grant{admission{w.now + o.Delay, ask.Cost + extra}, o.Delay > 0, o.Receipt})
		}
	}
	if err := w.checkDenies(ask, o, before.state); err != nil {
		return err
	}
	if o.Extra != extra {
		return fmt.Errorf("extra %d, want %d", o.Extra, extra)
	}
	if got, want := o.Remaining, max(0, w.model.room(w.now)); got != want {
		return fmt.Errorf("remaining %d, want %d", got, want)
	}
	for _, check := range []func(Ask, Outcome, counter) error{
		w.checkNumbers, w.checkPeek, w.checkRetry, w.checkRemaining, w.checkNext, w.checkReset, w.checkGiveAtOnce,
	} {
		if err := check(ask, o, before); err != nil {
			return fmt.Errorf("%+v: %w", o, err)
		}
	}
	return nil
}

// expect returns what the model says to an ask.
func (w *walk) expect(ask Ask) (granted bool, delay int64) {
	if ask.Cost == 0 {
		return true, 0
	}
	if ask.Cost > w.q.Capacity() {
		return false, 0
	}
	m, ok := w.model.(*spanModel)
	if !ok {
		return ask.Cost <= w.model.room(w.now), 0
	}
	ahead := m.excess(w.now)
	over := ahead + ask.Cost*m.unit - m.capacity*m.unit
	if w.q.spec.Shaper {
		if delay = m.wait(w.now, ahead); over > 0 || delay > ask.MaxDelay {
			return false, 0
		}
		return true, delay
	}
	if delay = m.wait(w.now, over); delay > ask.MaxDelay || over > 0 && ahead+ask.Cost*m.unit > exact {
		return false, 0
	}
	return true, delay
}

// No number is negative, none reaches 285 years, and a refusal says when.
func (w *walk) checkNumbers(ask Ask, o Outcome, _ counter) error {
	for _, n := range []int64{o.Extra, o.Remaining, o.Delay, o.RetryAfter, o.NextAfter, o.ResetAfter} {
		if n < 0 || n >= maxSpan && n != Never {
			return fmt.Errorf("a number is negative or too large")
		}
	}
	if o.Granted != (o.RetryAfter == 0) || (o.RetryAfter == Never) != (ask.Cost > w.q.Capacity()) {
		return fmt.Errorf("retry after %d", o.RetryAfter)
	}
	return nil
}

// Denies is the short way to a denial. Where it knows the state it is exact, but for
// a queue, which also denies those who would have to wait too long.
func (w *walk) checkDenies(ask Ask, o Outcome, before State) error {
	if ask.MaxDelay > 0 && !w.q.spec.Shaper || w.q.Wide() {
		return nil
	}
	denies := w.q.Denies(before, w.now, ask.Cost)
	knows := before.Under == w.q && ask.Cost <= w.q.Capacity() && w.q.spec.Algorithm != SlidingWindow && !w.q.spec.Shaper
	if denies && o.Granted || knows && denies == o.Granted {
		return fmt.Errorf("Denies: %v, Take granted: %v", denies, o.Granted)
	}
	return nil
}

// Peek says the same and leaves everything as it is; so does a denial.
func (w *walk) checkPeek(ask Ask, o Outcome, before counter) error {
	peeked := before.clone()
	p := peeked.peek(w.q, w.now, ask)
	if p.Granted != o.Granted || p.RetryAfter != o.RetryAfter || p.Delay != o.Delay || p.Extra != 0 || p.Receipt != (Receipt{}) {
		return fmt.Errorf("Peek said %+v", p)
	}
	after := []*counter{&peeked}
	if !o.Granted {
		after = append(after, &w.key)
	}
	for _, key := range after {
		if key.state != before.state {
			return fmt.Errorf("state %+v after a denial or a peek, was %+v", key.state, before.state)
		}
		at := w.now + w.rng.Int64N(w.period())
		if got, want := key.would(w.q, at, ask), before.would(w.q, at, ask); got != want {
			return fmt.Errorf("a denial or a peek changed a later answer from %+v to %+v", want, got)
		}
	}
	return nil
}

// Who sleeps as long as he is told is granted; who sleeps a microsecond less is not.
func (w *walk) checkRetry(ask Ask, o Outcome, _ counter) error {
	if o.Granted || o.RetryAfter == Never {
		return nil
	}
	if !w.key.would(w.q, w.now+o.RetryAfter, ask).Granted {
		return fmt.Errorf("denied after the wait")
	}
	if w.key.would(w.q, w.now+o.RetryAfter-1, ask).Granted {
		return fmt.Errorf("granted before the wait is over")
	}
	return nil
}

// patient asks for n units with all the time in the world, as far as that matters.
func (w *walk) patient(n int64) Ask {
	if w.q.spec.Shaper {
		return Ask{Cost: n, MaxDelay: 1 << 60}
	}
	return Ask{Cost: n}
}

// Remaining is the number of single units that pass right now.
func (w *walk) checkRemaining(_ Ask, o Outcome, _ counter) error {
	key := w.key.clone()
	left := o.Remaining
	if left > 4 {
		if !key.take(w.q, w.now, w.patient(left-2)).Granted {
			return fmt.Errorf("all but two of the remaining were denied")
		}
		left = 2
	}
	for range left {
		if !key.take(w.q, w.now, w.patient(1)).Granted {
			return fmt.Errorf("one of the remaining was denied")
		}
	}
	if key.take(w.q, w.now, w.patient(1)).Granted {
		return fmt.Errorf("one more than the remaining was granted")
	}
	return nil
}

// Remaining grows when NextAfter says so.
func (w *walk) checkNext(_ Ask, o Outcome, _ counter) error {
	if (o.NextAfter == 0) != (o.ResetAfter == 0) || (o.NextAfter == 0) != (o.Remaining == w.q.Capacity()) {
		return fmt.Errorf("next after %d", o.NextAfter)
	}
	if o.NextAfter == 0 {
		return nil
	}
	if got := w.key.would(w.q, w.now+o.NextAfter, Ask{}).Remaining; got <= o.Remaining {
		return fmt.Errorf("remaining %d at the time of the next", got)
	}
	if got := w.key.would(w.q, w.now+o.NextAfter-1, Ask{}).Remaining; got != o.Remaining {
		return fmt.Errorf("remaining %d before the time of the next", got)
	}
	return nil
}

// The key is as good as new when ResetAfter says so.
func (w *walk) checkReset(ask Ask, o Outcome, _ counter) error {
	key := w.key.clone()
	if o.ResetAfter > 0 {
		if key.owes(w.now+o.ResetAfter-1) == 0 {
			return fmt.Errorf("owes nothing before the reset")
		}
	}
	then := w.now + o.ResetAfter
	if got := key.owes(then); got != 0 {
		return fmt.Errorf("owes %d at the reset", got)
	}
	if o.ResetAfter == 0 {
		return nil // the clock may be behind, which a fresh key would not know
	}
	var fresh counter
	if got, want := key.take(w.q, then, ask), fresh.take(w.q, then, ask); got != want {
		return fmt.Errorf("at the reset %+v, a fresh key %+v", got, want)
	}
	return nil
}

// What is given back at once was never taken.
func (w *walk) checkGiveAtOnce(ask Ask, o Outcome, before counter) error {
	if !o.Granted || ask.Cost+o.Extra == 0 || w.rng.IntN(4) > 0 {
		return nil
	}
	key := w.key.clone()
	if !key.give(w.q, w.now, ask.Cost+o.Extra, o.Receipt, w.rng.IntN(2) == 0) {
		return fmt.Errorf("nothing came back")
	}
	again := w.ask()
	for _, at := range []int64{w.now, w.now + w.rng.Int64N(w.period())} {
		if got, want := key.would(w.q, at, again), before.would(w.q, at, again); got != want {
			return fmt.Errorf("taken and given back, %+v at %d: %+v, had it never been taken %+v", again, at, got, want)
		}
	}
	return nil
}

// giveSome returns a part of an earlier grant. Buckets have a test of their own for
// that, since their model does not know whose units have drained.
func (w *walk) giveSome() error {
	if _, ok := w.model.(*spanModel); ok || len(w.grants) == 0 || w.rng.IntN(4) > 0 {
		return nil
	}
	i := len(w.grants) - 1 - w.rng.IntN(min(len(w.grants), 6))
	g := &w.grants[i]
	if g.units == 0 {
		return nil
	}
	if m, ok := w.model.(*ownWindowModel); ok && i < m.first && g.receipt.At == m.start+m.period {
		return nil // the clock went back to the very microsecond at which another window had begun
	}
	units := 1 + w.rng.Int64N(g.units)
	returned := w.model.refund(w.now, i, units)
	g.units -= returned
	if changed := w.key.give(w.q, w.now, units, g.receipt, false); changed != (returned > 0) {
		return fmt.Errorf("Give(%d) of %+v: changed %v, want %d returned", units, *g, changed, returned)
	}
	o := w.key.peek(w.q, w.now, Ask{})
	if got, want := o.Remaining, max(0, w.model.room(w.now)); got != want {
		return fmt.Errorf("after Give(%d) of %+v: remaining %d, want %d", units, *g, got, want)
	}
	if err := w.checkNext(Ask{}, o, counter{}); err != nil {
		return err
	}
	return w.checkReset(Ask{}, o, counter{})
}

// checkSpans holds what was admitted, and not given back, against what the package
// promises for any span.
func (w *walk) checkSpans() error {
	s := w.q.spec
	for i := range w.grants {
		sum := int64(0)
		first, last := w.grants[i].at, w.grants[i].at
		rounding := w.q.tick - 1
		for _, g := range w.grants[i:] {
			first, last, sum = min(first, g.at), max(last, g.at), sum+g.units
			if g.delayed {
				rounding = 2*w.q.tick - 1
			}
			if err := w.promised(s, sum, last-first, rounding, g.units); err != nil {
				return fmt.Errorf("admitted %d in %d µs, from %d: %w", sum, last-first, first, err)
			}
		}
	}
	return nil
}

// promised checks units that were admitted in a span, the last grant's among them,
// against the table of doc.go. Buckets count a span in ticks, begun ones included,
// and a delay in whole ones.
func (w *walk) promised(s Spec, sum, span, rounding, lastUnits int64) error {
	period := s.Period.Microseconds()
	most := 2 * s.Limit
	switch {
	case s.Shaper:
		// One leaves each 1/rate: nobody before those ahead have had their time.
		if more(sum-lastUnits, period, s.Limit, span+rounding) {
			return fmt.Errorf("want one each %v/%d", s.Period, s.Limit)
		}
		return nil
	case s.Algorithm == TokenBucket, s.Algorithm == LeakyBucket:
		if more(sum-w.q.Capacity(), period, s.Limit, span+rounding) {
			return fmt.Errorf("want at most %d + %d·T", w.q.Capacity(), s.Limit)
		}
		return nil
	case s.Period == Month:
		period = 27 * Day.Microseconds()
	case s.Algorithm == FixedWindow && !s.FirstRequest && s.Period >= Day:
		period -= 3 * time.Hour.Microseconds() // a day has 23 hours somewhere, once a year
	case s.Cells > 0, s.Algorithm == SlidingLog:
		most = s.Limit
	case s.Algorithm == SlidingWindow:
		most = 2*s.Limit - 1
		if span == 0 {
			most = s.Limit
		}
	}
	if span < period && sum > most {
		return fmt.Errorf("want at most %d in any %d µs", most, period)
	}
	return nil
}

// more reports whether a·b > c·d, in 128 bits.
func more(a, b, c, d int64) bool {
	if a <= 0 {
		return false
	}
	hi1, lo1 := bits.Mul64(uint64(a), uint64(b))
	hi2, lo2 := bits.Mul64(uint64(c), uint64(d))
	return hi1 > hi2 || hi1 == hi2 && lo1 > lo2
}
