package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// A run is one check under way. Its first error sticks, and every later step then
// does nothing, so that a check reads as the story it tells.
type run struct {
	ctx   context.Context
	s     *Subject
	began time.Time
	err   error
	names int
}

func newRun(ctx context.Context, s *Subject) *run {
	return &run{ctx: ctx, s: s, began: s.now()}
}

func (r *run) ok() bool { return r.err == nil }

func (r *run) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// want fails the run with a message unless cond holds.
func (r *run) want(cond bool, format string, args ...any) {
	if !cond {
		r.fail(format, args...)
	}
}

func (r *run) exact() bool { return r.s.harness.exact() }

func (r *run) lacks(c Claim) bool { return r.s.harness.lacks()&c != 0 }

// longestSleep is more than any quota of the suite makes anyone wait.
const longestSleep = 1000 * time.Hour

func (r *run) sleep(d time.Duration) {
	if d > longestSleep {
		r.fail("the store told a wait of %v, and no quota of the suite is that slow", d)
	}
	if r.ok() {
		r.s.sleep(d)
	}
}

// slack is how far a span may be off: not at all where time stands still between
// calls, and elsewhere by the time that the run has taken.
func (r *run) slack() time.Duration {
	if r.exact() {
		return 0
	}
	return r.s.now().Sub(r.began)
}

// same compares a span with what it should be.
func (r *run) same(got, want time.Duration, format string, args ...any) {
	if (got - want).Abs() > r.slack() {
		r.fail("%s is %v, want %v", fmt.Sprintf(format, args...), got, want)
	}
}

// quota compiles a spec of the suite's own.
func (r *run) quota(s algo.Spec) *algo.Quota {
	q, err := algo.Compile(s)
	if err != nil {
		panic(fmt.Sprintf("storetest: a quota of the suite does not compile: %v", err))
	}
	return q
}

// open returns an account of a caller and a limit that nobody has seen.
func (r *run) open(s algo.Spec) account {
	r.names++
	return account{limit: fmt.Sprintf("limit-%d", r.names), key: randomKey(), quota: r.quota(s)}
}

// openFor returns an account of the caller who has another one.
func (r *run) openFor(other account, s algo.Spec) account {
	a := r.open(s)
	a.key.Tag = other.key.Tag
	return a
}

// long returns a period that does not end while a case runs, by any of the clocks
// that windows are aligned to: an hour or so, with its edges well away from now.
func (r *run) long() time.Duration {
	const away = 5 * time.Minute
	now := time.Duration(r.s.now().UnixNano())
	for p := time.Hour; ; p += time.Minute {
		if into := now % p; into > away && p-into > away {
			return p
		}
	}
}

// take puts charges to the store and checks what holds of every answer.
func (r *run) take(charges ...core.Charge) []core.Result {
	return r.ask("Take", r.s.Take, charges)
}

func (r *run) peek(charges ...core.Charge) []core.Result {
	return r.ask("Peek", r.s.Peek, charges)
}

type storeCall = func(context.Context, []core.Charge, []core.Result) error

func (r *run) ask(name string, call storeCall, charges []core.Charge) []core.Result {
	results := make([]core.Result, len(charges))
	if !r.ok() {
		return results
	}
	if err := call(r.ctx, charges, results); err != nil {
		r.fail("%s of %d charges: %w", name, len(charges), err)
		return results
	}
	for i := range charges {
		if err := plausible(charges[i], results[i]); err != nil {
			r.fail("%s(%s): %w", name, describe(charges[i]), err)
		}
	}
	return results
}

func (r *run) takeOne(c core.Charge) core.Result { return r.take(c)[0] }
func (r *run) peekOne(c core.Charge) core.Result { return r.peek(c)[0] }

