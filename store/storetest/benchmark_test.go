package storetest

import (
	"strings"
	"testing"

	"github.com/tidegate/tidegate/core"
)

func BenchmarkReference(b *testing.B) {
	Benchmark(b, Harness{New: func(testing.TB) core.Store { return newReference() }})
}

// A benchmark of many keys that has only used one must not pass.
func TestBenchmarkWantsKeysSpread(t *testing.T) {
	for _, tt := range []struct {
		name  string
		store core.Store
		ok    bool
	}{
		{"reference", newReference(), true},
		{"ignoresHi", ignoresHi(), true}, // the keys differ in Lo
		{"ignoresKey", translating(func(c core.Charge) core.Charge { c.Key = core.Key{}; return c }), false},
		{"hashesBriefly", hashesBriefly(), false},
	} {
		l := load{keys: 1_000, limits: 3, burst: enough}
		if err := l.prepare(tt.store); err != nil {
			t.Fatal(err)
		}
		const decisions = 2_500
		charges, results := l.bill()
		for i := range decisions {
			if err := l.decide(t.Context(), tt.store, charges, results, i%l.keys); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.checkSpread(tt.store, decisions); (err == nil) != tt.ok {
			t.Errorf("%s: checkSpread = %v, want an error: %v", tt.name, err, !tt.ok)
		}
		if err := l.checkSum(tt.store, decisions); (err == nil) != tt.ok {
			t.Errorf("%s: checkSum = %v, want an error: %v", tt.name, err, !tt.ok)
		}
	}
}

// A store that denies what is to be granted does not pass for a fast one.
func TestBenchmarkWantsItsDecisions(t *testing.T) {
	l := load{keys: 1, limits: 1, burst: 1}
	s := newReference()
	if err := l.prepare(s); err != nil {
		t.Fatal(err)
	}
	charges, results := l.bill()
	if err := l.decide(t.Context(), s, charges, results, 0); err != nil {
		t.Fatal(err)
	}
	err := l.decide(t.Context(), s, charges, results, 0)
	if err == nil || !strings.Contains(err.Error(), "granted: false") {
		t.Errorf("decide of an empty key = %v, want an error", err)
	}
}
