package headers

import (
	"net/http"
	"testing"
	"time"
)

var (
	somePolicies = []Policy{
		{Name: "create-order", Quota: 20, Window: 2 * time.Second},
		{Name: `per"user`, Quota: 65535, Unit: ContentBytes, Window: 10 * time.Second, Partition: []byte("App-999")},
	}
	someStatuses = []Status{
		{Name: "create-order", Remaining: 19, Reset: 100 * time.Millisecond, HasReset: true},
		{Name: `per"user`, Remaining: 3, Partition: []byte("App-999")},
	}
	someItems = []Item{
		{Policy: somePolicies[0], Status: someStatuses[0]},
		{Policy: somePolicies[1], Status: someStatuses[1], Denied: true, RetryAfter: time.Second, HasRetryAfter: true},
	}
)

// Appending is on the path of every request.
func TestAppendingDoesNotAllocate(t *testing.T) {
	buf := make([]byte, 0, 1024)
	p := golden()
	p.Detail = "é \" \xff"
	for name, f := range map[string]func(){
		"AppendPolicy":          func() { AppendPolicy(buf, somePolicies[1]) },
		"AppendPolicies":        func() { AppendPolicies(buf, somePolicies) },
		"AppendStatus":          func() { AppendStatus(buf, someStatuses[1]) },
		"AppendStatuses":        func() { AppendStatuses(buf, someStatuses) },
		"AppendDraft06Policies": func() { AppendDraft06Policies(buf, somePolicies) },
		"AppendJSON":            func() { p.AppendJSON(buf) },
		"Tightest":              func() { _ = someItems[Tightest(someItems)].Trio() },
		"RetrySeconds":          func() { RetrySeconds(time.Second) },
		"ValidName":             func() { _ = ValidName("create-order") },
	} {
		if got := testing.AllocsPerRun(100, f); got != 0 {
			t.Errorf("%s: %v allocations, want 0", name, got)
		}
	}
}

// One for the text of all numbers and one for the slice that the map needs.
func TestTrioSetAllocatesTwice(t *testing.T) {
	h := http.Header{}
	trio := Trio{Limit: 100, Remaining: 42, Reset: 18 * time.Second, Window: time.Minute}
	trio.Set(h, Draft06|XEpoch, noon) // let the map grow
	if got := testing.AllocsPerRun(100, func() { trio.Set(h, Draft06|XEpoch, noon) }); got > 2 {
		t.Errorf("Trio.Set: %v allocations, want at most 2", got)
	}
}

func BenchmarkAppendStatus(b *testing.B) {
	buf := make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		AppendStatus(buf, someStatuses[0])
	}
}

func BenchmarkAppendPolicies(b *testing.B) {
	buf := make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		AppendPolicies(buf, somePolicies)
	}
}

func BenchmarkProblemAppendJSON(b *testing.B) {
	buf := make([]byte, 0, 1024)
	p := golden()
	b.ReportAllocs()
	for b.Loop() {
		p.AppendJSON(buf)
	}
}

func BenchmarkTrioSet(b *testing.B) {
	h := http.Header{}
	trio := Trio{Limit: 100, Remaining: 42, Reset: 18 * time.Second, Window: time.Minute}
	b.ReportAllocs()
	for b.Loop() {
		trio.Set(h, Draft06|XEpoch, noon)
	}
}

func BenchmarkParseStatuses(b *testing.B) {
	lines := []string{string(AppendStatuses(nil, someStatuses))}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseStatuses(lines); err != nil {
			b.Fatal(err)
		}
	}
}
