package storetest

import (
	"sync/atomic"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

func penaltyCases() []Case {
	return []Case{
		one("PenaltyBlocks", "A key that is denied After times Within a span is blocked for Block, and the denial that starts the block says so.", Penalties, penaltyBlocks),
		one("PenaltyEnds", "A block ends exactly when it was said to, and denials during a block do not extend it.", Penalties, penaltyEnds),
		one("PenaltySpan", "Only denials within any span of Within are counted together.", Penalties|exactTime, penaltySpan),
		one("PenaltyOfItsOwnDenials", "A denial counts for the limits that deny, and not for those that would have granted.", Penalties, penaltyOfItsOwn),
		one("PenaltyRetryAfter", "RetryAfter of a blocked charge is the wait after which it is granted: the block or the quota, whichever is longer.", Penalties|exactTime, penaltyRetryAfter),
		one("PenaltyOfAShadow", "A penalty of a Shadow charge is only reported.", Penalties, penaltyOfAShadow),
		one("PenaltyStorm", "However many denials come at once, exactly After of them start the block.", Penalties, penaltyStorm),
	}
}

// penaltyOf blocks after so many denials within a span, for ten times as long: for
// longer than any quota with that period takes to come back.
func penaltyOf(after int64, within time.Duration) algo.Penalty {
	return algo.Penalty{After: after, Within: within, Block: 10 * within}
}

// deniesBlocked wants one unit denied by a block that still lasts for so long.
func (r *run) deniesBlocked(a account, left time.Duration, why string) {
	r.blockedResult(r.takeOne(a.charge(1)), left, "Take("+describe(a.charge(1))+")", why)
}

func (r *run) blockedResult(got core.Result, left time.Duration, call, why string) {
	r.want(!got.Granted, "%s was granted, want blocked: %s", call, why)
	r.want(got.Blocked, "%s does not say Blocked: %s", call, why)
	r.want(got.Remaining == 0, "%s says Blocked with %d remaining, and nothing would pass now: %s", call, got.Remaining, why)
	if left > 0 {
		r.same(got.RetryAfter, left, "%s: RetryAfter (%s)", call, why)
	}
}

func penaltyBlocks(r *run) {
	for _, k := range r.kindsAtHand() {
		a := r.open(k.spec(2, r.long())).with(penaltyOf(3, r.long()))
		r.drain(a)
		for range 5 {
			r.want(!r.peekOne(a.charge(1)).Blocked, "%s: Peek says Blocked, and denials of Peek do not count", k.name)
		}
		r.deniesPlainly(a, "the first of 3 denials")
		r.deniesPlainly(a, "the second of 3 denials")
		r.deniesBlocked(a, a.penalty.Block, "the third of 3 denials")
		r.deniesBlocked(a, a.penalty.Block, "the block has begun")
		r.blockedResult(r.peekOne(a.charge(1)), a.penalty.Block, "Peek", "the block has begun")
		other := r.openFor(a, k.spec(2, r.long())).with(*a.penalty)
		r.grants(other, 1, 1, "another key is blocked")
		both := r.take(other.charge(1), a.charge(1))
		r.want(both[0].Granted && !both[0].Blocked, "%s: a charge beside a blocked one says granted: %v, blocked: %v", k.name, both[0].Granted, both[0].Blocked)
		r.left(other, 1, "a blocked charge denies the call, which spends nothing")
	}
}

func penaltyEnds(r *run) {
	const block = 150 * time.Millisecond
	a := r.open(tokenBucket.spec(1, 20*time.Millisecond)).with(algo.Penalty{After: 2, Within: r.long(), Block: block})
	r.blockByDenials(a)
	start := r.s.now()
	told := r.peekOne(a.charge(1)).RetryAfter
	end := r.s.now().Add(told)
	for i := range 5 { // by now the quota itself would grant, and the block does not
		r.sleep(told / 10)
		got := r.takeOne(a.charge(1))
		if r.s.now().Sub(start) < told/2 || r.exact() {
			r.want(got.Blocked, "try %d during a block does not say Blocked", i+1)
		}
	}
	r.sleep(end.Sub(r.s.now()) - time.Microsecond)
	if r.exact() {
		r.deniesBlocked(a, time.Microsecond, "the block ends a microsecond later")
	}
	r.sleep(time.Microsecond)
	if !r.exact() {
		r.sleep(2 * time.Millisecond)
	}
	r.grants(a, 1, 0, "the block is over")
	if r.exact() {
		r.deniesPlainly(a, "denials during the block do not count for the next")
	}
}

// blockByDenials has an account be denied until it is blocked.
func (r *run) blockByDenials(a account) {
	for range 50 {
		if got := r.takeOne(a.charge(1)); got.Blocked || !r.ok() {
			return
		}
	}
	r.fail("%d denials started no block, want one after %d", 49, a.penalty.After)
}

func penaltySpan(r *run) {
	const within = time.Second
	block := 2 * r.long()
	a := r.open(tokenBucket.spec(1, r.long())).with(algo.Penalty{After: 3, Within: within, Block: block})
	r.drain(a)
	for range 6 { // any two of these are within the span, and never three
		r.deniesPlainly(a, "two of these denials at most are within a second")
		r.sleep(within / 2)
	}
	r.sleep(within / 2)
	r.deniesPlainly(a, "the first within a second")
	r.sleep(within/2 - time.Microsecond)
	r.deniesPlainly(a, "the second within a second")
	r.sleep(within / 2)
	r.deniesBlocked(a, block, "the third, a microsecond before the first is a second old")
}

func penaltyOfItsOwn(r *run) {
	penalty := penaltyOf(2, r.long())
	granting := r.open(tokenBucket.spec(5, r.long())).with(penalty)
	empty := r.openFor(granting, fixedWindow.spec(1, r.long())).with(penalty)
	emptyToo := r.openFor(granting, slidingWindow.spec(1, r.long())).with(penalty)
	r.drain(empty)
	r.drain(emptyToo)
	for i := range 3 {
		got := r.take(granting.charge(1), empty.charge(1), emptyToo.charge(1))
		r.want(got[0].Granted && !got[0].Blocked, "a key with 5 left says granted: %v, blocked: %v, after %d denials by other limits", got[0].Granted, got[0].Blocked, i+1)
		r.want(got[1].Blocked == (i > 0) && got[2].Blocked == (i > 0), "after denial %d of 2 two empty keys say Blocked: %v and %v", i+1, got[1].Blocked, got[2].Blocked)
	}
	r.left(granting, 5, "the calls were denied")
}

func penaltyRetryAfter(r *run) {
	for _, k := range r.kindsAtHand() {
		short := r.open(k.spec(2, time.Second)).with(algo.Penalty{After: 1, Within: time.Minute, Block: time.Millisecond})
		r.drain(short)
		got := r.takeOne(short.charge(1))
		r.want(got.Blocked, "%s: the first of 1 denials does not say Blocked", k.name)
		r.want(got.RetryAfter > time.Millisecond, "%s: a blocked charge says retry after %v, and the quota is used up for longer", k.name, got.RetryAfter)
		again := r.takeOne(short.charge(1))
		r.want(again.Blocked && again.RetryAfter == got.RetryAfter, "%s: blocked: %v, retry after %v, and right before %v", k.name, again.Blocked, again.RetryAfter, got.RetryAfter)
		r.sleep(again.RetryAfter)
		r.want(r.takeOne(short.charge(1)).Granted, "%s: a blocked charge was told to retry after %v, did, and is denied", k.name, again.RetryAfter)

		long := r.open(k.spec(2, time.Second)).with(algo.Penalty{After: 1, Within: time.Minute, Block: time.Hour})
		r.drain(long)
		r.deniesBlocked(long, time.Hour, "the first of 1 denials")
		r.sleep(time.Hour - time.Microsecond)
		r.deniesBlocked(long, time.Microsecond, "the block lasts for longer than the quota")
		r.sleep(time.Microsecond)
		r.want(r.takeOne(long.charge(1)).Granted, "%s: a blocked charge is denied after the block", k.name)
	}
}

func penaltyOfAShadow(r *run) {
	shadow := r.open(tokenBucket.spec(1, r.long())).with(penaltyOf(2, r.long()))
	a := r.openFor(shadow, tokenBucket.spec(10, r.long()))
	r.drain(shadow)
	for i := range int64(4) {
		got := r.take(shadowed(shadow.charge(1)), a.charge(1))
		r.want(got[1].Granted, "a charge was denied beside a shadow charge that is penalised")
		r.want(!got[0].Granted && got[0].Blocked == (i > 0), "denial %d of 2 of a shadow charge says granted: %v, blocked: %v", i+1, got[0].Granted, got[0].Blocked)
		r.left(a, 9-i, "a penalty of a shadow charge is only reported")
	}
}

func penaltyStorm(r *run) {
	const after = 40
	a := r.open(tokenBucket.spec(1, r.long())).with(penaltyOf(after, r.long()))
	r.drain(a)
	var plain atomic.Int64
	r.parallel(stormers, func(_ int, r *run) {
		for range stormEach {
			if got := r.takeOne(a.charge(1)); !got.Granted && !got.Blocked {
				plain.Add(1)
			}
		}
	})
	r.want(plain.Load() == after-1, "%d denials were not blocked, want %d: the next starts the block", plain.Load(), after-1)
}
