package algo

import (
	"math/bits"
	"time"
)

// The models say what each algorithm must answer, worked out from what it
// promises, over a plain list of everything admitted so far. They are slow, and
// share nothing with the code they check but the tick, without which the same
// question would have two right answers.

// A model is one key's past.
type model interface {
	// room returns how many units fit at now. It is negative when more has been
	// spent than fits.
	room(now int64) int64
	// admit records a grant.
	admit(now, units int64)
	// refund takes back up to units of the i-th grant, and returns how many of
	// them still counted at now.
	refund(now int64, i int, units int64) int64
}

func newModel(s Spec, tick int64) model {
	period := s.Period.Microseconds()
	switch {
	case s.Algorithm == TokenBucket:
		return &spanModel{limit: s.Limit, capacity: s.Burst, unit: period / tick, tick: tick}
	case s.Algorithm == LeakyBucket:
		return &spanModel{limit: s.Limit, capacity: s.Queue + 1, unit: period / tick, tick: tick}
	case s.FirstRequest:
		return &ownWindowModel{limit: s.Limit, period: period}
	case s.Algorithm == FixedWindow:
		return &edgeModel{limit: s.Limit, number: windowNumber(s)}
	case s.Cells > 0:
		cell := (period + int64(s.Cells) - 1) / int64(s.Cells)
		return &logModel{limit: s.Limit, grain: cell, life: cell * int64(s.Cells+1)}
	case s.Algorithm == SlidingWindow:
		return &weightModel{limit: s.Limit, period: period, tick: tick}
	default:
		return &logModel{limit: s.Limit, grain: 1, life: period}
	}
}

// admission is one grant.
type admission struct{ at, units int64 }

// spanModel is a bucket by its promise alone: a cost fits unless some span that
// ends now would then hold more than capacity + rate·T. Every span begins at a
// grant; the clock never goes back.
type spanModel struct {
	limit, capacity, unit, tick int64
	log                         []admission // in 1/unit units
}

// clock returns now in whole ticks, and not before the last grant.
func (m *spanModel) clock(now int64) int64 {
	now -= now % m.tick
	if n := len(m.log); n > 0 {
		now = max(now, m.log[n-1].at)
	}
	return now
}

// excess returns the most by which a span that ends now holds more than rate·T, in
// 1/unit units.
func (m *spanModel) excess(now int64) (most int64) {
	now = m.clock(now)
	sum := int64(0)
	for i := len(m.log) - 1; i >= 0; i-- {
		sum += m.log[i].units
		hi, refilled := bits.Mul64(uint64(m.limit), uint64((now-m.log[i].at)/m.tick))
		if hi == 0 && refilled < uint64(sum) {
			most = max(most, sum-int64(refilled))
		}
	}
	return most
}

func (m *spanModel) room(now int64) int64 {
	return floorDiv(m.capacity*m.unit-m.excess(now), m.unit)
}

func (m *spanModel) admit(now, units int64) {
	at := m.clock(now)
	if m.excess(now) == 0 {
		m.log = m.log[:0] // no span that began earlier can count any more
	}
	m.log = append(m.log, admission{at, units * m.unit})
}

func (m *spanModel) refund(int64, int, int64) int64 { panic("a span has no refunds") }

