package memstore

import "github.com/tidegate/tidegate/core"

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
