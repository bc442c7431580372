package storetest

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

func slotCases() []Case {
	return []Case{
		one("SlotsAtOnce", "A concurrency limit grants its number at once, and one more for each that is given back.", Slots, slotsAtOnce),
		one("SlotGivenTwice", "A slot is given back once, however often it is returned and by how many at a time.", Slots, slotGivenTwice),
		one("SlotOfADeniedCall", "A call that another charge denies holds no slot, and one whose slot is denied spends nothing else.", Slots, slotOfADeniedCall),
		one("SlotNeverFits", "A slot that costs more than the limit is never granted, and a limit of 0 grants none.", Slots, slotNeverFits),
		one("SlotsLowered", "A lowered number counts those who hold slots, and a raised one grants the difference.", Slots, slotsLowered),
		one("SlotsInAStorm", "However many ask at once, there are never more holders than the limit's number.", Slots, slotsInAStorm),
		one("SlotsAreReset", "Reset frees every slot of a key.", Slots, slotsAreReset),
		one("SlotIsRenewed", "A slot is held until it is given back, longer than its Hold too, while its process lives.", Slots, slotIsRenewed),
	}
}

func (r *run) openSlots(n int64) account {
	return r.open(algo.Spec{Algorithm: algo.Concurrency, Limit: n})
}

func (a account) slot(cost int64) core.Charge {
	c := a.charge(cost)
	c.Slot, c.Hold = rand.Uint64(), time.Minute
	return c
}

func (r *run) holdsSlot(c core.Charge, left int64) core.Result {
	got := r.takeOne(c)
	r.want(got.Granted, "slot %d was denied, want granted", c.Slot)
	r.want(got.Remaining == left, "a slot left %d, want %d", got.Remaining, left)
	return got
}

func (r *run) deniesSlot(c core.Charge, why string) {
	got := r.takeOne(c)
	r.want(!got.Granted, "slot %d was granted, want denied: %s", c.Slot, why)
	r.want(got.RetryAfter > 0 && got.RetryAfter < core.Never, "a denied slot says retry after %v, want a hint", got.RetryAfter)
}

func slotRefund(c core.Charge, got core.Result) core.Refund {
	return core.Refund{Key: c.Key, Limit: c.Limit, Quota: c.Quota, Units: c.Cost, Receipt: got.Receipt, Slot: c.Slot}
}

func slotsAtOnce(r *run) {
	a := r.openSlots(3)
	var list []core.Charge
	var got []core.Result
	for i := range int64(3) {
		c := a.slot(1)
		list, got = append(list, c), append(got, r.holdsSlot(c, 2-i))
	}
	r.deniesSlot(a.slot(1), "all three are held")
	for i := range list {
		r.give(slotRefund(list[i], got[i]))
		r.holdsSlot(a.slot(1), 0)
		r.deniesSlot(a.slot(1), "one was given back, and taken again")
	}
	wide := r.openSlots(5)
	c := wide.slot(4)
	first := r.holdsSlot(c, 1)
	r.deniesSlot(wide.slot(2), "4 of 5 are held")
	r.give(slotRefund(c, first))
	r.holdsSlot(wide.slot(5), 0)
}

func slotGivenTwice(r *run) {
	a := r.openSlots(2)
	c := a.slot(1)
	got := r.holdsSlot(c, 1)
	r.holdsSlot(a.slot(1), 0)
	r.parallel(8, func(_ int, r *run) { r.give(slotRefund(c, got), slotRefund(c, got)) })
	r.holdsSlot(a.slot(1), 0)
	r.deniesSlot(a.slot(1), "one slot was given back, sixteen times")
}

func slotOfADeniedCall(r *run) {
	a := r.openSlots(1)
	empty := r.openFor(a, tokenBucket.spec(1, r.long()))
	r.drain(empty)
	full := r.openFor(a, fixedWindow.spec(5, r.long()))
	got := r.take(a.slot(1), empty.charge(1))
	r.want(got[0].Granted && !got[1].Granted, "granted %v and %v, want the slot and not the unit", got[0].Granted, got[1].Granted)
	c := a.slot(1)
	r.holdsSlot(c, 0)
	got = r.take(full.charge(1), a.slot(1))
	r.want(got[0].Granted && !got[1].Granted, "granted %v and %v, want the unit and not the slot", got[0].Granted, got[1].Granted)
	r.left(full, 5, "the call was denied")
}

func slotNeverFits(r *run) {
	a := r.openSlots(2)
	got := r.takeOne(a.slot(3))
	r.want(!got.Granted && got.RetryAfter == core.Never, "3 slots of 2: granted %v, retry after %v; want Never", got.Granted, got.RetryAfter)
	none := r.openSlots(0)
	got = r.takeOne(none.slot(1))
	r.want(!got.Granted && got.RetryAfter == core.Never, "a slot of 0: granted %v, retry after %v; want Never", got.Granted, got.RetryAfter)
}

func slotsLowered(r *run) {
	a := r.openSlots(4)
	for i := range int64(3) {
		r.holdsSlot(a.slot(1), 3-i)
	}
	low := a.under(r.openSlots(2).quota)
	r.deniesSlot(low.slot(1), "3 are held, and the number became 2")
	r.want(r.peekOne(low.slot(1)).Remaining == 0, "remaining is not 0 with 3 held of 2")
	high := a.under(r.openSlots(5).quota)
	r.holdsSlot(high.slot(1), 1)
	r.holdsSlot(high.slot(1), 0)
	r.deniesSlot(high.slot(1), "5 are held of 5")
}

func slotsInAStorm(r *run) {
	const n = 5
	a := r.openSlots(n)
	var now, most, granted atomic.Int64
	r.parallel(stormers, func(_ int, r *run) {
		for range stormEach {
			c := a.slot(1)
			got := r.takeOne(c)
			if !got.Granted {
				continue
			}
			granted.Add(1)
			for held := now.Add(1); ; {
				old := most.Load()
				if held <= old || most.CompareAndSwap(old, held) {
					break
				}
			}
			for range 5 {
				runtime.Gosched() // others come while it is held
			}
			now.Add(-1)
			r.give(slotRefund(c, got))
		}
	})
	r.want(most.Load() <= n, "%d held slots at once, of %d", most.Load(), n)
	r.want(granted.Load() >= n, "only %d were granted in a storm", granted.Load())
	r.want(r.peekOne(a.slot(1)).Remaining == n, "%d of %d slots are free after all were given back", r.peekOne(a.slot(1)).Remaining, n)
}

func slotsAreReset(r *run) {
	a := r.openSlots(2)
	r.holdsSlot(a.slot(2), 0)
	r.reset(a)
	r.holdsSlot(a.slot(2), 0)
}

func slotIsRenewed(r *run) {
	if r.s.harness.Advance != nil {
		return // whoever renews sleeps in real time, which does not pass with the store's
	}
	a := r.openSlots(1)
	c := a.slot(1)
	c.Hold = 300 * time.Millisecond
	got := r.holdsSlot(c, 0)
	r.sleep(time.Second)
	r.deniesSlot(a.slot(1), "the slot is still held")
	r.give(slotRefund(c, got))
	r.holdsSlot(a.slot(1), 0)
}
