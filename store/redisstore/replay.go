package redisstore

import (
	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// The script decides and writes, and says what it found. What each request was
// answered follows from that by the same arithmetic, so it is worked out here, where
// it costs the server nothing.

// replay answers every request of a sheet.
func (s *sheet) replay(now int64) {
	for i := range s.lines {
		s.answerAll(&s.lines[i], now)
	}
}

func (s *sheet) answerAll(ln *line, now int64) {
	for _, r := range ln.requests {
		s.answer(ln, r, now)
	}
}

func (s *sheet) answer(ln *line, r *request, now int64) {
	if len(r.charges) == 1 && r.plain && r.commit && !r.part {
		s.answerOne(&s.cells[ln.cells[0]], &r.charges[0], &r.results[0], now)
		return
	}
	for _, at := range ln.cells {
		s.cells[at].draft, s.cells[at].asked = s.cells[at].state, 0
	}
	allowed := true
	for _, shadow := range [...]bool{false, true} {
		for i := range r.charges {
			if r.charges[i].Shadow != shadow {
				continue
			}
			s.judge(ln, r, i, now)
			allowed = allowed && (r.results[i].Granted || shadow)
		}
	}
	if allowed && r.commit {
		if r.part {
			s.foresee(ln, r, now)
		}
		s.commit(ln, r, now)
	} else {
		s.tellUnspent(ln, r, now)
	}
	if r.commit && ln.records != nil {
		s.countDenials(ln, r, now)
	}
}

// answerOne answers the most common request: one charge, and nothing special.
func (s *sheet) answerOne(c *cell, charge *core.Charge, result *core.Result, now int64) {
	var o algo.Outcome
	if c.log != nil {
		o = charge.Quota.TakeLog(c.log, now, algo.Ask{Cost: charge.Cost})
	} else {
		c.state, o = charge.Quota.Take(c.state, now, algo.Ask{Cost: charge.Cost})
	}
	result.Fill(&o)
}

// judge decides one charge on top of what the request's earlier ones want.
func (s *sheet) judge(ln *line, r *request, i int, now int64) {
	c, charge := &s.cells[ln.cells[i]], &r.charges[i]
	var o algo.Outcome
	if left := s.blocked(ln, i, now); left > 0 {
		_, o = c.peek(charge, now, charge.Ask())
		r.results[i] = core.Result{
			Blocked:    true,
			RetryAfter: core.Span(max(left, o.RetryAfter)),
			NextAfter:  core.Span(max(left, o.NextAfter)),
			ResetAfter: core.Span(max(left, o.ResetAfter)),
		}
		return
	}
	if !c.wide() {
		c.draft, o = charge.Quota.Take(c.draft, now, charge.Ask())
		r.results[i].Fill(&o)
		return
	}
	want := charge.Ask()
	if want.Cost <= charge.Quota.Capacity() { // larger ones are denied, and may overflow
		want.Cost += c.asked
	}
	_, o = c.peek(charge, now, want)
	r.results[i].Fill(&o)
	if o.Granted {
		c.asked += charge.Cost + min(charge.Extra, max(0, o.Remaining-want.Cost))
	}
}

func (s *sheet) blocked(ln *line, i int, now int64) int64 {
	if ln.records == nil || ln.records[i] < 0 {
		return 0
	}
	return s.cells[ln.records[i]].record.Blocked(now)
}

func (c *cell) wide() bool { return c.log != nil || c.slots != nil }

func (c *cell) peek(charge *core.Charge, now int64, want algo.Ask) (algo.State, algo.Outcome) {
	switch {
	case c.slots != nil:
		return algo.State{}, charge.Quota.PeekSlot(c.slots, want)
	case c.log != nil:
		return algo.State{}, charge.Quota.PeekLog(c.log, now, want)
	}
	return charge.Quota.Peek(c.state, now, want)
}

// foresee works out the results of a part for the case that it is undone.
func (s *sheet) foresee(ln *line, r *request, now int64) {
	judged := append([]core.Result(nil), r.results...)
	s.tellUnspent(ln, r, now)
	for i := range r.results {
		r.results[i].Delay = 0
	}
	r.unspent = append(r.unspent[:0], r.results...)
	copy(r.results, judged)
}

// commit spends what was granted. A draft is already what it comes to.
func (s *sheet) commit(ln *line, r *request, now int64) {
	for _, shadow := range [...]bool{false, true} {
		for i := range r.charges {
			c, charge := &s.cells[ln.cells[i]], &r.charges[i]
			if charge.Shadow != shadow || !r.results[i].Granted {
				continue
			}
			var o algo.Outcome
			switch {
			case c.slots != nil:
				o = charge.Quota.TakeSlot(c.slots, charge.Slot, charge.Ask())
			case c.log != nil:
				o = charge.Quota.TakeLog(c.log, now, charge.Ask())
			default:
				c.state = c.draft
				continue
			}
			r.results[i].Fill(&o)
		}
	}
}

// tellUnspent rewrites the results of a request that spends nothing: what remains is
// what there is without it.
func (s *sheet) tellUnspent(ln *line, r *request, now int64) {
	for i := range r.charges {
		result := &r.results[i]
		if result.Blocked {
			continue
		}
		c, charge := &s.cells[ln.cells[i]], &r.charges[i]
		_, o := c.peek(charge, now, charge.Ask())
		granted, retry, delay := result.Granted, result.RetryAfter, result.Delay
		result.Fill(&o)
		result.Granted, result.RetryAfter, result.Delay = granted, retry, delay
	}
}

// countDenials counts denials against limits with a penalty. The denial that starts
// a block says so already.
func (s *sheet) countDenials(ln *line, r *request, now int64) {
	for i := range r.charges {
		result, p := &r.results[i], r.charges[i].Penalty
		if p == nil || result.Granted || result.Blocked {
			continue
		}
		if left := core.Span(s.cells[ln.records[i]].record.Denied(*p, now)); left > 0 {
			result.Blocked, result.Remaining = true, 0
			result.RetryAfter = max(result.RetryAfter, left)
			result.NextAfter, result.ResetAfter = max(result.NextAfter, left), max(result.ResetAfter, left)
		}
	}
}