// wait returns how long until the excess has fallen by that much.
func (m *spanModel) wait(now, amount int64) int64 {
	if amount <= 0 {
		return 0
	}
	ticks := amount / m.limit
	if amount%m.limit > 0 {
		ticks++
	}
	return m.clock(now) - now + ticks*m.tick
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// edgeModel is a fixed window by its definition: no window holds more than the
// limit. Windows are numbered, and their numbers never go back.
type edgeModel struct {
	limit  int64
	number func(now int64) int64
	log    []admission // at is the window's number
	last   int64
}

func (m *edgeModel) current(now int64) int64 { return max(m.number(now), m.last) }

func (m *edgeModel) room(now int64) int64 {
	w, left := m.current(now), m.limit
	for i := len(m.log) - 1; i >= 0 && m.log[i].at == w; i-- {
		left -= m.log[i].units
	}
	return left
}

func (m *edgeModel) admit(now, units int64) {
	m.last = m.current(now)
	m.log = append(m.log, admission{m.last, units})
}

func (m *edgeModel) refund(now int64, i int, units int64) int64 {
	if m.log[i].at != m.current(now) {
		return 0
	}
	units = min(units, m.log[i].units)
	m.log[i].units -= units
	return units
}

// windowNumber returns the number of the window that contains an instant: since
// the epoch, or of the local date. Where the local date goes back over midnight,
// the window that had begun goes on.
func windowNumber(s Spec) func(now int64) int64 {
	if s.Period != Month && s.Period < Day {
		return func(now int64) int64 { return now / s.Period.Microseconds() }
	}
	zone := s.Zone
	if zone == nil {
		zone = time.UTC
	}
	number := func(t time.Time) int64 {
		y, m, d := t.Date()
		if s.Period == Month {
			return int64(y)*12 + int64(m)
		}
		return floorDiv(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix(), 86400*int64(s.Period/Day))
	}
	return func(now int64) int64 {
		t := time.UnixMicro(now).In(zone)
		n := number(t)
		if change, _ := t.ZoneBounds(); !change.IsZero() {
			n = max(n, number(change.Add(-1).In(zone)))
		}
		return n
	}
}

// ownWindowModel is a fixed window that begins with a key's first charge.
type ownWindowModel struct {
	limit, period int64
	start         int64 // of the last window
	log           []admission
	first         int // the window's first grant
}

func (m *ownWindowModel) used() (used int64) {
	for _, a := range m.log[m.first:] {
		used += a.units
	}
	return used
}

// running reports whether the last window has not ended at now. One that nobody
// uses was not begun.
func (m *ownWindowModel) running(now int64) bool { return now < m.start+m.period && m.used() > 0 }

func (m *ownWindowModel) room(now int64) int64 {
	if !m.running(now) {
		return m.limit
	}
	return m.limit - m.used()
}

func (m *ownWindowModel) admit(now, units int64) {
	if !m.running(now) {
		m.start, m.first = now, len(m.log)
	}
	m.log = append(m.log, admission{now, units})
}

func (m *ownWindowModel) refund(now int64, i int, units int64) int64 {
	if i < m.first || !m.running(now) {
		return 0
	}
	units = min(units, m.log[i].units)
	m.log[i].units -= units
	return units
}

// weightModel is the sliding window of two counters by its definition: what the
// previous window held counts for the part of it that is less than one period ago.
type weightModel struct {
	limit, period, tick int64
	log                 []admission // at is the window's number
	last                int64       // the last window in which anything was written
}

func (m *weightModel) window(now int64) (number, elapsed int64) {
	number = now / m.period
	if m.last > number {
		return m.last, 0
	}
	return number, (now - number*m.period) / m.tick
}

func (m *weightModel) room(now int64) int64 {
	number, elapsed := m.window(now)
	var previous, current uint64
	for i := len(m.log) - 1; i >= 0 && m.log[i].at >= number-1; i-- {
		if m.log[i].at == number {
			current += uint64(m.log[i].units)
		} else {
			previous += uint64(m.log[i].units)
		}
	}
	whole := uint64(m.period / m.tick)
	hi, lo := bits.Mul64(previous, whole-uint64(elapsed))
	weight, rest := bits.Div64(hi, lo, whole)
	if rest > 0 {
		weight++
	}
	return m.limit - int64(current) - int64(weight)
}

func (m *weightModel) admit(now, units int64) {
	m.last, _ = m.window(now)
	m.log = append(m.log, admission{m.last, units})
}

func (m *weightModel) refund(now int64, i int, units int64) int64 {
	number, _ := m.window(now)
	if m.log[i].at < number-1 {
		return 0
	}
	units = min(units, m.log[i].units)
	m.log[i].units -= units
	return units
}

// logModel is the sliding log, and the sliding window of cells: every grant counts
// for one life from the start of its grain.
type logModel struct {
	limit, grain, life int64
	log                []admission // at is the start of its grain
}

func (m *logModel) clock(now int64) int64 {
	if n := len(m.log); n > 0 {
		now = max(now, m.log[n-1].at)
	}
	return now
}

func (m *logModel) room(now int64) int64 {
	now = m.clock(now)
	left := m.limit
	for i := len(m.log) - 1; i >= 0 && m.log[i].at+m.life > now; i-- {
		left -= m.log[i].units
	}
	return left
}

func (m *logModel) admit(now, units int64) {
	now = m.clock(now)
	m.log = append(m.log, admission{now - now%m.grain, units})
}

func (m *logModel) refund(now int64, i int, units int64) int64 {
	if m.log[i].at+m.life <= m.clock(now) {
		return 0
	}
	units = min(units, m.log[i].units)
	m.log[i].units -= units
	return units
}
