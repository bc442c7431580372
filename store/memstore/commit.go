package memstore

import (
	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// commit spends every charge that was granted.
func (s *Store) commit(j *job, charges []core.Charge, results []core.Result, now int64) {
	for _, i := range j.turns {
		c, p := &charges[i], &j.list[i]
		if !p.granted {
			continue // a shadow
		}
		switch {
		case p.at == inWide:
			s.commitWide(p, c, &results[i], now)
		case p.after.Under == nil: // nothing was asked of a fresh key
		case p.at == inSketch:
			s.stats.overflowed.Add(1)
			p.sketch.raise(p.hash, p.after, now, results[i].ResetAfter.Microseconds())
		case p.at == inVacant:
			s.commitVacant(p, c)
		default:
			p.ref.write(p.after)
		}
	}
}

func (s *Store) commitVacant(p *pending, c *core.Charge) {
	if p.ref.holds(&c.Key) { // an earlier charge of this call moved in
		p.ref.write(p.after)
		return
	}
	if p.evicts {
		s.stats.evicted.Add(1)
	}
	p.ref.claim(&c.Key, p.after)
}

func (s *Store) commitWide(p *pending, c *core.Charge, r *core.Result, now int64) {
	id := identityOf(&c.Key)
	w := p.shard.wide[id]
	var before int64
	if w != nil {
		before = w.bytes()
	} else {
		if p.asked == 0 {
			return
		}
		w = p.shard.addWide(id)
	}
	o := w.take(c, now)
	r.Fill(&o)
	s.room.used.Add(w.bytes() - before - p.reserved)
}

// tellUnspent rewrites the results of a call that spends nothing: what remains is
// what there is without it.
func (s *Store) tellUnspent(j *job, charges []core.Charge, results []core.Result, now int64, commit bool) {
	for i := range charges {
		c, p, r := &charges[i], &j.list[i], &results[i]
		s.room.give(p.reserved)
		if p.blocked > 0 || p.at == nowhere {
			continue
		}
		granted, retry := r.Granted, r.RetryAfter
		var o algo.Outcome
		if p.at == inWide {
			o = peekWide(p, c, now)
		} else {
			var kept algo.State
			kept, o = c.Quota.Peek(j.stored(i), now, c.Ask())
			if commit && p.at == inSlot && p.same < 0 && kept.Under != p.before.Under {
				p.ref.write(kept) // the same spending, in the words of this quota
			}
		}
		delay := r.Delay
		r.Fill(&o)
		r.Granted, r.RetryAfter, r.Delay = granted, retry, delay
	}
}

// stored returns the state of charge i's key as it stood before the call.
func (j *job) stored(i int) algo.State {
	for j.list[i].same >= 0 {
		i = j.list[i].same
	}
	return j.list[i].before
}

func peekWide(p *pending, c *core.Charge, now int64) algo.Outcome {
	return p.shard.wide[identityOf(&c.Key)].peek(c, now, c.Ask())
}

// countDenials counts denials against limits with a penalty. The denial that
// starts a block already says so.
func (s *Store) countDenials(j *job, charges []core.Charge, results []core.Result, now int64) {
	for i := range charges {
		c, p, r := &charges[i], &j.list[i], &results[i]
		if c.Penalty == nil || p.granted || p.blocked > 0 {
			continue
		}
		if blocked := s.denied(p.shard, c, now); blocked > 0 {
			r.Blocked, r.Remaining = true, 0
			r.RetryAfter = max(r.RetryAfter, core.Span(blocked))
			r.NextAfter, r.ResetAfter = max(r.NextAfter, core.Span(blocked)), max(r.ResetAfter, core.Span(blocked))
		}
	}
}
