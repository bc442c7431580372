package storetest

import (
	"maps"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// A model is the contract in its plainest form: a map, and the arithmetic of
// package algo. It knows nothing of locks, bounds or speed, and is told the time.
type model struct {
	ledgers map[core.Key]*ledger
}

func newModel() *model { return &model{ledgers: map[core.Key]*ledger{}} }

func (m *model) ledger(k core.Key) *ledger {
	l := m.ledgers[k]
	if l == nil {
		l = &ledger{}
		m.ledgers[k] = l
	}
	return l
}

func (m *model) take(now int64, charges []core.Charge, results []core.Result) {
	d := m.draft(now, charges, results)
	if d.denied {
		m.tellUnspent(d, charges, results)
		m.rewrite(now, charges)
	} else {
		d.commit(m)
	}
	m.countDenials(now, charges, results)
}

func (m *model) peek(now int64, charges []core.Charge, results []core.Result) {
	m.tellUnspent(m.draft(now, charges, results), charges, results)
}

// A draft is what the ledgers of a call would be if all that fits were spent.
type draft struct {
	now     int64
	ledgers map[core.Key]ledger
	denied  bool
}

// draft decides the charges that count before the shadow charges, which may only
// have what is left.
func (m *model) draft(now int64, charges []core.Charge, results []core.Result) draft {
	d := draft{now: now, ledgers: map[core.Key]ledger{}}
	for _, shadow := range []bool{false, true} {
		for i, c := range charges {
			if c.Shadow != shadow {
				continue
			}
			l, drafted := d.ledgers[c.Key]
			if !drafted {
				l = *m.ledger(c.Key)
			}
			results[i] = l.take(now, c)
			d.ledgers[c.Key] = l
			d.denied = d.denied || !results[i].Granted && !shadow
		}
	}
	return d
}

func (d *draft) commit(m *model) {
	for k, l := range d.ledgers {
		*m.ledgers[k] = l
	}
}

// tellUnspent rewrites the results of a call that spends nothing: the numbers are
// those of the keys as they are.
func (m *model) tellUnspent(d draft, charges []core.Charge, results []core.Result) {
	for i, c := range charges {
		r := &results[i]
		r.Extra, r.Receipt = 0, algo.Receipt{}
		if r.Blocked {
			continue
		}
		is := m.ledger(c.Key).peek(d.now, c)
		r.Remaining, r.NextAfter, r.ResetAfter = is.Remaining, is.NextAfter, is.ResetAfter
	}
}

// rewrite keeps states in the words of the quota that has just judged them, so that
// the wait it told is the wait it means.
func (m *model) rewrite(now int64, charges []core.Charge) {
	for _, c := range charges {
		l := m.ledger(c.Key)
		if u := l.state.Under; u != nil && u.Algorithm() == c.Quota.Algorithm() && !c.Quota.Wide() {
			l.state, _ = c.Quota.Peek(l.state, now, algo.Ask{})
		}
	}
}

// countDenials counts the denials of limits with a penalty. The denial that starts
// a block says so already.
func (m *model) countDenials(now int64, charges []core.Charge, results []core.Result) {
	for i, c := range charges {
		r := &results[i]
		if c.Penalty == nil || r.Granted || r.Blocked {
			continue
		}
		if block := m.ledger(c.Key).record.Denied(*c.Penalty, now); block > 0 {
			r.Blocked, r.RetryAfter, r.Remaining = true, max(r.RetryAfter, span(block)), 0
		}
	}
}

func (m *model) give(now int64, refunds []core.Refund) {
	for _, f := range refunds {
		m.ledger(f.Key).give(now, f)
	}
}

func (m *model) reset(charges []core.Charge) {
	for _, c := range charges {
		delete(m.ledgers, c.Key)
	}
}

func (m *model) block(now int64, c core.Charge, span time.Duration) {
	m.ledger(c.Key).record.Block(now, span.Microseconds())
}

// A ledger is what a key has spent and how often it was denied. Its state and its
// history are values, so a copy of a ledger is a draft of it.
type ledger struct {
	state  algo.State // of quotas of two words
	log    history    // of wide quotas
	slots  holders    // of concurrency
	record algo.Record
}

// holders are the units that each slot has.
type holders map[uint64]int64

func (h holders) sum() (n int64) {
	for _, units := range h {
		n += units
	}
	return n
}

// with returns other holders, in which a slot has so many units more.
func (h holders) with(slot uint64, units int64) holders {
	next := maps.Clone(h)
	if next == nil {
		next = holders{}
	}
	if next[slot] += units; next[slot] <= 0 {
		delete(next, slot)
	}
	return next
}

// adopt forgets what was counted by another algorithm.
func (l *ledger) adopt(q *algo.Quota) {
	if l.state.Under != nil && l.state.Under.Algorithm() != q.Algorithm() {
		l.state = algo.State{}
	}
	if len(l.log) > 0 && l.log[0].quota.Algorithm() != q.Algorithm() {
		l.log = nil
	}
}

func (l *ledger) take(now int64, c core.Charge) core.Result {
	if blocked := l.blocked(now, c); blocked > 0 {
		return core.Result{Blocked: true, RetryAfter: max(l.peek(now, c).RetryAfter, span(blocked))}
	}
	l.adopt(c.Quota)
	if c.Quota.Algorithm() == algo.Concurrency {
		o := c.Quota.TakeSlot(algo.RestoreSlots(l.slots.sum()), c.Slot, ask(c))
		if o.Granted {
			l.slots = l.slots.with(c.Slot, c.Cost+o.Extra)
		}
		return result(o)
	}
	if c.Quota.Wide() {
		log := l.log.replay()
		o := c.Quota.TakeLog(log, now, ask(c))
		if o.Granted {
			l.log = l.log.after(entry{quota: c.Quota, at: now, ask: ask(c)}, log.LogOwes(now))
		}
		return result(o)
	}
	var o algo.Outcome
	l.state, o = c.Quota.Take(l.state, now, ask(c))
	return result(o)
}

// peek tells of the quota alone, and changes nothing.
func (l ledger) peek(now int64, c core.Charge) core.Result {
	l.adopt(c.Quota)
	if c.Quota.Algorithm() == algo.Concurrency {
		return result(c.Quota.PeekSlot(algo.RestoreSlots(l.slots.sum()), ask(c)))
	}
	if c.Quota.Wide() {
		return result(c.Quota.PeekLog(l.log.replay(), now, ask(c)))
	}
	_, o := c.Quota.Peek(l.state, now, ask(c))
	return result(o)
}

func (l *ledger) blocked(now int64, c core.Charge) int64 {
	if c.Penalty == nil {
		return 0
	}
	return l.record.Blocked(now)
}

func (l *ledger) give(now int64, f core.Refund) {
	l.adopt(f.Quota)
	if f.Quota.Algorithm() == algo.Concurrency {
		if l.slots[f.Slot] > 0 {
			l.slots = l.slots.with(f.Slot, -min(f.Units, l.slots[f.Slot]))
		}
		return
	}
	if !f.Quota.Wide() {
		l.state, _ = f.Quota.Give(l.state, now, f.Units, f.Receipt, f.Turn)
		return
	}
	if log := l.log.replay(); f.Quota.GiveLog(log, now, f.Units, f.Receipt) {
		l.log = l.log.after(entry{quota: f.Quota, at: now, units: f.Units, receipt: f.Receipt}, log.LogOwes(now))
	}
}

// A history is everything that changed a log. A log cannot be copied, so a draft
// of one is made by living its history again.
type history []entry

// An entry is a grant, or a refund of units.
type entry struct {
	quota   *algo.Quota
	at      int64
	ask     algo.Ask
	units   int64
	receipt algo.Receipt
}

// after returns a new history with one more entry, or none if the log then owes
// nothing.
func (h history) after(e entry, owes int64) history {
	if owes == 0 {
		return nil
	}
	return append(h[:len(h):len(h)], e)
}

func (h history) replay() *algo.Log {
	log := &algo.Log{}
	for _, e := range h {
		if e.units > 0 {
			e.quota.GiveLog(log, e.at, e.units, e.receipt)
		} else {
			e.quota.TakeLog(log, e.at, e.ask)
		}
	}
	return log
}

func ask(c core.Charge) algo.Ask {
	return algo.Ask{Cost: c.Cost, Extra: c.Extra, MaxDelay: c.MaxDelay.Microseconds()}
}

func result(o algo.Outcome) core.Result {
	return core.Result{
		Granted:    o.Granted,
		Remaining:  o.Remaining,
		Extra:      o.Extra,
		Delay:      span(o.Delay),
		RetryAfter: span(o.RetryAfter),
		NextAfter:  span(o.NextAfter),
		ResetAfter: span(o.ResetAfter),
		Receipt:    o.Receipt,
	}
}

// span converts the microseconds of package algo.
func span(us int64) time.Duration {
	if us == algo.Never {
		return core.Never
	}
	return time.Duration(us) * time.Microsecond
}
