package store

import (
	"context"
	"errors"
	"slices"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// A leaseCall is a Take under way. Calls are reused.
type leaseCall struct {
	lease *Lease
	now   int64 // when it began: the store is asked no earlier
	seats []seat
	ask   []core.Charge // what the store is asked
	got   []core.Result
	at    []int         // of each asked charge: which of the call's it is
	first []core.Refund // to be given back before the store is asked
	late  []core.Refund // to be given back when all is decided
	trips []trip        // that end with the call
}

// A trip is of units that a call has on their way.
type trip struct {
	shard *leaseShard
	h     *holding
}

// attempts bounds how often a call that was denied while units were on their way to it
// is decided anew.
const attempts = 3

// A seat is one charge of a call.
type seat struct {
	own     *algo.Quota // of the charge
	quota   *algo.Quota // by which the store decides
	shard   *leaseShard
	h       *holding // nil: not leased
	cost    int64
	aside   int64 // units that are set aside for it
	extra   int64 // units that are asked for beside what is lacking
	denied  bool  // the store need not be asked, because of
	holdOff holdOff
	twin    bool // another charge of the call has the same key
	resets  uint64
	trip    uint64       // how many trips had ended
	receipt algo.Receipt // of the units that are set aside
	ends    int64
	edge    int64
}

// need is what the store has to grant.
func (s *seat) need() int64 { return s.cost - s.aside }

// here reports whether what is held pays for the charge.
func (s *seat) here() bool { return s.h != nil && s.aside == s.cost }

// current reports whether what was known when the call began is about the same thing.
// Requires the shard's lock.
func (s *seat) current() bool { return s.h.resets == s.resets && s.h.quota == s.own }

// run decides a call. Units that are on their way between the store and this process
// are no reason to deny: a caller who might be paid by them waits.
func (call *leaseCall) run(ctx context.Context, l *Lease, charges []core.Charge, results []core.Result) error {
	for range attempts - 1 {
		err := call.take(ctx, l, charges, results)
		call.finish(ctx)
		if err != nil || !call.mayBePaid(ctx, results) {
			return err
		}
		call.end()
	}
	err := call.take(ctx, l, charges, results)
	call.finish(ctx)
	return err
}

// finish gives back what is left of a call, and ends its trips.
func (call *leaseCall) finish(ctx context.Context) {
	l := call.lease
	switch {
	case len(call.late) == 0:
	case ctx.Err() == nil:
		l.giveBack(ctx, call.late)
	default:
		l.giver.add(call.late)
	}
	for _, t := range call.trips {
		t.shard.mu.Lock()
		t.h.arrive()
		t.shard.mu.Unlock()
	}
	if l.closed.Load() {
		l.giver.giveDue() // nobody else does
	}
}

// mayBePaid reports whether units have arrived while the only charge of a call was
// denied, and waits for those that have yet to.
func (call *leaseCall) mayBePaid(ctx context.Context, results []core.Result) bool {
	s := &call.seats[0]
	if len(call.seats) > 1 || s.h == nil || results[0].Granted {
		return false
	}
	s.shard.mu.Lock()
	changed, arrived := s.h.trip != s.trip+uint64(len(call.trips)), s.h.arrived
	s.shard.mu.Unlock()
	if arrived == nil {
		return changed
	}
	select {
	case <-arrived:
		return true
	case <-ctx.Done():
		return false
	}
}

func (call *leaseCall) take(ctx context.Context, l *Lease, charges []core.Charge, results []core.Result) error {
	call.lease, call.now = l, l.now()
	denied, counted := false, false
	for i := range charges {
		call.seats = append(call.seats, seat{})
		s := &call.seats[i]
		call.sit(s, &charges[i])
		for j := range i {
			s.twin = s.twin || charges[j].Key == charges[i].Key
		}
		denied = denied || s.denied
		counted = counted || charges[i].Penalty != nil
	}
	if len(call.first) > 0 {
		l.giveBack(ctx, call.first)
	}
	if denied && !counted { // else the store has to count the denials of others
		call.deny(results)
		return nil
	}
	for i := range call.seats {
		call.reserve(&call.seats[i])
	}
	call.compose(charges)
	if len(call.ask) == 0 {
		call.settle(results, true, call.now)
		return nil
	}
	return call.conclude(charges, results, l.inner.Take(ctx, call.ask, call.got))
}

// sit finds what is held of a charge's key, and whether the store need be asked.
func (call *leaseCall) sit(s *seat, c *core.Charge) {
	l, now := call.lease, call.now
	t := l.terms(c)
	s.own, s.quota, s.cost = c.Quota, t.quota, c.Cost
	if t.most == 0 || c.Cost > c.Quota.Capacity() {
		return
	}
	s.shard = l.shard(&c.Key)
	s.shard.mu.Lock()
	defer s.shard.mu.Unlock()
	h := s.shard.open(c, now, l.times.horizon)
	if h == nil {
		return
	}
	l.giver.wake()
	if h.quota != c.Quota {
		call.clear(s.shard, h)
		h.become(c.Quota, now, l.times.life)
	}
	if h.held() && now >= h.ends {
		l.giver.owe(h, now)
	}
	if !leasable(c) {
		if c.Extra > 0 || c.MaxDelay > 0 { // decided by the store alone, which should have it all
			call.clear(s.shard, h)
		}
		return
	}
	h.limit, h.most = c.Limit, t.most
	h.count(now, c.Cost, l.times.horizon)
	h.calls++
	s.h, s.resets, s.trip, s.holdOff = h, h.resets, h.trip, h.holdOff
	s.denied = h.denies(c.Cost-min(h.units, c.Cost), now)
}

// clear has what is held of a key given back before the store is asked. Requires the
// shard's lock.
func (call *leaseCall) clear(shard *leaseShard, h *holding) {
	n := len(call.first)
	if call.first = h.retire(call.first, call.now); len(call.first) > n {
		call.depart(shard, h)
	}
}

func (call *leaseCall) depart(shard *leaseShard, h *holding) {
	h.depart()
	call.trips = append(call.trips, trip{shard, h})
}

// reserve sets aside what is held for a charge, and says what to ask the store for.
func (call *leaseCall) reserve(s *seat) {
	if s.h == nil {
		return
	}
	s.shard.mu.Lock()
	defer s.shard.mu.Unlock()
	h := s.h
	if !s.current() {
		return
	}
	s.receipt, s.ends, s.edge = h.receipt, h.ends, h.edge
	if s.aside = min(h.units, s.cost); s.aside < s.cost {
		if s.extra = h.prefetch(s.need(), call.now, call.lease.times); s.extra > 0 {
			call.depart(s.shard, h)
		}
	}
	h.units -= s.aside
	h.away += s.aside + s.extra
	h.pending += s.extra
}

// compose lists what the store is asked.
func (call *leaseCall) compose(charges []core.Charge) {
	for i, c := range charges {
		s := &call.seats[i]
		if s.here() {
			continue
		}
		c.Quota = s.quota
		if s.h != nil {
			c.Cost, c.Extra = s.need(), s.extra
		}
		call.ask, call.at = append(call.ask, c), append(call.at, i)
		call.got = append(call.got, core.Result{})
	}
}

// conclude acts on what the store has said. When it failed to decide some charges, the
// others have been decided as one, and those that are paid here with them.
func (call *leaseCall) conclude(charges []core.Charge, results []core.Result, err error) error {
	now := call.lease.now()
	failed, err := call.failed(err)
	if err != nil && failed == nil {
		for i := range call.seats {
			if s := &call.seats[i]; s.h != nil {
				s.shard.mu.Lock()
				call.leave(s, true, now)
				s.shard.mu.Unlock()
			}
		}
		return err
	}
	allowed := true
	for n, i := range call.at {
		results[i] = call.got[n]
		if slices.Contains(failed, i) {
			continue
		}
		allowed = allowed && (results[i].Granted || charges[i].Shadow)
	}
	for _, i := range failed {
		if s := &call.seats[i]; s.h != nil {
			s.shard.mu.Lock()
			call.leave(s, true, now)
			s.shard.mu.Unlock()
			s.h = nil
		}
	}
	call.settle(results, allowed, now)
	return err
}

// failed returns which charges of the call the store has failed to decide while it
// has decided others, and the error that says so.
func (call *leaseCall) failed(err error) ([]int, error) {
	var failure *core.StoreError
	if err == nil || !errors.As(err, &failure) || failure.Failed == nil {
		return nil, err
	}
	told := *failure
	told.Failed = make([]int, 0, len(failure.Failed))
	for _, n := range failure.Failed {
		told.Failed = append(told.Failed, call.at[n])
	}
	return told.Failed, &told
}

// settle spends what was set aside, and keeps what the store has given beside, or puts
// everything back when the call is denied.
func (call *leaseCall) settle(results []core.Result, allowed bool, now int64) {
	for i := range call.seats {
		s, r := &call.seats[i], &results[i]
		if s.h == nil {
			continue
		}
		s.shard.mu.Lock()
		call.leave(s, !allowed, now)
		asked := !s.here()
		if asked && s.current() {
			s.h.learn(s.need(), r, call.now, call.lease.times, s.twin)
		}
		switch {
		case allowed && asked:
			call.keep(s, r)
		case allowed:
			s.h.handOut(s.receipt, s.cost)
			s.h.tell(r, now)
			r.Granted, r.Receipt = true, s.receipt
		case len(call.seats) == 1 && s.current() && s.h.pays(s.cost, now):
			// Other calls have brought it while this one was denied.
			s.h.tell(r, now)
			r.Granted, r.Receipt = true, s.h.receipt
		case asked:
			s.h.amend(r, s.need(), now)
		default:
			s.h.tell(r, now)
			r.Granted = true
		}
		r.Remaining = min(r.Remaining, s.own.Capacity())
		s.shard.mu.Unlock()
	}
}

// keep holds what the store has given beside the need. Requires the shard's lock.
func (call *leaseCall) keep(s *seat, r *core.Result) {
	extra := r.Extra
	r.Extra = 0
	if call.lease.closed.Load() || !s.current() {
		if extra > 0 && s.h.resets == s.resets {
			call.late = append(call.late, core.Refund{
				Key: s.h.key, Limit: s.h.limit, Quota: s.quota, Units: extra, Receipt: r.Receipt,
			})
		}
		return
	}
	s.h.add(r, s.cost, extra, call.now, call.lease.times)
	r.Remaining += s.h.units
}

// leave ends a seat's part in its holding, and puts back what was set aside for it.
// Requires the shard's lock.
func (call *leaseCall) leave(s *seat, back bool, now int64) {
	h := s.h
	h.calls--
	h.away -= s.aside + s.extra
	h.pending -= s.extra
	if !back || s.aside == 0 || h.resets != s.resets || now >= s.edge {
		return
	}
	if now >= s.ends || h.quota != s.own || call.lease.closed.Load() {
		call.late = append(call.late, core.Refund{
			Key: h.key, Limit: h.limit, Quota: s.own, Units: s.aside, Receipt: s.receipt,
		})
		return
	}
	h.putBack(s.aside, s.receipt, s.ends, s.edge)
}

// deny answers a call of which the store has just denied a charge, without asking.
func (call *leaseCall) deny(results []core.Result) {
	for i := range call.seats {
		s, r := &call.seats[i], &results[i]
		*r = core.Result{Granted: true, Partial: true}
		if s.h == nil {
			continue
		}
		s.shard.mu.Lock()
		call.leave(s, true, call.now)
		switch {
		case s.denied:
			s.h.tellDenied(r, s.holdOff, s.cost-min(s.cost, s.h.units), call.now)
		case s.h.units >= s.cost:
			s.h.tell(r, call.now)
			r.Granted = true
		}
		r.Remaining = min(r.Remaining, s.own.Capacity())
		s.shard.mu.Unlock()
	}
}

// end makes the call ready to be reused, and keeps no pointers.
func (call *leaseCall) end() {
	clear(call.seats)
	clear(call.ask)
	clear(call.got)
	clear(call.first)
	clear(call.late)
	clear(call.trips)
	*call = leaseCall{
		seats: call.seats[:0], ask: call.ask[:0], got: call.got[:0], at: call.at[:0],
		first: call.first[:0], late: call.late[:0], trips: call.trips[:0],
	}
}
