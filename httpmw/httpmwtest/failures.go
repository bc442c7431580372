package httpmwtest

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tidegate/tidegate/core"
)

func failures() []Case {
	return []Case{
		{"OpenStoreFailure", "With an open policy a failing store lets requests pass, and no numbers are invented.", openStoreFailure},
		{"ClosedStoreFailure", "With a closed policy a failing store is a 503 with Retry-After and no quota fields, never a 429 or 500.", closedStoreFailure},
		{"PanicInIdentify", "When the program's own identify function panics the handler does not run, and the store is not blamed.", panicInIdentify},
	}
}

// failingStore cannot answer.
type failingStore struct{ core.Store }

func (failingStore) Take(context.Context, []core.Charge, []core.Result) error {
	return &core.StoreError{Kind: "refused", Err: context.DeadlineExceeded}
}
func (failingStore) Traits() core.Traits { return core.Traits{} }

type failureCount struct{ n atomic.Int64 }

func (*failureCount) Decided(context.Context, *core.Decision) {}
func (f *failureCount) Failed(context.Context, error)         { f.n.Add(1) }
func (*failureCount) Reloaded(error)                          {}

func openStoreFailure(p *Probe) {
	p.startWith(App{Identify: user}, core.Config{Store: failingStore{}, Limits: []core.Limit{bucket("a", 1, time.Hour)}})
	for range 3 {
		r := p.ask("GET", "/x", "X-User", "a")
		p.want("status", r.StatusCode, 200)
		p.want("headers", r.Header.Get("RateLimit")+r.Header.Get("RateLimit-Policy")+r.Header.Get("Retry-After"), "")
	}
}

func closedStoreFailure(p *Probe) {
	l := bucket("a", 1, time.Hour)
	l.StoreFailure = core.FailClosed
	watch := &failureCount{}
	p.startWith(App{Identify: user}, core.Config{Store: failingStore{}, Limits: []core.Limit{l, bucket("b", 1, time.Hour)}, Observer: watch})
	r := p.ask("GET", "/x", "X-User", "a")
	p.want("status", r.StatusCode, 503)
	p.want("Content-Type", r.Header.Get("Content-Type"), "application/problem+json")
	p.want("Cache-Control", r.Header.Get("Cache-Control"), "no-store")
	p.want("quota fields", r.Header.Get("RateLimit")+r.Header.Get("RateLimit-Policy"), "")
	if after := r.Header.Get("Retry-After"); after < "1" || after > "9" || len(after) != 1 {
		p.errorf("Retry-After %q, want a few seconds", after)
	}
	if !strings.Contains(r.body, `"status":503`) || strings.Contains(r.body, "quota-exceeded") {
		p.errorf("body %s", r.body)
	}
	p.want("failures told", watch.n.Load(), int64(1))
}

func panicInIdentify(p *Probe) {
	ran, watch := 0, &failureCount{}
	p.startWith(App{
		Identify: func(*http.Request) core.Identity { panic("a bug in authentication") },
		Routes:   []Route{{Method: "GET", Path: "/x", Handle: func(w http.ResponseWriter, r *http.Request) { ran++; ok(w, r) }}},
	}, core.Config{Limits: []core.Limit{bucket("a", 1, time.Hour)}, Observer: watch})
	if r, err := p.send("GET", "/x", nil); err == nil && r.StatusCode < 500 {
		p.errorf("got %d, want the framework's answer to a panic", r.StatusCode)
	}
	p.want("handler runs", ran, 0)
	p.want("failures told", watch.n.Load(), int64(0))
}
