package store

import (
	"math"
	"sync"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

const (
	leaseShards   = 64
	minLeaseShard = 8 // keys, so that a small bound does not leave a shard with none

	// slowest is the demand of a horizon below which a key is exact: fewer units are
	// not worth being hidden from the other processes.
	slowest = 3

	// phi is the share of what remains that may be asked for beside the need: one of
	// several processes must not leave nothing for the others.
	phi = 8

	// longestHoldOff bounds how long units that come back elsewhere go unseen.
	longestHoldOff = int64(time.Second / time.Microsecond)

	// longestPause bounds how long a key whose quota changes is exact.
	longestPause = int64(10 * time.Second / time.Microsecond)

	never = math.MaxInt64
)

// A leaseShard is a part of the keys under one lock.
type leaseShard struct {
	mu   sync.Mutex
	keys map[core.Key]*holding
	most int
}

// A holding is what this process holds and knows of one key. Instants are those of
// [Lease.now]; 0 stands for none.
type holding struct {
	key   core.Key
	limit string
	quota *algo.Quota // of the charges that it pays for
	most  int64       // units that may be here at once, those away included

	units   int64        // held for whoever comes
	paid    int64        // handed out under the receipt, and so may come back
	receipt algo.Receipt // of the newest grant; zero when nothing is held
	ends    int64        // when the units are given back
	edge    int64        // when they are worth nothing any more: the end of their window

	away    int64  // set aside by calls under way, or asked for by them as extra
	pending int64  // the part of away that was asked for as extra
	calls   int    // under way
	resets  uint64 // what a call brings from before the last one is not believed

	// Units on their way, to here or back to the store, that a denial does not know of.
	trips   int
	arrived chan struct{} // closed when trips is 0 again
	trip    uint64        // how many have ended

	demand float64 // units in a horizon, as an exponential mean
	seen   int64   // when it was last counted

	asked bool  // the store has said something
	at    int64 // when it was asked
	left  int64 // Remaining
	next  int64 // when there is one more
	reset int64 // when the key is fresh

	holdOff holdOff

	exact int64 // nothing is asked for beside the need before this instant
	pause int64 // how long the last change of the quota made it so
}

// A holdOff is a denial by the store, which is not asked again for as much or more
// before an instant.
type holdOff struct {
	cost  int64
	until int64
	retry int64 // when the cost fits, by what the store said
}

// open returns the holding of a charge's key, or nil when there is no room for one.
func (s *leaseShard) open(c *core.Charge, now, horizon int64) *holding {
	if h := s.keys[c.Key]; h != nil {
		return h
	}
	if len(s.keys) >= s.most && !s.evict(now, horizon) {
		return nil
	}
	h := &holding{key: c.Key, quota: c.Quota, seen: now}
	s.keys[c.Key] = h
	return h
}

// evict forgets one key of a few that nobody has asked much about. That loses a
// guess at its demand and nothing else.
func (s *leaseShard) evict(now, horizon int64) bool {
	n := 0
	for k, h := range s.keys {
		if h.idle() && h.demandAt(now, horizon) < 0.5 {
			delete(s.keys, k)
			return true
		}
		if n++; n == minLeaseShard {
			break
		}
	}
	return false
}

// idle reports whether nothing is held, and no call is under way.
func (h *holding) idle() bool {
	return h.units == 0 && h.calls == 0 && h.away == 0 && h.trips == 0
}

// depart says that units are on their way, and arrive that they are there.
func (h *holding) depart() {
	if h.trips++; h.trips == 1 {
		h.arrived = make(chan struct{})
	}
}

func (h *holding) arrive() {
	h.trip++
	if h.trips--; h.trips == 0 {
		close(h.arrived)
		h.arrived = nil
	}
}

func (h *holding) demandAt(now, horizon int64) float64 {
	if now <= h.seen {
		return h.demand
	}
	return h.demand * math.Exp(-float64(now-h.seen)/float64(horizon))
}

// count counts a charge as demand.
func (h *holding) count(now, cost, horizon int64) {
	h.demand = h.demandAt(now, horizon) + float64(cost)
	h.seen = max(h.seen, now)
}

// prefetch returns how many units to ask for beside a need.
func (h *holding) prefetch(need, now int64, t leaseTimes) int64 {
	if h.demand < slowest || h.pending > 0 || !h.asked || now-h.at > t.life || now < h.exact {
		return 0
	}
	room := h.most - h.units - h.away
	share := (h.left - need) / phi
	return max(0, min(room, share, int64(math.Ceil(h.demand))))
}

// denies reports whether the store has just denied as much as this.
func (h *holding) denies(need, now int64) bool {
	return now < h.holdOff.until && need >= h.holdOff.cost
}

// tell writes what is known of the key here. Others may have taken from the store
// since it was asked, and what has been refilled since is not counted: so this never
// grows without asking.
func (h *holding) tell(r *core.Result, now int64) {
	reset := max(0, h.reset-now)
	*r = core.Result{
		Remaining:  min(h.quota.Capacity(), h.left+h.units),
		NextAfter:  micros(min(max(0, h.next-now), reset)),
		ResetAfter: micros(reset),
	}
}

// tellDenied writes a denial that the store is not asked about, because of an earlier
// one.
func (h *holding) tellDenied(r *core.Result, off holdOff, need, now int64) {
	h.tell(r, now)
	r.Remaining = h.units
	wait := max(off.until, off.retry) - now
	if more := need - off.cost; more > 0 && h.quota.Algorithm() == algo.TokenBucket {
		spec := h.quota.Spec()
		wait += int64(math.Ceil(float64(more)*float64(spec.Period.Microseconds())/float64(spec.Limit))) + h.quota.Tick().Microseconds()
	}
	r.RetryAfter = micros(wait)
	r.NextAfter = min(max(r.NextAfter, time.Microsecond), r.RetryAfter)
	r.ResetAfter = max(r.ResetAfter, r.NextAfter)
}

func micros(us int64) time.Duration { return time.Duration(us) * time.Microsecond }

// amend adds to a denied call's answer by the store what is known here.
func (h *holding) amend(r *core.Result, need, now int64) {
	r.Remaining += h.units
	if !r.Granted && !r.Blocked && h.denies(need, now) && r.RetryAfter != core.Never {
		r.RetryAfter = max(r.RetryAfter, micros(h.holdOff.until-now))
	}
}

// learn remembers what the store has said of the key when it was asked at an instant.
// A twin may have been denied because of another charge of its call.
func (h *holding) learn(need int64, r *core.Result, at int64, t leaseTimes, twin bool) {
	if r.Unknown || r.Partial || r.Blocked || at < h.at {
		return
	}
	h.asked, h.at, h.left = true, at, r.Remaining
	h.next, h.reset = after64(at, r.NextAfter), after64(at, r.ResetAfter)
	if r.Granted {
		h.holdOff = holdOff{}
		return
	}
	if h.demand < slowest || r.RetryAfter == core.Never || twin {
		return // a slow key is exact
	}
	off := holdOff{cost: need, retry: after64(at, r.RetryAfter)}
	quarter := h.quota.Window().Microseconds() / 4
	off.until = min(max(off.retry, at+min(t.holdOff, quarter)), at+longestHoldOff)
	h.holdOff = off
}

func after64(at int64, span time.Duration) int64 {
	us := span.Microseconds()
	if us > never-at {
		return never
	}
	return at + us
}

// add takes what a grant has brought: extra units to hold, beside those that it has
// paid for.
func (h *holding) add(r *core.Result, paid, extra, at int64, t leaseTimes) {
	edge := int64(never)
	if h.quota.Algorithm() == algo.FixedWindow {
		edge = after64(at, r.ResetAfter) // a span, so that clocks need not agree
		if h.held() && r.Receipt.At < h.receipt.At {
			return // of a window that is over
		}
		if r.Receipt.At > h.receipt.At {
			h.drop()
		}
	}
	if h.units+extra == 0 {
		h.drop()
		return
	}
	if newer(r.Receipt, h.receipt) {
		h.receipt, h.paid = r.Receipt, 0
	}
	h.handOut(r.Receipt, paid)
	h.units += extra
	h.ends, h.edge = min(at+t.life, edge), edge
}

// handOut counts units that were granted or held under a receipt as paid out.
func (h *holding) handOut(receipt algo.Receipt, units int64) {
	if h.receipt == receipt {
		h.paid += units
	}
}

// pays takes a cost from what is held, if that is enough.
func (h *holding) pays(cost, now int64) bool {
	if h.units < cost || now >= h.ends {
		return false
	}
	h.units -= cost
	h.paid += cost
	return true
}

// putBack holds again what a call had set aside. When nothing else is held meanwhile,
// it is as it was.
func (h *holding) putBack(units int64, receipt algo.Receipt, ends, edge int64) {
	if !h.held() {
		h.receipt, h.paid, h.ends, h.edge = receipt, 0, ends, edge
	}
	h.units += units
}

// held reports whether there is a grant of which units are here, or may come back.
func (h *holding) held() bool { return h.receipt != algo.Receipt{} }

// newer reports whether one grant came after another. Units that are held under an
// older receipt can be given back by a newer one: its level counts them too.
func newer(a, b algo.Receipt) bool { return a.At > b.At || a.At == b.At && a.Level > b.Level }

// drop forgets that anything is held.
func (h *holding) drop() { h.units, h.paid, h.receipt, h.ends, h.edge = 0, 0, algo.Receipt{}, 0, 0 }

// retire appends to a list what is held, and holds nothing any more. Units of a window
// that is over are nobody's.
func (h *holding) retire(list []core.Refund, now int64) []core.Refund {
	if h.units > 0 && now < h.edge {
		list = append(list, h.refund(h.units, h.receipt))
	}
	h.drop()
	return list
}

func (h *holding) refund(units int64, receipt algo.Receipt) core.Refund {
	return core.Refund{Key: h.key, Limit: h.limit, Quota: h.quota, Units: units, Receipt: receipt}
}

// become makes it a holding of another quota, of whose demand nothing is known. It is
// exact for a moment, and for longer each time: callers of different tiers may share a
// key, and to give units back at every change of tier is worse than to hold none.
func (h *holding) become(q *algo.Quota, now, life int64) {
	if now > h.exact+longestPause {
		h.pause = 0
	}
	h.pause = min(max(life, 2*h.pause), longestPause)
	h.exact = now + h.pause
	h.quota, h.demand, h.asked, h.left, h.next, h.reset, h.holdOff = q, 0, false, 0, 0, 0, holdOff{}
}

// forget is for a key that is reset.
func (h *holding) forget() {
	h.drop()
	h.resets++
	h.asked, h.left, h.next, h.reset, h.holdOff = false, 0, 0, 0, holdOff{}
}