// plausible checks what holds of every answer, whatever was asked.
func plausible(c core.Charge, got core.Result) error {
	capacity := c.Quota.Capacity()
	switch {
	case got.Unknown:
		return errors.New("is Unknown, and the store has not failed")
	case got.Granted && got.RetryAfter != 0:
		return fmt.Errorf("granted with RetryAfter %v, want 0", got.RetryAfter)
	case got.Granted && got.Blocked:
		return errors.New("granted and Blocked")
	case !got.Granted && !got.Partial && got.RetryAfter <= 0:
		return fmt.Errorf("denied with RetryAfter %v, want more than 0", got.RetryAfter)
	case !got.Granted && (got.Extra != 0 || got.Delay != 0):
		return fmt.Errorf("denied with Extra %d and Delay %v, want neither", got.Extra, got.Delay)
	case got.Remaining < 0 || got.Remaining > capacity:
		return fmt.Errorf("says Remaining %d, want 0 to %d", got.Remaining, capacity)
	case got.Extra < 0 || got.Extra > c.Extra:
		return fmt.Errorf("says Extra %d, want 0 to %d", got.Extra, c.Extra)
	case got.Delay < 0 || got.Delay > c.MaxDelay:
		return fmt.Errorf("says Delay %v, want 0 to %v", got.Delay, c.MaxDelay)
	case got.NextAfter < 0 || got.ResetAfter < got.NextAfter:
		return fmt.Errorf("says NextAfter %v and ResetAfter %v, want 0 or more and no less than that", got.NextAfter, got.ResetAfter)
	}
	return nil
}

// grants takes cost units and wants them granted, with left remaining.
func (r *run) grants(a account, cost, left int64, why string) core.Result {
	c := a.charge(cost)
	got := r.takeOne(c)
	r.want(got.Granted, "Take(%s) was denied, retry after %v; want granted: %s", describe(c), got.RetryAfter, why)
	r.wantLeft(got, left, "Take("+describe(c)+")", why)
	return got
}

// denies asks for cost units and wants them denied, with left remaining.
func (r *run) denies(a account, cost, left int64, why string) core.Result {
	c := a.charge(cost)
	got := r.takeOne(c)
	r.want(!got.Granted, "Take(%s) was granted, want denied: %s", describe(c), why)
	r.wantLeft(got, left, "Take("+describe(c)+")", why)
	return got
}

func (r *run) wantLeft(got core.Result, left int64, call, why string) {
	if got.Partial || r.lacks(Numbers) {
		return // not known
	}
	r.want(got.Remaining == left, "%s left %d remaining, want %d: %s", call, got.Remaining, left, why)
}

// left looks at an account and wants so many units remaining.
func (r *run) left(a account, want int64, why string) {
	c := a.charge(1)
	got := r.peekOne(c)
	r.wantLeft(got, want, "Peek("+describe(c)+")", why)
	r.want(got.Granted == (want > 0), "Peek(%s) says granted: %v, with %d remaining: %s", describe(c), got.Granted, want, why)
}

// holds takes all that is left of an account, and wants it to be exactly so much.
// Unlike [run.left] it believes only what is granted.
func (r *run) holds(a account, units int64, why string) {
	r.grants(a, units, 0, why)
	r.denies(a, 1, 0, why)
}

// drain takes all that an untouched account holds.
func (r *run) drain(a account) { r.grants(a, a.quota.Capacity(), 0, "nobody has used the key") }

func (r *run) give(refunds ...core.Refund) {
	if !r.ok() {
		return
	}
	if err := r.s.Give(r.ctx, refunds); err != nil {
		r.fail("Give of %d refunds: %w", len(refunds), err)
	}
}

// reset uses what Reset may use, and nothing else.
func (r *run) reset(accounts ...account) {
	if !r.ok() {
		return
	}
	charges := make([]core.Charge, len(accounts))
	for i, a := range accounts {
		charges[i] = core.Charge{Key: a.key, Quota: a.quota}
	}
	if err := r.s.Reset(r.ctx, charges); err != nil {
		r.fail("Reset of %d keys: %w", len(charges), err)
	}
}

func (r *run) block(a account, span time.Duration) {
	if !r.ok() {
		return
	}
	if err := r.s.Block(r.ctx, a.charge(0), span); err != nil {
		r.fail("Block for %v: %w", span, err)
	}
}

// patience is how long a call may hang before it counts as a deadlock.
const patience = 20 * time.Second

// parallel runs n goroutines, each with a run of its own, and waits for them.
func (r *run) parallel(n int, f func(i int, r *run)) {
	if !r.ok() {
		return
	}
	ctx, cancel := context.WithTimeout(r.ctx, patience)
	defer cancel()
	runs := make([]*run, n)
	var group sync.WaitGroup
	for i := range runs {
		runs[i] = newRun(ctx, r.s)
		group.Go(func() { f(i, runs[i]) })
	}
	group.Wait()
	for _, other := range runs {
		if other.err != nil && r.ok() {
			r.err = other.err
		}
	}
	r.want(ctx.Err() == nil, "%d goroutines were still calling after %v: %v", n, patience, ctx.Err())
}
