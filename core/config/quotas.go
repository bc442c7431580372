package config

import (
	"slices"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// A rule is the part of a limit that its quotas are made of. The nodes are nil
// where the file has nothing.
type rule struct {
	algorithmNode, tiers, timezone, align, hold *node
	numbers                                     numbers // of a limit without tiers

	algorithm algo.Algorithm
	unclear   bool // it could not be read, so nothing is said that depends on it
}

// numbers are what one quota consists of.
type numbers struct{ limit, burst, queue, buckets *node }

// fields returns the fields of a limit that its quotas are made of. They are only
// kept: what they mean depends on each other.
func (r *rule) fields() []field {
	return append([]field{
		{name: "algorithm", read: keep(&r.algorithmNode)},
		{name: "tiers", read: keep(&r.tiers)},
		{name: "timezone", read: keep(&r.timezone)},
		{name: "align", read: keep(&r.align)},
		{name: "hold", read: keep(&r.hold)},
	}, r.numbers.fields()...)
}

func (q *numbers) fields() []field {
	return []field{
		{name: "limit", read: keep(&q.limit)},
		{name: "burst", read: keep(&q.burst)},
		{name: "queue", read: keep(&q.queue)},
		{name: "buckets", read: keep(&q.buckets)},
	}
}

func keep(target **node) func(*node) { return func(n *node) { *target = n } }

// quotas reads what each tier gets under the limit n.
func (d *decoder) quotas(n *node, r *rule, l *core.Limit) {
	d.algorithm(r)
	switch {
	case r.tiers != nil:
		l.Tiers = d.tierQuotas(r.tiers, r)
		for _, x := range r.numbers.extras() {
			if x.node != nil {
				d.wrong(x.node, "stands beside tiers, want it in each of them")
			}
		}
		if r.numbers.limit != nil {
			l.Quota = d.limitOf(r.numbers.limit, r) // core says that there is one too many
		}
	case r.numbers != numbers{}:
		l.Quota = d.quota(n, &r.numbers, r)
	default: // core would say it in the words of Go
		d.report(n.place, below(n.path(), "limit"), "is missing, want %s, or a quota for each tier", r.example())
		l.Quota = core.Unlimited
	}
	d.schedule(r, l)
	d.holdOf(r, l)
}

func (d *decoder) algorithm(r *rule) {
	if r.algorithmNode == nil {
		return
	}
	var words []string
	for a := range len(constructors) {
		words = append(words, algo.Algorithm(a).String())
	}
	word := d.word(r.algorithmNode, words...)
	r.algorithm = algo.Algorithm(max(0, slices.Index(words, word)))
	r.unclear = word == ""
}

func (d *decoder) tierQuotas(n *node, r *rule) core.Tiers {
	const want = "a mapping of tiers to quotas, such as {free: 10/s, pro: 100/s}"
	if n.kind == mapping && len(n.items) == 0 {
		d.wrong(n, "is empty, want %s", want)
	}
	tiers := core.Tiers{"*": core.Unlimited} // the placeholder, if there is none
	for _, child := range d.entries(n, want) {
		if child.key != "*" && !d.tierNamed(child.keyAt, child.path(), child.key) {
			continue
		}
		if len(tiers) == 1 {
			delete(tiers, "*")
		}
		d.mention(child, child.key)
		tiers[child.key] = d.tierQuota(child, r)
	}
	return tiers
}

// tierQuota reads a quota: a mapping, or a limit alone.
func (d *decoder) tierQuota(n *node, r *rule) core.Quota {
	switch n.kind {
	case mapping:
		var q numbers
		d.fields(n, q.fields()...)
		return d.quota(n, &q, r)
	case list, null:
		return d.limitOf(n, r)
	}
	short := *n // named like the long form, as core does
	short.parent, short.key = n, "limit"
	return d.limitOf(&short, r)
}

// quota makes the quota whose numbers stand in n. If any of them is wrong it is
// unlimited, of which core has nothing to say.
func (d *decoder) quota(n *node, q *numbers, r *rule) core.Quota {
	before := len(d.findings)
	quota := core.Unlimited
	if q.limit == nil {
		d.report(n.place, below(n.path(), "limit"), "is missing, want %s", r.wantLimit())
	} else {
		quota = d.limitOf(q.limit, r)
	}
	for _, x := range q.extras() {
		if x.node == nil || !d.extraFits(x, q, r) {
			continue
		}
		if v := d.integer(x.node, x.low, x.high); len(d.findings) == before && !r.unclear {
			quota = x.with(quota, v)
		}
	}
	if len(d.findings) > before {
		return core.Unlimited
	}
	return quota
}

// An extra is a number beside the limit. Each is for one algorithm.
type extra struct {
	node      *node
	algorithm algo.Algorithm
	low, high int64
	with      func(core.Quota, int64) core.Quota
}

func (q *numbers) extras() []extra {
	buckets := func(q core.Quota, n int64) core.Quota { return q.WithBuckets(int(n)) }
	return []extra{
		{q.burst, algo.TokenBucket, 1, maxUnits, core.Quota.WithBurst},
		{q.queue, algo.LeakyBucket, 0, maxUnits - 1, core.Quota.WithQueue},
		{q.buckets, algo.SlidingWindow, algo.MinCells, algo.MaxCells, buckets},
	}
}

// extraFits reports an extra that does not belong to the quota.
func (d *decoder) extraFits(x extra, q *numbers, r *rule) bool {
	switch {
	case x.algorithm != r.algorithm && !r.unclear:
		d.wrong(x.node, "is for %v only, and this is a %v", x.algorithm, r.algorithm)
	case q.limit != nil && q.limit.text == unlimited:
		d.wrong(x.node, "stands beside unlimited, want it left out")
	default:
		return true
	}
	return false
}

const unlimited = "unlimited"

// constructors make quotas, by algorithm.
var constructors = [...]func(int64, time.Duration) core.Quota{
	algo.TokenBucket:   core.TokenBucket,
	algo.LeakyBucket:   core.LeakyBucket,
	algo.FixedWindow:   core.FixedWindow,
	algo.SlidingWindow: core.SlidingWindow,
	algo.SlidingLog:    core.SlidingLog,
	algo.Concurrency:   func(n int64, _ time.Duration) core.Quota { return core.Concurrency(n) },
}

// limitOf reads the limit of a quota, unlimited if it is wrong.
func (d *decoder) limitOf(n *node, r *rule) core.Quota {
	before := len(d.findings)
	units, period := d.unitsOf(n, r)
	if n.text == unlimited || r.unclear || len(d.findings) > before {
		return core.Unlimited
	}
	return constructors[r.algorithm](units, period)
}

// unitsOf reads a number for concurrency and a rate for all others. A bare 0
// needs no period to say that nothing is allowed.
func (d *decoder) unitsOf(n *node, r *rule) (int64, time.Duration) {
	switch {
	case n.kind == text && n.text == unlimited:
		return 0, 0
	case n.kind == number && n.text == "0":
		return 0, r.anyPeriod()
	case n.kind == number && (r.unclear || r.algorithm == algo.Concurrency):
		return d.integer(n, 0, maxUnits), 0
	case n.kind != text || r.algorithm == algo.Concurrency:
		d.reject(n, r.wantLimit())
		return 0, 0
	}
	units, period, err := parseRate(n.text)
	if err != nil {
		d.wrong(n, "%s, %v", n.describe(), err)
	}
	return units, period
}

// anyPeriod is a period with which the rest of the limit can make sense: a time
// zone needs days.
func (r *rule) anyPeriod() time.Duration {
	if r.algorithm == algo.FixedWindow {
		return algo.Day
	}
	return time.Second
}

func (r *rule) wantLimit() string { return r.example() + ", or unlimited" }

// example says how a limit is written.
func (r *rule) example() string {
	if r.algorithm == algo.Concurrency {
		return "a plain number such as 10"
	}
	return "N/period such as 10/s"
}
