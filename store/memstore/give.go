package memstore

import (
	"context"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// Give implements [core.Store]. What is counted in a sketch is not returned: its
// cells hold several keys, and must not hold too little of any.
func (s *Store) Give(_ context.Context, refunds []core.Refund) error {
	now := s.now()
	for i := range refunds {
		s.giveOne(&refunds[i], now)
	}
	return nil
}

func (s *Store) giveOne(f *core.Refund, now int64) {
	sh, _, h := s.place(&f.Key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if f.Quota.Algorithm() == algo.Concurrency {
		if w := sh.wide[identityOf(&f.Key)]; w != nil {
			w.slots.Give(f.Slot, f.Units)
		}
		return
	}
	if f.Quota.Wide() {
		if w := sh.wide[identityOf(&f.Key)]; w != nil {
			f.Quota.GiveLog(w.logFor(f.Quota), now, f.Units, f.Receipt)
		}
		return
	}
	ref := sh.find(&f.Key, h)
	if !ref.ok() {
		return
	}
	if next, changed := f.Quota.Give(ref.state(f.Quota), now, f.Units, f.Receipt, f.Turn); changed {
		ref.write(next)
	}
}

// Reset implements [core.Store]. A key that is counted in a sketch keeps what the
// sketch knows of it.
func (s *Store) Reset(_ context.Context, charges []core.Charge) error {
	for i := range charges {
		s.resetOne(&charges[i].Key)
	}
	return nil
}

func (s *Store) resetOne(k *core.Key) {
	sh, _, h := s.place(k)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if ref := sh.find(k, h); ref.ok() {
		ref.write(algo.State{})
	}
	if id := identityOf(k); sh.wide[id] != nil {
		s.forget(sh, id, sh.wide[id])
	}
}

// Block implements [core.Store]. It fails when there is no memory for the block.
func (s *Store) Block(_ context.Context, c core.Charge, span time.Duration) error {
	if c.Penalty == nil {
		return errNoPenalty
	}
	sh, _, _ := s.place(&c.Key)
	now := s.now()
	sh.mu.Lock()
	defer sh.mu.Unlock()
	id := identityOf(&c.Key)
	w := sh.wide[id]
	if w == nil {
		if span <= 0 {
			return nil
		}
		s.tidy(sh, now)
		if !s.room.take(wideBytes) {
			s.stats.refused.Add(1)
			return errFull
		}
		w = sh.addWide(id)
	}
	before := w.bytes()
	w.penalty = *c.Penalty
	w.record.Block(now, max(0, span).Microseconds())
	s.room.used.Add(w.bytes() - before)
	return nil
}
