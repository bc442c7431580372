package storetest

import "time"

func blockCases() []Case {
	return []Case{
		one("Block", "Block denies a key everything for a span, and spends nothing of it.", Penalties, blockDenies),
		one("BlockReleases", "Block for a span of 0 releases the key.", Penalties, blockReleases),
		one("BlockAgain", "A later Block replaces the one before.", Penalties, blockAgain),
		one("BlockEnds", "A block ends exactly when it was said to.", Penalties|exactTime, blockEnds),
	}
}

func blockDenies(r *run) {
	for _, k := range r.kindsAtHand() {
		a := r.open(k.spec(5, r.long())).with(penaltyOf(3, r.long()))
		other := r.openFor(a, k.spec(5, r.long())).with(*a.penalty)
		r.grants(a, 2, 3, "nobody has used the key")
		r.block(a, 3*time.Hour)
		for range 4 {
			r.deniesBlocked(a, 3*time.Hour, "the key is blocked")
		}
		r.blockedResult(r.peekOne(a.charge(1)), 3*time.Hour, "Peek", "the key is blocked")
		r.grants(other, 1, 4, "another key is blocked")
		got := r.take(other.charge(1), a.charge(1))
		r.want(got[0].Granted, "%s: a charge beside a blocked one says denied", k.name)
		r.left(other, 4, "a blocked charge denies the call")
		r.block(a, 0)
		r.holds(a, 3, "a block spends nothing")
	}
}

func blockReleases(r *run) {
	a := r.open(tokenBucket.spec(2, r.long())).with(penaltyOf(3, r.long()))
	r.block(a, 0)
	r.drain(a)
	r.blockByDenials(a)
	r.block(a, 0)
	r.deniesPlainly(a, "the block was released, and the quota is used up")
}

func blockAgain(r *run) {
	a := r.open(tokenBucket.spec(2, r.long())).with(penaltyOf(3, r.long()))
	for _, span := range []time.Duration{2 * time.Hour, 5 * time.Hour, time.Hour} {
		r.block(a, span)
		r.deniesBlocked(a, span, "the newest block counts")
	}
}

func blockEnds(r *run) {
	for _, k := range r.kindsAtHand() {
		a := r.open(k.spec(2, r.long())).with(penaltyOf(3, r.long()))
		r.block(a, time.Second)
		r.sleep(time.Second - time.Microsecond)
		r.deniesBlocked(a, time.Microsecond, "the block ends a microsecond later")
		r.sleep(time.Microsecond)
		r.grants(a, 1, 1, "the block is over")
	}
}
