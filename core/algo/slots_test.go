package algo

import (
	"testing"
	"time"
)

// Slots are held by name, and given back once.
func TestSlots(t *testing.T) {
	q, err := Compile(Spec{Algorithm: Concurrency, Limit: 3})
	if err != nil {
		t.Fatal(err)
	}
	var s Slots
	for id := range uint64(3) {
		o := q.TakeSlot(&s, id+1, Ask{Cost: 1})
		if !o.Granted || o.Remaining != 2-int64(id) || o.Receipt == (Receipt{}) {
			t.Fatalf("slot %d: %+v", id, o)
		}
	}
	if o := q.TakeSlot(&s, 9, Ask{Cost: 1}); o.Granted || o.RetryAfter != Hint || s.Held() != 3 {
		t.Errorf("a fourth of three: %+v, %d held", o, s.Held())
	}
	if o := q.TakeSlot(&s, 9, Ask{Cost: 4}); o.RetryAfter != Never {
		t.Errorf("four of three: %+v, want Never", o)
	}
	if !s.Give(2, 1) || s.Give(2, 1) || s.Give(77, 1) || s.Held() != 2 {
		t.Errorf("%d held after one was given back, twice; want 2", s.Held())
	}
	if o := q.TakeSlot(&s, 1, Ask{Extra: 5}); o.Extra != 1 || s.Held() != 3 {
		t.Errorf("as far as they go: %+v, %d held", o, s.Held())
	}
	if !s.Give(1, 9) || s.Held() != 1 {
		t.Errorf("%d held after the first gave back all of its two, want 1", s.Held())
	}
	if s.Bytes() == 0 || s.Grown() < s.Bytes() || (&Slots{}).Grown() == 0 {
		t.Errorf("%d bytes, %d after one more", s.Bytes(), s.Grown())
	}
	if o := q.PeekSlot(RestoreSlots(2), Ask{Cost: 2}); o.Granted || o.Remaining != 1 || o.NextAfter != Hint {
		t.Errorf("two of three, with two held: %+v", o)
	}
}

// What a store sends back is what it was sent: see Numbers, Edges and the rest.
func TestRestoredElsewhere(t *testing.T) {
	day, err := Compile(Spec{Algorithm: FixedWindow, Limit: 5, Period: Day, Zone: time.FixedZone("x", 3600)})
	if err != nil {
		t.Fatal(err)
	}
	now := noon
	e := day.Edges(now)
	if !day.Calendar() || day.Zone() == "" || !(e[0] < e[1] && e[1] <= now && now < e[2] && e[2] < e[3]) {
		t.Errorf("edges %v around %d", e, now)
	}
	if n := day.Numbers(); n.Limit != 5 || n.Period != Day.Microseconds() {
		t.Errorf("numbers %+v", n)
	}
	q, err := Compile(Spec{Algorithm: SlidingLog, Limit: 9, Period: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	l := RestoreLog(q, []Entry{{now - 500_000, 2}, {now - 400_000, 0}, {now - 100_000, 3}, {now - 50_000, 0}})
	if o := q.PeekLog(l, now, Ask{Cost: 5}); o.Granted || o.Remaining != 4 || o.RetryAfter != 500_000 {
		t.Errorf("5 of 9, with 5 in the log: %+v", o)
	}
	r := RestoreRecord(0, 2, now)
	if r.Blocked(now) != 0 || r.Denied(Penalty{After: 3, Within: time.Second, Block: time.Minute}, now) != time.Minute.Microseconds() {
		t.Error("the third denial of three does not block")
	}
}
