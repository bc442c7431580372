package storetest

import (
	"strings"
	"testing"
	"time"

	"github.com/tidegate/tidegate/core"
)

func TestHarnessMisuse(t *testing.T) {
	makeStore := func(testing.TB) core.Store { return newReference() }
	advance := func(time.Duration) {}
	for _, tt := range []struct {
		name string
		h    Harness
		want string
	}{
		{"no store", Harness{}, "Harness.New is nil"},
		{"half a clock", Harness{New: makeStore, Advance: advance}, "want both or neither"},
		{"the other half", Harness{New: makeStore, Now: time.Now}, "want both or neither"},
		{"two clocks", Harness{New: makeStore, Virtual: true, Now: time.Now, Advance: advance}, "want one kind of time"},
	} {
		err := tt.h.Check(t, Cases()[0])
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Check = %v, want an error with %q", tt.name, err, tt.want)
		}
	}
}

func TestClaimString(t *testing.T) {
	for _, tt := range []struct {
		c    Claim
		want string
	}{
		{0, "nothing"},
		{Wide, "Wide"},
		{Queues | Numbers, "Queues|Numbers"},
		{OneStep | Penalties | exactTime, "Penalties|OneStep|exact time"},
	} {
		if got := tt.c.String(); got != tt.want {
			t.Errorf("Claim(%b).String() = %q, want %q", uint(tt.c), got, tt.want)
		}
	}
}

// A failing walk says how to repeat it, and the same seed fails at the same step.
func TestWalkReplays(t *testing.T) {
	var last string
	for range 2 {
		h := Harness{New: func(testing.TB) core.Store { return wrongOnceInAWhile() }, Virtual: true}
		t.Setenv(seedVariable, "42")
		err := h.Check(t, caseCalled(t, "Walk"))
		if err == nil || !strings.Contains(err.Error(), seedVariable+"=42 go test -run '^TestWalkReplays$'") {
			t.Fatalf("Check = %v, want an error that says how to repeat walk 42", err)
		}
		what, _, _ := strings.Cut(err.Error(), "\n")
		if last != "" && what != last {
			t.Errorf("walk 42 fails with %q and then with %q", last, what)
		}
		last = what
	}
}

func caseCalled(t *testing.T, name string) Case {
	for _, c := range Cases() {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no case is called %q", name)
	return Case{}
}
