package storetest

import "strings"

// A Claim is a part of the contract that a store may do without, as long as its
// harness says so. A harness starts by claiming everything.
type Claim uint

const (
	// Wide: quotas whose state is a log, which are sliding logs and sliding
	// windows of cells.
	Wide Claim = 1 << iota

	// Queues: charges with MaxDelay.
	Queues

	// Penalties: limits with a penalty, and Block.
	Penalties

	// OneStep: the charges of one call are decided in one step. A store without
	// it never admits too much, but may deny wrongly while another call is under
	// way. Its Traits say Splits.
	OneStep

	// Numbers: remaining, waits and refunds are those of the quota itself. A store
	// without it holds units that nobody has asked for yet. Its Traits say
	// Prefetches.
	Numbers

	// Slots: concurrency limits.
	Slots

	// exactTime: a span can be awaited to the microsecond. Harnesses in real time
	// lack it by nature.
	exactTime
)

var claimNames = []string{"Wide", "Queues", "Penalties", "OneStep", "Numbers", "Slots", "exact time"}

// String returns the names of the claims in c.
func (c Claim) String() string {
	var names []string
	for i, name := range claimNames {
		if c&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, "|")
}
