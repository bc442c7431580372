package config

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// limits reads the table. It is never nil: core takes that for a missing one.
func (d *decoder) limits(n *node) []core.Limit {
	all := []core.Limit{}
	for _, item := range d.listOrNone(n, "a list of limits, or [] to say none") {
		all = append(all, d.limit(item))
	}
	if len(d.tiers) == 0 {
		forEverybody(all)
	}
	return all
}

// forEverybody makes the quota of "*" the only one, where nobody names a tier
// that it could stand beside.
func forEverybody(limits []core.Limit) {
	for i := range limits {
		l := &limits[i]
		if q, found := l.Tiers["*"]; found && l.Quota == (core.Quota{}) {
			l.Quota, l.Tiers = q, nil
		}
	}
}

// limit reads one limit. One that is no mapping becomes a harmless one, so that
// the others keep their numbers.
func (d *decoder) limit(n *node) core.Limit {
	if n.kind != mapping {
		d.reject(n, "a mapping such as {name: per-ip, key: ip, limit: 500/s}")
		return core.Limit{Name: placeholderName(n), Quota: core.Unlimited}
	}
	var l core.Limit
	var r rule
	d.fields(n, slices.Concat(d.identityFields(&l), d.actionFields(&l), r.fields())...)
	d.quotas(n, &r, &l)
	return l
}

// placeholderName is a name that no other limit has.
func placeholderName(n *node) string { return fmt.Sprintf("%s-%d-%d", placeholder, n.line, n.column) }

// identityFields say what a limit is, and what it counts.
func (d *decoder) identityFields(l *core.Limit) []field {
	return []field{
		{name: "name", read: func(n *node) {
			if l.Name = d.text(n, "a name"); l.Name == "" {
				l.Name = placeholderName(n)
			}
		}},
		{name: "match", read: into(&l.Match, d.routes)},
		{name: "except", read: into(&l.Except, func(n *node) []string {
			return d.texts(d.listOrNone(n, wantRoutes), "a route", "/")
		})},
		{name: "key", read: into(&l.Keys, d.keys)},
		{name: "cost", read: into(&l.Cost, within[int64](d, 1, math.MaxInt64))},
		{name: "stage", read: into(&l.Stage, func(n *node) core.Stage {
			stage, _ := core.ParseStage(d.word(n, "main", "early")) // that of "" is of no use
			return stage
		})},
		{name: "charge", read: func(n *node) { l.Manual = d.word(n, "auto", "manual") == "manual" }},
	}
}

// actionFields say what becomes of the requests of a limit.
func (d *decoder) actionFields(l *core.Limit) []field {
	unclear := false // what exceeded says
	return []field{
		{name: "store_failure", read: into(&l.StoreFailure, d.failure)},
		{name: "exceeded", read: func(n *node) {
			word := d.word(n, "reject", "wait", "shadow", "fallback")
			if unclear = word == ""; unclear {
				word = "reject" // whose fields core does not miss
			}
			l.Exceeded, _ = core.ParseExceeded(word)
		}},
		{name: "max_wait", read: func(n *node) {
			if span := d.span(n, forever); !unclear {
				l.MaxWait = span
			}
		}},
		{name: "count", read: into(&l.Count, d.count)},
		{name: "penalty", read: into(&l.Penalty, d.penalty)},
		{name: "prefetch", read: into(&l.Prefetch, d.prefetch)},
		{name: "hidden", read: into(&l.Visibility, func(n *node) core.Visibility {
			if d.boolean(n) {
				return core.Hidden
			}
			return core.Visible
		})},
	}
}

func (d *decoder) failure(n *node) core.FailurePolicy {
	policy, _ := core.ParseFailurePolicy(d.word(n, "open", "closed", "local"))
	return policy
}

// keys reads one part of a key or a list of them.
func (d *decoder) keys(n *node) []core.KeyPart {
	const want = "principal, ip, route, global or header:NAME"
	items := []*node{n}
	if n.kind == list {
		items = d.list(n, want+", or a list of them")
	}
	var all []core.KeyPart
	for i, item := range items {
		part, err := core.ParseKeyPart(d.text(item, want))
		if err != nil {
			if item.kind == text && item.text != "" {
				d.reject(item, want)
			}
			part = core.ByHeader(fmt.Sprintf("%s-%d", placeholder, i))
		}
		all = append(all, part)
	}
	return all
}

// count reads the statuses whose charges are kept. Core is given the good ones.
func (d *decoder) count(n *node) (statuses []int) {
	first := map[int64]bool{}
	d.fields(n, field{name: "status", want: "a list of statuses such as [401, 403]", read: func(n *node) {
		for _, item := range d.list(n, "a list of statuses such as [401, 403]") {
			status := d.integer(item, 200, 599) // 0 is wrong
			switch {
			case first[status]:
				d.wrong(item, "repeats %d, want each once", status)
			case status != 0:
				first[status] = true
				statuses = append(statuses, int(status))
			}
		}
	}})
	return statuses
}

// penalty reads a penalty, nil after an error.
func (d *decoder) penalty(n *node) *algo.Penalty {
	var p algo.Penalty
	span := func(v *time.Duration) func(*node) { return into(v, d.upTo(algo.MaxPeriod)) }
	d.fields(n,
		field{name: "after", read: into(&p.After, within[int64](d, 1, algo.MaxPenalty)), want: "a number of denials"},
		field{name: "within", read: span(&p.Within), want: "a duration such as 1m"},
		field{name: "block", read: span(&p.Block), want: "a duration such as 15m"},
	)
	if p.Check() != nil {
		return nil // has been reported, the bounds are the same
	}
	return &p
}

// prefetch reads the share of a quota that may be fetched ahead.
func (d *decoder) prefetch(n *node) float64 {
	if n.kind == mapping {
		share := 0.0
		d.fields(n, field{name: "max_fraction", read: into(&share, d.fraction), want: "a share such as 0.1"})
		return share
	}
	if n.kind != text || n.text != "off" {
		d.reject(n, "off or {max_fraction: 0.1}")
	}
	return core.NoPrefetch
}
