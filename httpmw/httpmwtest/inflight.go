package httpmwtest

import (
	"context"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidegate/tidegate/core"
)

func inFlight() []Case {
	return []Case{
		{"AtOnce", "A concurrency limit lets its number in at once, and the next when one has been answered.", atOnce},
		{"SlotsComeBack", "However a handler ends, its slot is given back, once, before the middleware returns.", slotsComeBack},
		{"SlotsOfThoseWhoLeave", "A client that goes away does not free the slot of a handler that still runs.", slotsOfThoseWhoLeave},
		{"SlotsOfTheDenied", "A request that another limit denies holds no slot.", slotsOfTheDenied},
	}
}

func slots(name string, n int64) core.Limit {
	return core.Limit{Name: name, Quota: core.Concurrency(n)}
}

// A gate holds handlers until it is opened.
type gate struct {
	inside atomic.Int64
	most   atomic.Int64
	open   chan struct{}
	once   sync.Once
}

func newGate() *gate { return &gate{open: make(chan struct{})} }

func (g *gate) release() { g.once.Do(func() { close(g.open) }) }

func (g *gate) pass(w http.ResponseWriter, _ *http.Request) {
	n := g.inside.Add(1)
	defer g.inside.Add(-1)
	for {
		if most := g.most.Load(); n <= most || g.most.CompareAndSwap(most, n) {
			break
		}
	}
	<-g.open
	w.WriteHeader(http.StatusOK)
}

func (g *gate) await(n int64) bool {
	for range 2000 {
		if g.inside.Load() == n {
			return true
		}
		time.Sleep(time.Millisecond)
	}
	return false
}

func atOnce(p *Probe) {
	g := newGate()
	p.start(App{Identify: user, Routes: []Route{{Method: "GET", Path: "/x", Handle: g.pass}}}, slots("in-flight", 2))
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if r, err := p.send("GET", "/x", nil, "X-User", "a"); err != nil || r.StatusCode != 200 {
				p.errorf("one of two at once: %v", err)
			}
		})
	}
	if !g.await(2) {
		p.errorf("two at once did not get in")
	}
	time.AfterFunc(2*time.Second, g.release) // should an adapter let the third in
	r := p.ask("GET", "/x", "X-User", "a")
	if r.StatusCode != 429 || r.Header.Get("Retry-After") != "1" {
		p.errorf("the third at once: %d with Retry-After %q, want 429 and the hint of 1", r.StatusCode, r.Header.Get("Retry-After"))
	}
	g.release()
	wg.Wait()
	if got := p.ask("GET", "/x", "X-User", "a").StatusCode; got != 200 {
		p.errorf("after the two were answered: %d, want 200", got)
	}
	if g.most.Load() > 2 {
		p.errorf("%d were inside at once, of 2", g.most.Load())
	}
}

func slotsComeBack(p *Probe) {
	endings := map[string]http.HandlerFunc{
		"returns":   ok,
		"nothing":   func(http.ResponseWriter, *http.Request) {},
		"panics":    func(http.ResponseWriter, *http.Request) { panic("on purpose") },
		"aborts":    func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"goes":      func(http.ResponseWriter, *http.Request) { runtime.Goexit() },
		"takesover": takesOver,
	}
	if p.http2 {
		delete(endings, "goes") // net/http's HTTP/2 server answers nothing then, and the client waits
	}
	var routes []Route
	for name, h := range endings {
		routes = append(routes, Route{Method: "GET", Path: "/" + name, Handle: h})
	}
	p.start(App{Identify: user, Routes: append(routes, Route{Method: "GET", Path: "/x", Handle: ok})}, slots("in-flight", 1))
	for name := range endings {
		for range 5 {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			req, _ := http.NewRequestWithContext(ctx, "GET", p.server.URL+"/"+name, nil)
			req.Header.Set("X-User", name)
			if r, err := p.server.Client().Do(req); err == nil {
				// Whose connection breaks may come back before the handler has returned.
				if r.StatusCode == 429 && (name == "returns" || name == "nothing") {
					p.errorf("%s: 429, want the slot of the one before", name)
				}
				r.Body.Close()
			}
			cancel()
		}
		for i := range 100 {
			if got := p.ask("GET", "/x", "X-User", name).StatusCode; got == 200 {
				break
			} else if i == 99 {
				p.errorf("after a handler that %s: %d, want its slot back", name, got)
			}
			time.Sleep(5 * time.Millisecond) // a client may hear of a broken connection first
		}
	}
}

func takesOver(w http.ResponseWriter, _ *http.Request) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		conn.Close()
	}
}

func slotsOfThoseWhoLeave(p *Probe) {
	g := newGate()
	p.start(App{Identify: user, Routes: []Route{{Method: "GET", Path: "/x", Handle: g.pass}}}, slots("in-flight", 2))
	for range 10 {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		req, _ := http.NewRequestWithContext(ctx, "GET", p.server.URL+"/x", nil)
		req.Header.Set("X-User", "a")
		if r, err := p.server.Client().Do(req); err == nil {
			r.Body.Close()
		}
		cancel()
	}
	if g.most.Load() > 2 {
		p.errorf("%d were inside at once, of 2, when clients kept leaving", g.most.Load())
	}
	g.release()
	if !g.await(0) {
		p.errorf("handlers are still inside")
	}
	for i := range 100 {
		if got := p.ask("GET", "/x", "X-User", "a").StatusCode; got == 200 {
			break
		} else if i == 99 {
			p.errorf("after all had left: %d, want 200", got)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func slotsOfTheDenied(p *Probe) {
	p.start(App{Identify: user}, slots("in-flight", 1), bucket("a", 1, time.Hour))
	p.want("one, and denials", p.statuses(4, "GET", "/x", "X-User", "a"), "200 429 429 429")
	if got := p.ask("GET", "/x", "X-User", "a").Header.Get("RateLimit"); got != `"a";r=0;t=3600` {
		p.errorf("RateLimit of a denial is %s, want the limit that denies only", got)
	}
}
