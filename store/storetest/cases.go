package storetest

import (
	"context"
	"slices"
)

// Cases returns every case of the suite, in the order in which they are best
// mended: a store that fails the first of them fails most of the others too.
func Cases() []Case {
	return slices.Concat(
		countCases(),
		keyCases(),
		batchCases(),
		stormCases(),
		retryCases(),
		paceCases(),
		extraCases(),
		queueCases(),
		shadowCases(),
		peekCases(),
		giveCases(),
		giveBackCases(),
		resetCases(),
		penaltyCases(),
		blockCases(),
		slotCases(),
		changeCases(),
		rolloutCases(),
		sliceCases(),
		lifeCases(),
		walkCases(),
	)
}

// one makes a case of its check.
func one(name, rule string, needs Claim, check func(r *run)) Case {
	return Case{Name: name, Rule: rule, Needs: needs, Check: func(ctx context.Context, s *Subject) error {
		r := newRun(ctx, s)
		check(r)
		return r.err
	}}
}

// each makes a case for each way of counting.
func each(kinds []kind, name, rule string, needs Claim, check func(r *run, k kind)) (list []Case) {
	for _, k := range kinds {
		list = append(list, one(name+"/"+k.name, rule, needs|k.needs, func(r *run) { check(r, k) }))
	}
	return list
}
