package httpmwtest

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/store/memstore"
)

// The most that an adapter may allocate above the bare handler, with headers.
const (
	allowedAllocations = 3
	deniedAllocations  = 5
)

// Allocations checks what an adapter allocates for a request GET /x above the bare
// handler, which build makes when it gets no limiter. It means nothing under the
// race detector.
func Allocations(t *testing.T, build func(*core.Limiter) http.Handler) {
	for name, tt := range map[string]struct {
		quotas []int64
		most   float64
	}{
		"one limit":      {[]int64{1e9}, allowedAllocations},
		"three limits":   {[]int64{1e9, 1e9, 1e9}, allowedAllocations},
		"denied":         {[]int64{0}, deniedAllocations},
		"denied by some": {[]int64{0, 1e9, 0}, deniedAllocations},
	} {
		var limits []core.Limit
		for i, n := range tt.quotas {
			limits = append(limits, core.Limit{Name: "limit-" + string(rune('a'+i)), Match: []string{"GET /x"}, Quota: core.TokenBucket(n, time.Hour)})
		}
		l, err := core.New(core.Config{Store: memstore.New(memstore.Config{MaxKeys: 1000}), Limits: limits})
		if err != nil {
			t.Fatal(err)
		}
		bare, _ := allocations(build(nil))
		limited, h := allocations(build(l))
		if limited-bare > tt.most {
			t.Errorf("%s: %v allocations above the bare handler, want at most %v", name, limited-bare, tt.most)
		}
		if len(h["Ratelimit"]) != 1 {
			t.Errorf("%s: no RateLimit was sent", name)
		}
	}
}

func allocations(h http.Handler) (float64, http.Header) {
	r, w := httptest.NewRequest("GET", "/x", nil), &blank{http.Header{}}
	return testing.AllocsPerRun(200, func() { clear(w.h); h.ServeHTTP(w, r) }), w.h
}

// blank is a ResponseWriter that can be used again.
type blank struct{ h http.Header }

func (b *blank) Header() http.Header         { return b.h }
func (b *blank) Write(p []byte) (int, error) { return len(p), nil }
func (b *blank) WriteHeader(int)             {}
