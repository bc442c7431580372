package httpmwtest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/store/memstore"
)

// A Case is one thing that users rely on.
type Case struct {
	Name  string
	Rule  string
	Check func(p *Probe)
}

// Run checks every case against the adapter, in HTTP/1.1 and HTTP/2, each as a
// subtest with a server of its own.
func Run(t *testing.T, mount Mount) {
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprintf("HTTP%d", version), func(t *testing.T) {
			for _, c := range Cases() {
				t.Run(c.Name, func(t *testing.T) {
					if err := Check(t, mount, c, version); err != nil {
						t.Errorf("%v\n\tbroken rule: %s", err, c.Rule)
					}
				})
			}
		})
	}
}

// Check checks one case and returns what is wrong with the adapter.
func Check(t testing.TB, mount Mount, c Case, version int) error {
	p := &Probe{tb: t, mount: mount, http2: version == 2}
	p.now.Store(1_700_000_000_000_000)
	c.Check(p)
	return errors.Join(p.wrong...)
}

// A Probe is a server with an app of the case's, a clock that the case sets, and a
// list of what is wrong.
type Probe struct {
	tb     testing.TB
	mount  Mount
	http2  bool
	now    atomic.Int64 // µs
	server *httptest.Server
	wrong  []error
}

func (p *Probe) errorf(format string, args ...any) {
	p.wrong = append(p.wrong, fmt.Errorf(format, args...))
}

func (p *Probe) advance(d time.Duration) { p.now.Add(d.Microseconds()) }

// limiter makes a limiter over a store with the probe's clock.
func (p *Probe) limiter(c core.Config) *core.Limiter {
	p.tb.Helper()
	if c.Store == nil {
		c.Store = memstore.New(memstore.Config{MaxKeys: 1000, Clock: func() time.Time { return time.UnixMicro(p.now.Load()) }})
	}
	l, err := core.New(c)
	if err != nil {
		p.tb.Fatal(err)
	}
	return l
}

// start serves an app with the limits, and a route GET /x if it has none.
func (p *Probe) start(app App, limits ...core.Limit) {
	p.tb.Helper()
	p.startWith(app, core.Config{Limits: limits})
}

func (p *Probe) startWith(app App, c core.Config) {
	p.tb.Helper()
	if app.Limiter == nil {
		app.Limiter = p.limiter(c)
	}
	if app.Routes == nil {
		app.Routes = []Route{{Method: "GET", Path: "/x", Handle: ok}, {Method: "POST", Path: "/x", Handle: ok}}
	}
	p.server = httptest.NewUnstartedServer(p.mount(p.tb, app))
	p.server.Config.ErrorLog = quiet
	if p.http2 {
		p.server.EnableHTTP2 = true
		p.server.StartTLS()
	} else {
		p.server.Start()
	}
	p.server.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	p.tb.Cleanup(p.server.Close)
}

func ok(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }

// A reply is a response that has been read.
type reply struct {
	*http.Response
	body string
}

// ask sends a request. Pairs are header fields; "Cookie-User" and the like are
// ordinary fields to the apps of this suite.
func (p *Probe) ask(method, path string, pairs ...string) reply {
	p.tb.Helper()
	r, err := p.send(method, path, nil, pairs...)
	if err != nil {
		p.tb.Fatal(err)
	}
	return r
}

func (p *Probe) send(method, path string, body io.Reader, pairs ...string) (reply, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, p.server.URL+path, body)
	if err != nil {
		return reply{}, err
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		request.Header.Add(pairs[i], pairs[i+1])
	}
	response, err := p.server.Client().Do(request)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return reply{response, string(text)}, err
}

// raw sends a request line as it is, over HTTP/1.1, and returns the status and
// whether the answer has RateLimit.
func (p *Probe) raw(line string) (status int, limited bool) {
	p.tb.Helper()
	conn, err := net.Dial("tcp", p.server.Listener.Addr().String())
	if err != nil {
		p.tb.Fatal(err)
	}
	defer conn.Close()
	if p.http2 {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
	}
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n", line); err != nil {
		p.tb.Fatal(err)
	}
	text, err := io.ReadAll(conn)
	if err != nil && len(text) == 0 {
		p.tb.Fatal(err)
	}
	_, _ = fmt.Sscanf(string(text), "HTTP/1.1 %d", &status)
	return status, strings.Contains(string(text), "\r\nRatelimit: ")
}

// statuses asks n times and returns the statuses in a row.
func (p *Probe) statuses(n int, method, path string, pairs ...string) string {
	p.tb.Helper()
	var all []string
	for range n {
		all = append(all, fmt.Sprint(p.ask(method, path, pairs...).StatusCode))
	}
	return strings.Join(all, " ")
}

func (p *Probe) want(what string, got, want any) {
	if got != want {
		p.errorf("%s: got %v, want %v", what, got, want)
	}
}
