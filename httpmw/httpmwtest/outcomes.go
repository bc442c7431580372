package httpmwtest

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidegate/tidegate/core"
)

func outcomes() []Case {
	return []Case{
		{"OnlySomeStatusesCount", "The charge of a response whose status does not count is given back; r on it is before that.", onlySomeStatusesCount},
		{"AttemptsAtOnce", "Attempts at the same time cannot slip past a limit that counts failures.", attemptsAtOnce},
		{"ErrorsOfTheFramework", "A status that the framework makes of a handler's error is the status that counts.", errorsOfTheFramework},
		{"Panics", "A panic before the status is sent counts as a 500.", panics},
		{"SettledBeforeTheFirstByte", "A client that has seen the first byte finds its charge settled.", settledBeforeTheFirstByte},
		{"Takeover", "A handler that takes over the connection has answered 101.", takeover},
		{"FailedTakeover", "A handler that could not take over the connection is counted by what it answered.", failedTakeover},
		{"OwnDenialsAreNotCounted", "A 429 of the limiter is no outcome.", ownDenialsAreNotCounted},
	}
}

func counting(statuses ...int) core.Limit {
	l := bucket("a", 2, time.Hour)
	l.Count = statuses
	return l
}

// status answers with the status that the path asks for.
func status(w http.ResponseWriter, r *http.Request) {
	n, _ := strconv.Atoi(r.URL.Query().Get("s"))
	if r.URL.Query().Get("body") != "" {
		if n != 200 {
			w.WriteHeader(n)
		}
		ok(w, r)
		return
	}
	w.WriteHeader(n)
}

func onlySomeStatusesCount(p *Probe) {
	p.start(App{Identify: user, Routes: []Route{{Method: "GET", Path: "/s", Handle: status}, {Method: "GET", Path: "/nothing", Handle: func(http.ResponseWriter, *http.Request) {}}}}, counting(401, 403))
	for range 4 {
		for _, path := range []string{"/s?s=200", "/s?s=200&body=1", "/s?s=404", "/s?s=500&body=1", "/nothing"} {
			r := p.ask("GET", path, "X-User", "a")
			if r.StatusCode == 429 || r.Header.Get("RateLimit") != `"a";r=1;t=1800` {
				p.errorf("GET %s: %d, RateLimit %s, want r before the give-back", path, r.StatusCode, r.Header.Get("RateLimit"))
			}
		}
	}
	p.want("failures", p.statuses(3, "GET", "/s?s=401", "X-User", "a"), "401 401 429")
	p.want("with a body", p.statuses(3, "GET", "/s?s=403&body=1", "X-User", "b"), "403 403 429")
}

func attemptsAtOnce(p *Probe) {
	var inside atomic.Int64
	gate := make(chan struct{})
	p.start(App{Identify: user, Routes: []Route{{Method: "GET", Path: "/s", Handle: func(w http.ResponseWriter, _ *http.Request) {
		inside.Add(1)
		<-gate
		w.WriteHeader(401)
	}}}}, counting(401))
	var wg sync.WaitGroup
	var denied atomic.Int64
	for range 16 {
		wg.Go(func() {
			if r, err := p.send("GET", "/s", nil, "X-User", "a"); err == nil && r.StatusCode == 429 {
				if denied.Add(1) == 14 {
					close(gate)
				}
			}
		})
	}
	time.AfterFunc(5*time.Second, func() {
		if denied.Load() < 14 {
			close(gate) // an adapter that lets more in must not hang
		}
	})
	wg.Wait()
	p.want("handlers that ran", inside.Load(), int64(2))
}

func errorsOfTheFramework(p *Probe) {
	p.start(App{Identify: user, Routes: []Route{
		{Method: "GET", Path: "/fail", Handle: func(http.ResponseWriter, *http.Request) {}, Fail: func() int { return 503 }},
		{Method: "GET", Path: "/fine", Handle: func(http.ResponseWriter, *http.Request) {}, Fail: func() int { return 418 }},
	}}, counting(503))
	p.want("failures", p.statuses(3, "GET", "/fail", "X-User", "a"), "503 503 429")
	p.want("others", p.statuses(4, "GET", "/fine", "X-User", "b"), "418 418 418 418")
}

