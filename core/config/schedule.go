package config

import (
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// schedule reads when windows begin. Core would name a tier for what stands once
// in the limit, so it is all checked here.
func (d *decoder) schedule(r *rule, l *core.Limit) {
	first := d.alignment(r, l)
	zone := d.zone(r)
	if zone != nil && r.zoneFits(d, l) {
		each(l, func(q core.Quota) core.Quota {
			if !calendar(q) {
				return q // shorter windows begin by the epoch everywhere
			}
			return q.In(zone)
		})
	}
	if first {
		each(l, core.Quota.FromFirstRequest)
	}
}

// alignment reads align and returns whether windows begin with a key's first
// request.
func (d *decoder) alignment(r *rule, l *core.Limit) bool {
	if r.align == nil || d.word(r.align, "first-request") == "" || r.unclear {
		return false
	}
	months := false
	each(l, func(q core.Quota) core.Quota {
		months = months || q.Spec().Period == core.Month
		return q
	})
	switch {
	case r.algorithm != algo.FixedWindow:
		d.wrong(r.align, "is for fixed-window only, and this is a %v", r.algorithm)
	case months:
		d.wrong(r.align, "stands beside a month, want calendar months to begin on the first")
	default:
		return true
	}
	return false
}

// zone reads the time zone, nil if there is none.
func (d *decoder) zone(r *rule) *time.Location {
	const want = "a zone of the IANA database such as Europe/Berlin"
	if r.timezone == nil {
		return nil
	}
	name := d.text(r.timezone, want)
	if name == "" {
		return nil
	}
	if name == "Local" {
		d.reject(r.timezone, want+": the local one is another on every machine")
		return nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		d.reject(r.timezone, want+" that this system knows (a program that imports time/tzdata knows them all)")
		return nil
	}
	return zone
}

// zoneFits reports a time zone that would change nothing.
func (r *rule) zoneFits(d *decoder, l *core.Limit) bool {
	counted, days := false, false
	each(l, func(q core.Quota) core.Quota {
		counted, days = true, days || calendar(q)
		return q
	})
	switch {
	case r.unclear:
	case r.algorithm != algo.FixedWindow:
		d.wrong(r.timezone, "is for fixed-window only, and this is a %v", r.algorithm)
	case r.align != nil:
		d.wrong(r.timezone, "stands beside align, with which no window begins at midnight; want one of them")
	case counted && !days:
		d.wrong(r.timezone, "is for windows of a day or more, which no quota of this limit has")
	default:
		return true
	}
	return false
}

// calendar reports whether the windows of q begin at local midnight.
func calendar(q core.Quota) bool {
	return q.Spec().Period == core.Month || q.Spec().Period >= core.Day
}

// each changes the quotas of a limit that count at all.
func each(l *core.Limit, change func(core.Quota) core.Quota) {
	if l.Quota != (core.Quota{}) && !l.Quota.IsUnlimited() {
		l.Quota = change(l.Quota)
	}
	for tier, q := range l.Tiers {
		if !q.IsUnlimited() {
			l.Tiers[tier] = change(q)
		}
	}
}

// holdOf reads how long a slot is held.
func (d *decoder) holdOf(r *rule, l *core.Limit) {
	if r.hold == nil {
		return
	}
	if r.algorithm != algo.Concurrency && !r.unclear {
		d.wrong(r.hold, "is for concurrency only, and this is a %v", r.algorithm)
		return
	}
	l.Hold = d.span(r.hold, forever)
}
