package algo

import (
	"fmt"
	"sync/atomic"
	"time"
)

// A calendar finds windows of whole local days and months.
//
// Local midnight is not a fixed distance from the last one, may not exist and
// may come twice. A window starts at the first instant whose local date is its
// first date, and ends where the next one starts.
type calendar struct {
	zone  *time.Location
	days  int64 // 0: months
	cache atomic.Pointer[bounds]
}

// bounds are a window [start, end), in microseconds.
type bounds struct{ start, end int64 }

func newCalendar(s Spec) *calendar {
	c := &calendar{zone: s.Zone}
	if c.zone == nil {
		c.zone = time.UTC
	}
	if s.Period != Month {
		c.days = int64(s.Period / Day)
	}
	return c
}

// bounds returns the window that contains now. The last answer is kept: a day
// has one, and working it out costs more than a decision.
func (c *calendar) bounds(now int64) (start, end int64) {
	if b := c.cache.Load(); b != nil && b.start <= now && now < b.end {
		return b.start, b.end
	}
	b := c.find(now)
	c.cache.Store(&b)
	return b.start, b.end
}

func (c *calendar) find(now int64) bounds {
	local := time.UnixMicro(now).In(c.zone)
	first := c.firstDate(local)
	b := bounds{c.startOf(first), c.startOf(c.next(first))}
	for now >= b.end { // a date that went back over midnight belongs to the window already begun
		first = c.next(first)
		b = bounds{b.end, c.startOf(c.next(first))}
	}
	return b
}

// firstDate returns the date on which the window of t's date begins, as
// midnight in UTC: dates are then 24 hours apart.
func (c *calendar) firstDate(t time.Time) time.Time {
	y, m, d := t.Date()
	if c.days == 0 {
		return time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
	}
	number := time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / int64(Day/time.Second)
	past := number % c.days
	if past < 0 { // west of Greenwich the epoch falls on the last day of 1969
		past += c.days
	}
	return time.Unix((number-past)*int64(Day/time.Second), 0).UTC()
}

func (c *calendar) next(first time.Time) time.Time {
	if c.days == 0 {
		return first.AddDate(0, 1, 0)
	}
	return first.AddDate(0, 0, int(c.days))
}

// startOf returns the first instant at which the local date is date or later.
func (c *calendar) startOf(date time.Time) int64 {
	y, m, d := date.Date()
	guess := time.Date(y, m, d, 0, 0, 0, 0, c.zone)
	before, after := guess.ZoneBounds()
	// The start is midnight under one of the offsets in force around it, or the
	// very transition that skips midnight.
	best := time.Time{}
	try := func(t time.Time) {
		if c.begins(t, date) && (best.IsZero() || t.Before(best)) {
			best = t
		}
	}
	try(guess)
	for _, edge := range [...]time.Time{before, after} {
		if edge.IsZero() {
			continue
		}
		try(edge)
		for _, side := range [...]time.Time{edge.Add(-1), edge} {
			_, offset := side.In(c.zone).Zone()
			try(date.Add(-time.Duration(offset) * time.Second))
		}
	}
	if best.IsZero() {
		return guess.UnixMicro()
	}
	return best.UnixMicro()
}

// begins reports whether the local date becomes date, or a later one, at t.
func (c *calendar) begins(t, date time.Time) bool {
	return !c.dateOf(t).Before(date) && c.dateOf(t.Add(-1)).Before(date)
}

func (c *calendar) dateOf(t time.Time) time.Time {
	y, m, d := t.In(c.zone).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// zoneKey tells zones apart by name and by the offsets they have in two
// seasons, since fixed zones may share a name.
func zoneKey(zone *time.Location) string {
	if zone == nil {
		return ""
	}
	winter := time.Date(2024, 1, 1, 0, 0, 0, 0, zone)
	summer := time.Date(2024, 7, 1, 0, 0, 0, 0, zone)
	_, w := winter.Zone()
	_, s := summer.Zone()
	return fmt.Sprintf("%s/%d/%d", zone, w, s)
}
