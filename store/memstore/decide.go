package memstore

import (
	"slices"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// where says where a key's state is, or would be.
type where uint8

const (
	inSlot   where = iota
	inVacant       // in a slot that the key will be given when it is charged
	inSketch
	inWide
	nowhere // no room: denied
)

// A pending is one charge of a call that is being decided.
type pending struct {
	shard    *shard
	index    int // of the shard
	hash     uint64
	at       where
	ref      slotRef
	evicts   bool // the vacancy is another key's
	sketch   *sketch
	same     int // an earlier charge of the same key, or -1
	blocked  int64
	granted  bool
	before   algo.State // as stored, or as the same key's last pending charge leaves it
	after    algo.State
	asked    int64 // log: units wanted by this and earlier charges of the same key
	reserved int64 // log: bytes taken from the budget
}

// A job is the scratch of one call. Jobs are reused.
type job struct {
	list   []pending
	order  []int // indexes of the shards to lock, ascending
	turns  []int // indexes of the charges, in the order in which they are decided
	sketch bool  // the overflow's lock is held
}

func (s *Store) hire(n int) *job {
	j, _ := s.work.Get().(*job)
	if j == nil {
		j = &job{}
	}
	if cap(j.list) < n {
		j.list = make([]pending, n, max(n, 8))
		j.order = make([]int, 0, max(n, 8))
		j.turns = make([]int, 0, max(n, 8))
	}
	j.list, j.order, j.turns, j.sketch = j.list[:n], j.order[:0], j.turns[:0], false
	return j
}

// decide decides charges as one, under the locks of all their shards.
func (s *Store) decide(charges []core.Charge, results []core.Result, now int64, commit bool) {
	j := s.hire(len(charges))
	j.takeTurns(charges)
	s.lock(j, charges)
	s.locate(j, charges, now)
	allowed := true
	for _, i := range j.turns {
		s.judge(j, i, &charges[i], &results[i], now)
		if !j.list[i].granted && !charges[i].Shadow {
			allowed = false
		}
	}
	if allowed && commit {
		s.commit(j, charges, results, now)
	} else {
		s.tellUnspent(j, charges, results, now, commit)
	}
	if commit {
		s.countDenials(j, charges, results, now)
	}
	s.unlock(j)
	clear(j.list) // keep no pointers
	s.work.Put(j)
}

// takeTurns has the charges that count decided before the shadow charges, which
// may only have what those leave.
func (j *job) takeTurns(charges []core.Charge) {
	for _, shadow := range [...]bool{false, true} {
		for i := range charges {
			if charges[i].Shadow == shadow {
				j.turns = append(j.turns, i)
			}
		}
	}
}

// lock takes the locks of the charges' shards, in ascending order: calls that share
// shards cannot wait for each other in a circle.
func (s *Store) lock(j *job, charges []core.Charge) {
	for i := range charges {
		p := &j.list[i]
		p.shard, p.index, p.hash = s.place(&charges[i].Key)
		if at, found := slices.BinarySearch(j.order, p.index); !found {
			j.order = slices.Insert(j.order, at, p.index)
		}
	}
	for _, i := range j.order {
		s.shards[i].mu.Lock()
	}
}

func (s *Store) unlock(j *job) {
	if j.sketch {
		s.over.mu.Unlock()
	}
	for _, i := range j.order {
		s.shards[i].mu.Unlock()
	}
}

// lockSketches takes the lock of all sketches, which comes after every shard's.
func (s *Store) lockSketches(j *job) {
	if !j.sketch {
		s.over.mu.Lock()
		j.sketch = true
	}
}

// locate finds every key's state: first those that are stored, so that none of
// them gives way to a new key of the same call.
func (s *Store) locate(j *job, charges []core.Charge, now int64) {
	for turn, i := range j.turns {
		c, p := &charges[i], &j.list[i]
		p.same = j.sameKey(charges, turn)
		if c.Quota.Wide() {
			p.at = inWide
		}
		if !plain(c) {
			s.tidy(p.shard, now)
		}
		if p.at != inWide && p.same < 0 {
			p.ref = p.shard.find(&c.Key, p.hash)
		}
	}
	for i := range charges {
		c, p := &charges[i], &j.list[i]
		switch {
		case p.at == inWide || p.same >= 0:
		case p.ref.ok():
			p.at, p.before = inSlot, p.ref.state(c.Quota)
		default:
			s.settle(j, i, c, now)
		}
	}
}

// sameKey returns the charge that has its turn before and is of the same key.
func (j *job) sameKey(charges []core.Charge, turn int) int {
	k := &charges[j.turns[turn]].Key
	for turn--; turn >= 0; turn-- {
		if other := &charges[j.turns[turn]].Key; other.Hi == k.Hi && other.Lo == k.Lo {
			return j.turns[turn]
		}
	}
	return -1
}

// settle finds a place for a key that is not stored: a vacant slot or the sketch of
// its limit. What a sketch knows of the key comes along.
func (s *Store) settle(j *job, i int, c *core.Charge, now int64) {
	p := &j.list[i]
	if s.over.live.Load() > 0 {
		s.lockSketches(j)
		p.before = s.over.estimate(c.Limit, p.hash, c.Quota, now, &s.room)
	}
	p.ref, p.evicts = p.shard.vacancy(p.hash, now, j.list)
	if p.ref.ok() {
		p.at = inVacant
		return
	}
	s.lockSketches(j)
	p.at = inSketch
	if p.sketch = s.over.open(c.Limit, c.Quota, &s.room); p.sketch == nil {
		p.at = nowhere
	}
}

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
		p.after, o = c.Quota.Take(p.before, now, ask(c))
		p.granted = o.Granted
		fill(r, &o)
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
		_, o = c.Quota.Peek(p.before, now, ask(c))
	}
	*r = core.Result{
		Blocked:    true,
		RetryAfter: duration(max(p.blocked, o.RetryAfter)),
		NextAfter:  duration(max(p.blocked, o.NextAfter)),
		ResetAfter: duration(max(p.blocked, o.ResetAfter)),
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
	*r = core.Result{RetryAfter: duration(refusedRetry), NextAfter: duration(refusedRetry)}
}

// judgeWide decides a charge against a log. The log itself is changed on commit.
func (s *Store) judgeWide(j *job, p *pending, c *core.Charge, r *core.Result, now int64) {
	w := p.shard.wide[identityOf(&c.Key)]
	log := w.logFor(c.Quota)
	want := ask(c)
	if p.same >= 0 {
		want.Cost += j.list[p.same].asked
	}
	o := c.Quota.PeekLog(log, now, want)
	p.granted = o.Granted
	fill(r, &o)
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
	log := w.logFor(c.Quota)
	o := c.Quota.TakeLog(log, now, ask(c))
	w.log = *log
	fill(r, &o)
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
			kept, o = c.Quota.Peek(j.stored(i), now, ask(c))
			if commit && p.at == inSlot && p.same < 0 && kept.Under != p.before.Under {
				p.ref.write(kept) // the same spending, in the words of this quota
			}
		}
		delay := r.Delay
		fill(r, &o)
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
	return c.Quota.PeekLog(p.shard.wide[identityOf(&c.Key)].logFor(c.Quota), now, ask(c))
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
			r.RetryAfter = max(r.RetryAfter, duration(blocked))
			r.NextAfter, r.ResetAfter = max(r.NextAfter, duration(blocked)), max(r.ResetAfter, duration(blocked))
		}
	}
}
