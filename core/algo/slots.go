package algo

// Slots is who holds units of a [Concurrency] quota. Its zero value is a key that
// nobody holds. It is not safe for concurrent use.
type Slots struct {
	held []slot
	sum  int64
}

// A slot is units that one holder has until it gives them back.
type slot struct {
	id    uint64
	units int64
}

const slotBytes = 16

// Hint is what a denied holder is told to wait: nobody can know when another one
// gives back what it holds.
const Hint = 1_000_000

// Bytes returns how much memory the holders take.
func (s *Slots) Bytes() int64 { return int64(cap(s.held)) * slotBytes }

// Grown returns what [Slots.Bytes] may be after one more grant.
func (s *Slots) Grown() int64 {
	if len(s.held) < cap(s.held) {
		return s.Bytes()
	}
	return max(firstRing, 2*int64(cap(s.held))) * slotBytes
}

// Held returns how many units are held.
func (s *Slots) Held() int64 { return s.sum }

// RestoreSlots returns slots of which somebody holds so many units.
func RestoreSlots(held int64) *Slots { return &Slots{sum: held} }

// TakeSlot decides an ask of a holder. Nothing comes back by itself, so all waits that
// it tells are a [Hint], and Never for a cost above the limit.
func (q *Quota) TakeSlot(s *Slots, id uint64, ask Ask) Outcome {
	o := q.PeekSlot(s, ask)
	if !o.Granted {
		return o
	}
	o.Extra = max(0, min(ask.Extra, q.limit-s.sum-ask.Cost))
	if units := ask.Cost + o.Extra; units > 0 {
		s.add(id, units)
		o.Receipt = Receipt{At: 1, Level: units}
	}
	q.describeSlots(s, &o)
	return o
}

// PeekSlot answers as [Quota.TakeSlot] would, but for a charge that is not made.
func (q *Quota) PeekSlot(s *Slots, ask Ask) Outcome {
	var o Outcome
	switch {
	case ask.Cost > q.limit || q.limit == 0:
		o.RetryAfter = Never
	case ask.Cost > q.limit-s.sum && ask.Cost > 0:
		o.RetryAfter = Hint
	default:
		o.Granted = true
	}
	q.describeSlots(s, &o)
	return o
}

func (q *Quota) describeSlots(s *Slots, o *Outcome) {
	o.Remaining = max(0, q.limit-s.sum)
	if s.sum > 0 && q.limit > 0 {
		o.NextAfter, o.ResetAfter = Hint, Hint
	}
}

func (s *Slots) add(id uint64, units int64) {
	s.sum += units
	for i := range s.held {
		if s.held[i].id == id {
			s.held[i].units += units
			return
		}
	}
	if len(s.held) == cap(s.held) {
		grown := make([]slot, len(s.held), max(firstRing, 2*cap(s.held)))
		copy(grown, s.held)
		s.held = grown
	}
	s.held = append(s.held, slot{id, units})
}

// Give returns units that a holder has, once. It reports whether there were any.
func (s *Slots) Give(id uint64, units int64) bool {
	for i := range s.held {
		if s.held[i].id != id {
			continue
		}
		back := min(units, s.held[i].units)
		s.sum -= back
		if s.held[i].units -= back; s.held[i].units == 0 {
			last := len(s.held) - 1
			s.held[i] = s.held[last]
			s.held = s.held[:last]
		}
		return back > 0
	}
	return false
}
