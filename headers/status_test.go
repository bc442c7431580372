package headers

import (
	"math"
	"testing"
	"time"
)

func TestAppendStatuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		ss   []Status
		want string
	}{
		{"29.1s left", []Status{
			{Name: "default", Remaining: 50, Reset: 29100 * time.Millisecond, HasReset: true},
		}, `"default";r=50;t=30`},
		{"negative remaining, 1ns, concurrency", []Status{
			{Name: "hour", Remaining: -3, Reset: 1, HasReset: true},
			{Name: "inflight", Remaining: 3},
		}, `"hour";r=0;t=1, "inflight";r=3`},
		{"partition without reset", []Status{
			{Name: "default", Remaining: 999, Partition: []byte("trial121323")},
		}, `"default";r=999;pk=:dHJpYWwxMjEzMjM=:`},
		{"2^62 units", []Status{{Name: "big", Remaining: 1 << 62}}, `"big";r=999999999999999`},
		{"allowed response of a token bucket", []Status{
			{Name: "create-order", Remaining: 19, Reset: 100 * time.Millisecond, HasReset: true},
		}, `"create-order";r=19;t=1`},
		{"denial of 18s", []Status{
			{Name: "burst", Reset: 18 * time.Second, HasReset: true},
		}, `"burst";r=0;t=18`},
		{"a reset that is not told is not written", []Status{{Name: "a", Reset: time.Hour}}, `"a";r=0`},
		{"nothing to list", nil, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(AppendStatuses(nil, tt.ss)); got != tt.want {
				t.Errorf("AppendStatuses(%+v)\n got %s\nwant %s", tt.ss, got, tt.want)
			}
		})
	}
}

// A check for "falsy" numbers drops the very zero that the client waits for.
func TestZeroIsWrittenInEveryField(t *testing.T) {
	s := Status{Name: "a", Remaining: 0, Reset: 0, HasReset: true}
	if got, want := string(AppendStatus(nil, s)), `"a";r=0;t=0`; got != want {
		t.Errorf("AppendStatus(%+v) = %s, want %s", s, got, want)
	}
}

// A counter that ran past its limit or its expiry must not show as a negative.
func TestNumbersAreNeverNegative(t *testing.T) {
	for _, n := range []int64{-1, math.MinInt64} {
		s := Status{Name: "a", Remaining: n, Reset: time.Duration(n), HasReset: true}
		if got, want := string(AppendStatus(nil, s)), `"a";r=0;t=0`; got != want {
			t.Errorf("AppendStatus(%+v) = %s, want %s", s, got, want)
		}
	}
}

func item(remaining int64, reset time.Duration) Item {
	return Item{Status: Status{Remaining: remaining, Reset: reset, HasReset: reset > 0}}
}

func denied(remaining int64, wait time.Duration) Item {
	it := item(remaining, wait)
	it.Denied, it.RetryAfter, it.HasRetryAfter = true, wait, true
	return it
}

// Of nested limiters the inner one denied and the outer one's 99 left were
// reported: what denied comes first, then what is nearest to denying.
func TestTightestReportsTheDenyingPolicy(t *testing.T) {
	never := Item{Denied: true, RetryAfter: time.Second}
	hidden := item(0, 0)
	hidden.Status.Reset = time.Hour // not told, so it does not count
	for _, tt := range []struct {
		name  string
		items []Item
		want  int
	}{
		{"none", nil, -1},
		{"one", []Item{item(5, 0)}, 0},
		{"lowest remaining", []Item{item(99, time.Hour), item(1, time.Second), item(2, 0)}, 1},
		{"equal remaining: longest reset", []Item{item(1, time.Second), item(1, time.Minute)}, 1},
		{"a reset that is not told is the shortest", []Item{hidden, item(0, time.Second)}, 1},
		{"all equal: the first", []Item{item(1, time.Second), item(1, time.Second)}, 0},
		{"denied before empty", []Item{item(0, time.Hour), denied(3, time.Second)}, 1},
		{"denied: longest wait before lowest remaining", []Item{denied(0, time.Second), denied(3, time.Minute)}, 1},
		{"denied: equal waits, lowest remaining", []Item{denied(4, time.Second), denied(3, time.Second)}, 1},
		{"denied for ever", []Item{denied(0, time.Hour), never}, 1},
		{"a wait in the past still denied", []Item{item(0, 0), denied(1, -time.Second)}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Tightest(tt.items); got != tt.want {
				t.Errorf("Tightest(%+v) = %d, want %d", tt.items, got, tt.want)
			}
		})
	}
}

func TestItemTrio(t *testing.T) {
	it := Item{
		Policy:        Policy{Name: "a", Quota: 5, Window: time.Minute},
		Status:        Status{Name: "a", Remaining: 2, Reset: 3 * time.Second, HasReset: true},
		RetryAfter:    7 * time.Second,
		HasRetryAfter: true,
	}
	want := Trio{Limit: 5, Remaining: 2, Reset: 3 * time.Second, Window: time.Minute}
	if got := it.Trio(); got != want {
		t.Errorf("allowed: Trio() = %+v, want %+v", got, want)
	}
	it.Denied = true
	want.Reset = 7 * time.Second
	if got := it.Trio(); got != want {
		t.Errorf("denied: Trio() = %+v, want %+v", got, want)
	}
	it.HasRetryAfter = false
	want.Reset = 3 * time.Second
	if got := it.Trio(); got != want {
		t.Errorf("denied for ever: Trio() = %+v, want %+v", got, want)
	}
}
