package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/tidegate/tidegate/core"
)

func lifeCases() []Case {
	list := each(allKinds, "IdleKeysComeBack",
		"A key that was left alone for long enough is like one never used, and until then its spending is remembered, whatever other keys do.", exactTime|Numbers, idleKeysComeBack)
	return append(list,
		one("TraitsAreDeclared", "Traits do not change, and say no more than the harness does.", 0, traitsAreDeclared),
		one("CanceledContext", "A call whose context has ended decides rightly or says so with an error, and never grants too much.", 0, canceledContext),
		one("CanceledStorm", "Callers that give up in the middle of their calls do not make units.", 0, canceledStorm),
		one("CloseTwice", "A store may be closed more than once, and used after that without harm.", 0, closeTwice),
		one("CloseInUse", "A store may be closed while it is used.", 0, closeInUse),
	)
}

// idleKeysComeBack spends different numbers of many keys, and looks at each of
// them once, at different times and between strangers.
func idleKeysComeBack(r *run, k kind) {
	const n, period = 10, time.Second
	twin := newModel()
	var accounts []account
	for i := range int64(40) {
		a := r.open(k.spec(n, period))
		r.grants(a, 1+i%n, n-1-i%n, "nobody has used the key")
		r.modelTake(twin, a.charge(1+i%n))
		accounts = append(accounts, a)
	}
	stranger := r.quota(k.spec(2, period/4))
	for i := range accounts {
		for range 50 {
			r.takeOne(account{limit: "strangers", key: randomKey(), quota: stranger}.charge(1))
		}
		r.sleep(period/13 + time.Duration(i)*time.Microsecond)
		a := accounts[i]
		want := r.modelTake(twin, a.charge(2))
		got := r.takeOne(a.charge(2))
		r.want(got.Granted == want.Granted && got.Remaining == want.Remaining,
			"Take(%s), long after the key was used, says granted: %v with %d remaining, want %v with %d",
			describe(a.charge(2)), got.Granted, got.Remaining, want.Granted, want.Remaining)
	}
	r.sleep(3 * period)
	for _, a := range accounts {
		fresh := r.peekOne(a.charge(1))
		r.want(fresh.NextAfter == 0 && fresh.ResetAfter == 0, "a key that was left alone shows %s", numbers(fresh))
		r.holds(a, n, "the key was left alone for long")
	}
}

func (r *run) modelTake(m *model, c core.Charge) core.Result {
	results := make([]core.Result, 1)
	m.take(r.s.now().UnixMicro(), []core.Charge{c}, results)
	return results[0]
}

func traitsAreDeclared(r *run) {
	traits := r.s.Traits()
	r.want(!traits.Splits || r.lacks(OneStep), "Traits say Splits, and the harness does not lack OneStep")
	r.want(!traits.Prefetches || r.lacks(Numbers), "Traits say Prefetches, and the harness does not lack Numbers")
	a := r.open(tokenBucket.spec(1, r.long()))
	r.drain(a)
	r.denies(a, 1, 0, "everything is spent")
	r.want(r.s.Traits() == traits, "Traits are %+v, and were %+v", r.s.Traits(), traits)
}

func canceledContext(r *run) {
	for _, k := range r.kindsAtHand() {
		a := r.open(k.spec(10, r.long()))
		spent, unsure := r.takeCanceled(a, 3)
		left := r.peekOne(a.charge(1)).Remaining
		r.want(left == 10-spent || left == 10-spent-unsure,
			"%s: %d remain after a canceled Take that reports %d spent, and perhaps %d more", k.name, left, spent, unsure)
		r.drainRest(a)
		spent, _ = r.takeCanceled(a, 1)
		r.want(spent == 0, "%s: a canceled Take of an empty key was granted", k.name)
		r.denies(a, 1, 0, "everything is spent")
	}
}

func (r *run) drainRest(a account) {
	c := a.charge(0)
	c.Extra = a.quota.Capacity()
	r.takeOne(c)
}

// takeCanceled takes with a context that has ended. It returns what was granted,
// and what may have been spent beside that.
func (r *run) takeCanceled(a account, cost int64) (spent, unsure int64) {
	if !r.ok() {
		return 0, 0
	}
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	return r.takeUnder(ctx, a, cost)
}

func (r *run) takeUnder(ctx context.Context, a account, cost int64) (spent, unsure int64) {
	results := make([]core.Result, 1)
	err := r.s.Take(ctx, []core.Charge{a.charge(cost)}, results)
	switch {
	case err == nil && results[0].Granted && !results[0].Unknown:
		return cost, 0
	case err == nil:
		return 0, 0
	}
	return 0, r.maybeSpent(err, cost)
}

// maybeSpent checks the shape of a store's error and returns what it may have cost.
func (r *run) maybeSpent(err error, cost int64) int64 {
	var failure *core.StoreError
	if !errors.Is(err, core.ErrStore) || !errors.As(err, &failure) {
		r.fail("the error %q matches no core.ErrStore, or is no *core.StoreError", err)
		return 0
	}
	if failure.MaybeSpent {
		return cost
	}
	return 0
}

func canceledStorm(r *run) {
	const n = 100
	a := r.open(tokenBucket.spec(n, r.long()))
	var spent, unsure atomic.Int64
	r.parallel(stormers, func(i int, r *run) {
		for c := range stormEach {
			ctx, cancel := context.WithCancel(r.ctx)
			if (i+c)%3 == 0 {
				go cancel()
			}
			s, u := r.takeUnder(ctx, a, 1)
			cancel()
			spent.Add(s)
			unsure.Add(u)
		}
	})
	r.want(spent.Load() <= n, "%d units were granted, of %d", spent.Load(), n)
	left := r.peekOne(a.charge(1)).Remaining
	r.want(n-left >= spent.Load() && n-left <= spent.Load()+unsure.Load(),
		"%d of %d remain after %d were granted and %d may have been", left, n, spent.Load(), unsure.Load())
}

func closeTwice(r *run) {
	a := r.open(tokenBucket.spec(10, r.long()))
	got := r.grants(a, 1, 9, "nobody has used the key")
	for i := range 2 {
		err := r.s.Close()
		r.want(err == nil, "Close number %d: %v", i+1, err)
		r.afterClose(a, got)
	}
}

// afterClose uses a closed store: it may answer or fail, and must do either well.
func (r *run) afterClose(a account, earlier core.Result) {
	results := make([]core.Result, 1)
	list := []core.Charge{a.charge(1)}
	for name, err := range map[string]error{
		"Take":  r.s.Take(r.ctx, list, results),
		"Peek":  r.s.Peek(r.ctx, list, results),
		"Give":  r.s.Give(r.ctx, []core.Refund{a.refund(1, earlier.Receipt)}),
		"Reset": r.s.Reset(r.ctx, list),
	} {
		r.want(err == nil || errors.Is(err, core.ErrStore), "%s after Close: the error %q matches no core.ErrStore", name, fmt.Sprint(err))
	}
}

func closeInUse(r *run) {
	const n = 100
	a := r.open(tokenBucket.spec(n, r.long()))
	var granted atomic.Int64
	r.parallel(8, func(i int, r *run) {
		for c := range 20 {
			if i == 0 && c == 10 {
				err := r.s.Close()
				r.want(err == nil, "Close: %v", err)
			}
			spent, _ := r.takeUnder(r.ctx, a, 1)
			granted.Add(spent)
		}
	})
	r.want(granted.Load() <= n, "%d units were granted, of %d", granted.Load(), n)
}
