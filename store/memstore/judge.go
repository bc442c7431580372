package memstore

import (
	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// judge decides one charge on top of what the earlier ones of the call want.
func (s *Store) judge(j *job, i int, c *core.Charge, r *core.Result, now int64) {
	p := &j.list[i]
	if c.Penalty != nil {
		if w := p.shard.wide[identityOf(&c.Key)]; w != nil {
			p.blocked = w.record.Blocked(now)
		}
	}
	switch {
	case p.blocked > 0:
		p.inherit(j)
		p.after = p.before
		s.judgeBlocked(p, c, r, now)
	case p.at == inWide:
		s.judgeWide(j, p, c, r, now)
	default:
		p.inherit(j)
		if p.at == nowhere {
			s.refuse(r)
			return
		}
		var o algo.Outcome
		p.after, o = c.Quota.Take(p.before, now, c.Ask())
		p.granted = o.Granted
		r.Fill(&o)
	}
}

// judgeBlocked denies a charge whose key is blocked: until the block ends and the
// quota has what is asked, whichever is later.
func (s *Store) judgeBlocked(p *pending, c *core.Charge, r *core.Result, now int64) {
	var o algo.Outcome
	switch p.at {
	case inWide:
		o = peekWide(p, c, now)
	case nowhere:
	default:
		_, o = c.Quota.Peek(p.before, now, c.Ask())
	}
	*r = core.Result{
		Blocked:    true,
		RetryAfter: core.Span(max(p.blocked, o.RetryAfter)),
		NextAfter:  core.Span(max(p.blocked, o.NextAfter)),
		ResetAfter: core.Span(max(p.blocked, o.ResetAfter)),
	}
}

// inherit takes over the state that an earlier charge of the same key leaves.
func (p *pending) inherit(j *job) {
	if p.same < 0 || p.at == inWide {
		return
	}
	other := &j.list[p.same]
	p.at, p.ref, p.sketch = other.at, other.ref, other.sketch
	p.before = other.before
	if other.granted {
		p.before = other.after
	}
}

// refusedRetry is the hint to a caller who is denied for want of memory. Nobody can
// know when there will be room.
const refusedRetry = 1_000_000

func (s *Store) refuse(r *core.Result) {
	s.stats.refused.Add(1)
	*r = core.Result{RetryAfter: core.Span(refusedRetry), NextAfter: core.Span(refusedRetry)}
}

// judgeWide decides a charge against a log or slots, which change on commit.
func (s *Store) judgeWide(j *job, p *pending, c *core.Charge, r *core.Result, now int64) {
	w := p.shard.wide[identityOf(&c.Key)]
	want := c.Ask()
	if p.same >= 0 && want.Cost <= c.Quota.Capacity() { // larger ones are denied, and may overflow
		want.Cost += j.list[p.same].asked
	}
	o := w.peek(c, now, want)
	p.granted = o.Granted
	r.Fill(&o)
	if p.same >= 0 {
		p.asked = j.list[p.same].asked
	}
	if !o.Granted {
		return
	}
	p.asked += c.Cost + min(c.Extra, max(0, o.Remaining-want.Cost))
	if p.asked > 0 && p.same < 0 {
		p.reserved = growth(w, c.Quota)
		if !s.room.take(p.reserved) {
			p.granted, p.reserved, p.asked = false, 0, 0
			s.refuse(r)
		}
	}
}