func panics(p *Probe) {
	p.start(App{Identify: user, Routes: []Route{
		{Method: "GET", Path: "/p", Handle: func(http.ResponseWriter, *http.Request) { panic("a bug") }},
		{Method: "GET", Path: "/q", Handle: func(w http.ResponseWriter, r *http.Request) { ok(w, r); panic(http.ErrAbortHandler) }},
	}}, core.Limit{Name: "a", Match: []string{"/p"}, Count: []int{500}, Quota: core.TokenBucket(2, time.Hour)},
		core.Limit{Name: "b", Match: []string{"/q"}, Count: []int{500}, Quota: core.TokenBucket(2, time.Hour)})
	var got []string
	for range 3 {
		r, err := p.send("GET", "/p", nil, "X-User", "a")
		switch {
		case err != nil: // net/http has no recovery that answers
			got = append(got, "500")
		default:
			got = append(got, strconv.Itoa(r.StatusCode))
		}
	}
	p.want("panics", strings.Join(got, " "), "500 500 429")
	for range 4 { // the status had been sent: 200
		if r, err := p.send("GET", "/q", nil, "X-User", "a"); err == nil && r.StatusCode == 429 {
			p.errorf("a panic after a 200 was counted as a 500")
		}
	}
}

func settledBeforeTheFirstByte(p *Probe) {
	seen := make(chan struct{})
	p.start(App{Identify: user, Routes: []Route{{Method: "GET", Path: "/s", Handle: func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(200)
		_ = http.NewResponseController(w).Flush()
		if r.URL.Query().Get("wait") != "" {
			<-seen
		}
	}}}}, counting(401))
	request, _ := http.NewRequest("GET", p.server.URL+"/s?wait=1", nil)
	request.Header.Set("X-User", "a")
	response, err := p.server.Client().Do(request)
	if err != nil {
		p.tb.Fatal(err)
	}
	p.want("while the handler runs", p.ask("GET", "/s", "X-User", "a").Header.Get("RateLimit"), `"a";r=1;t=1800`)
	close(seen)
	_ = response.Body.Close()
}

func ownDenialsAreNotCounted(p *Probe) {
	p.start(App{Identify: user, Routes: []Route{{Method: "GET", Path: "/s", Handle: status}}}, counting(401, 429))
	p.want("statuses", p.statuses(5, "GET", "/s?s=401", "X-User", "a"), "401 401 429 429 429")
	p.advance(30 * time.Minute)
	p.want("after half an hour", p.statuses(2, "GET", "/s?s=401", "X-User", "a"), "401 429")
}

// takeOver hijacks the connection and answers 101, or 401 when it cannot.
func takeOver(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		w.WriteHeader(401)
		return
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: test\r\nConnection: Upgrade\r\n\r\n")
	_ = conn.Close()
}

func takeover(p *Probe) {
	if p.http2 {
		return // there is no connection to take over
	}
	p.start(App{Identify: user, Routes: []Route{{Method: "GET", Path: "/x", Handle: takeOver}}}, counting(200, 401))
	p.want("statuses", p.statuses(3, "GET", "/x", "X-User", "a", "Connection", "Upgrade", "Upgrade", "test"), "101 101 101")
}

// notTaken is a writer whose connection cannot be taken over.
type notTaken struct{ http.ResponseWriter }

func (notTaken) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return nil, nil, http.ErrNotSupported
}

func failedTakeover(p *Probe) {
	p.around(func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(notTaken{w}, r) })
	})
	// Gin takes the response for sent when it could not be taken over, so that it is a 200.
	p.start(App{Identify: user, Routes: []Route{{Method: "GET", Path: "/x", Handle: takeOver}}}, counting(200, 401))
	p.ask("GET", "/x", "X-User", "a")
	p.ask("GET", "/x", "X-User", "a")
	p.want("a third", p.ask("GET", "/x", "X-User", "a").StatusCode, 429)
}
