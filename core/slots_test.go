package core_test

import (
	"errors"
	"testing"
	"time"

	"github.com/tidegate/tidegate/core"
)

// Slots come back once, by Done or Cancel, and whoever asks in vain holds none.
func TestSlotsComeBackOnce(t *testing.T) {
	l := newDesk(t, core.Config{Limits: []core.Limit{
		{Name: "in-flight", Quota: core.Concurrency(2)}, {Name: "rate", Quota: core.TokenBucket(4, time.Hour)},
	}})
	decide := func() *core.Decision {
		r, d := by("a"), &core.Decision{}
		l.Decide(t.Context(), &r, d)
		return d
	}
	free := func() int64 {
		d, err := l.Peek(t.Context(), "in-flight", "a", 1)
		if err != nil {
			t.Fatal(err)
		}
		return d.Limit(0).Remaining
	}
	first, second := decide(), decide()
	if !first.Allowed() || !first.Holds() || !second.Allowed() || free() != 0 {
		t.Fatalf("two at once: allowed %v and %v, %d free", first.Allowed(), second.Allowed(), free())
	}
	third := decide()
	if third.Allowed() || third.Holds() || third.RetryAfter() != time.Second {
		t.Errorf("the third: allowed %v, holds %v, retry after %v; want the hint of 1s", third.Allowed(), third.Holds(), third.RetryAfter())
	}
	for _, d := range []*core.Decision{first, first, third, first} {
		if err := d.Done(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if free() != 1 {
		t.Errorf("%d free after one was done, want 1", free())
	}
	if err := errors.Join(second.Cancel(t.Context()), second.Done(t.Context())); err != nil || free() != 2 {
		t.Errorf("%d free after the other was cancelled, %v; want 2", free(), err)
	}
	// rate: 2 of 4 were taken, one came back with the cancelled request.
	if d, _ := l.Peek(t.Context(), "rate", "a", 1); d.Limit(0).Remaining != 3 {
		t.Errorf("%d of the rate remain, want 3", d.Limit(0).Remaining)
	}
	var none core.Decision
	if none.Holds() || none.Done(t.Context()) != nil {
		t.Error("a decision of nothing holds something")
	}
}

// Without HTTP a slot is asked for with Allow and given back with Done.
func TestSlotsWithoutHTTP(t *testing.T) {
	l := newDesk(t, core.Config{Limits: []core.Limit{{Name: "jobs", Key: core.Global, Quota: core.Concurrency(1)}}})
	d, err := l.Allow(t.Context(), "jobs", "", 1)
	if err != nil || !d.Allowed() {
		t.Fatal(d.Allowed(), err)
	}
	if again, _ := l.Allow(t.Context(), "jobs", "", 1); again.Allowed() {
		t.Error("two of one at once")
	}
	if _, err := d.Add(t.Context(), "jobs", 1); err == nil {
		t.Error("added to a limit of how many at once")
	}
	if err := l.Wait(t.Context(), "jobs", "", 1); err == nil {
		t.Error("waited for a slot that nobody could give back")
	}
	if err := d.Done(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again, _ := l.Allow(t.Context(), "jobs", "", 1); !again.Allowed() {
		t.Error("the slot did not come back")
	}
}
