package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/tidegate/tidegate/headers"
)

func TestQuickOrdersCountDownAndAreThenTold(t *testing.T) {
	inEach(t, "", func(t *testing.T, p *process) {
		created, denied := 0, 0
		var last answer
		for i := range 25 {
			last = p.ask("POST", "/orders", "", "X-API-Key", "key-alice")
			limits := last.header.Get("RateLimit")
			switch {
			case last.status == http.StatusCreated && denied == 0:
				if want := fmt.Sprintf(`"per-minute";r=%d;`, 9-i); !strings.Contains(limits, want) {
					t.Errorf("order %d: RateLimit is %s, want %s in it", i, limits, want)
				}
				if last.header.Get("Retry-After") != "" {
					t.Errorf("order %d: Retry-After on an order that passed", i)
				}
				created++
			case last.status == http.StatusTooManyRequests:
				denied++
			default:
				t.Errorf("order %d: %d", i, last.status)
			}
		}
		if created != 10 || denied != 15 {
			t.Errorf("%d created and %d denied, want the burst of 10 and the rest", created, denied)
		}
		checkDenial(t, last)
		if got := served(t, p)["POST /orders"]; got != created {
			t.Errorf("the handler ran %d times, want %d", got, created)
		}
		seconds, err := strconv.Atoi(last.header.Get("Retry-After"))
		if err != nil || seconds < 1 {
			t.Fatalf("Retry-After %q, want seconds", last.header.Get("Retry-After"))
		}
		time.Sleep(time.Duration(seconds) * time.Second)
		if got := p.ask("POST", "/orders", "", "X-API-Key", "key-alice"); got.status != http.StatusCreated {
			t.Errorf("after Retry-After: %d, want 201", got.status)
		}
	})
}

// checkDenial holds a 429 to what it says of itself: the limits that it blames are
// those that it lists, in the header and in the body.
func checkDenial(t *testing.T, a answer) {
	t.Helper()
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("Content-Type %q", got)
	}
	if got := a.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control %q", got)
	}
	var body struct {
		Status   int
		Violated []string `json:"violated-policies"`
		Limits   map[string]struct {
			Exceeded bool
		}
	}
	if err := json.Unmarshal([]byte(a.body), &body); err != nil {
		t.Fatalf("body %q: %v", a.body, err)
	}
	if body.Status != a.status || !slices.Contains(body.Violated, "per-minute") {
		t.Errorf("body %s, want per-minute violated", a.body)
	}
	blamed, _ := headers.ParseStatuses(a.header.Values("RateLimit"))
	var names []string
	for _, s := range blamed {
		names = append(names, s.Name)
	}
	if !slices.Equal(names, body.Violated) {
		t.Errorf("RateLimit lists %v, want the violated %v", names, body.Violated)
	}
	for name, limit := range body.Limits {
		if limit.Exceeded != slices.Contains(names, name) {
			t.Errorf("limit %s exceeded: %v, and RateLimit lists %v", name, limit.Exceeded, names)
		}
	}
}

func served(t *testing.T, p *process) map[string]int {
	t.Helper()
	var counts map[string]int
	if err := json.Unmarshal([]byte(p.ask("GET", "/served", "").body), &counts); err != nil {
		t.Fatal(err)
	}
	return counts
}

func TestTiersAndCallers(t *testing.T) {
	inEach(t, "", func(t *testing.T, p *process) {
		pass := func(n int, headers ...string) (passed int) {
			for range n {
				if p.ask("GET", "/orders", "", headers...).status == http.StatusOK {
					passed++
				}
			}
			return passed
		}
		if got := pass(15, "X-API-Key", "key-acme"); got != 15 {
			t.Errorf("pro: %d of 15, want all", got)
		}
		if got := pass(15, "X-API-Key", "key-alice"); got > 11 {
			t.Errorf("free: %d of 15, want its burst of 10", got)
		}
		invented := 0
		for i := range 15 {
			invented += pass(1, "X-API-Key", fmt.Sprintf("invented-%d", i))
		}
		if invented > 11 {
			t.Errorf("invented keys got %d of 15, want one burst of 10 for their address", invented)
		}
		if got := pass(3); got != 0 {
			t.Errorf("the same address without a key got %d more, want none", got)
		}
	})
}

func TestWrongPasswordsCountAndRightOnesDoNot(t *testing.T) {
	inEach(t, "", func(t *testing.T, p *process) {
		login := func(password string) int {
			return p.ask("POST", "/login", `{"user":"u","password":"`+password+`"}`, "X-API-Key", "key-big").status
		}
		for i := range 8 {
			if got := login("right"); got != http.StatusOK {
				t.Fatalf("right password %d: %d", i, got)
			}
		}
		for i := range 5 {
			if got := login("guess"); got != http.StatusUnauthorized {
				t.Fatalf("guess %d: %d, want 401", i, got)
			}
		}
		if got := login("right"); got != http.StatusTooManyRequests {
			t.Errorf("after five guesses: %d, want 429", got)
		}
	})
}

func TestWhatStandsOutsideTheLimiter(t *testing.T) {
	inEach(t, "", func(t *testing.T, p *process) {
		for path, want := range map[string]int{"/healthz": 200, "/served": 200, "/metrics": 501, "/debug/limits": 501} {
			for range 12 { // more than any anonymous burst
				got := p.ask("GET", path, "")
				if got.status != want || got.header.Get("RateLimit") != "" {
					t.Fatalf("GET %s: %d with RateLimit %q, want %d without", path, got.status, got.header.Get("RateLimit"), want)
				}
			}
			if got := p.ask("HEAD", path, ""); got.status != want || got.body != "" {
				t.Errorf("HEAD %s: %d, want %d without a body", path, got.status, want)
			}
		}
	})
}

func TestEveryRoute(t *testing.T) {
	inEach(t, "", func(t *testing.T, p *process) {
		for _, tt := range []struct {
			method, path string
			status       int
			body         string
		}{
			{"GET", "/orders/7", 200, `"id":"7"`},
			{"GET", "/orders/missing-1", 404, "no such order"},
			{"DELETE", "/orders/7", 204, ""},
			{"GET", "/work?ms=1&status=418", 418, ""},
			{"POST", "/work?ms=1", 200, ""},
			{"GET", "/work?ms=10001", 400, "want ms"},
			{"GET", "/stream?n=0", 400, "want n"},
			{"POST", "/login", 400, "want JSON"},
			{"GET", "/products", 200, "tide table"},
			{"GET", "/nowhere", 404, ""},
			{"PUT", "/orders", 405, ""},
		} {
			got := p.ask(tt.method, tt.path, "", "X-API-Key", "key-big")
			if got.status != tt.status || !strings.Contains(got.body, tt.body) {
				t.Errorf("%s %s: %d %s, want %d with %q", tt.method, tt.path, got.status, got.body, tt.status, tt.body)
			}
			if got.header.Get("RateLimit") == "" {
				t.Errorf("%s %s has no RateLimit", tt.method, tt.path)
			}
			if tt.method != "GET" {
				continue
			}
			if head := p.ask("HEAD", tt.path, "", "X-API-Key", "key-big"); head.status != tt.status || head.body != "" {
				t.Errorf("HEAD %s: %d %q, want %d without a body", tt.path, head.status, head.body, tt.status)
			}
		}
	})
}

const tight = `version: 1
principals:
  header: X-API-Key
  known: {key-a: {id: a, tier: free}}
tiers: [free]
limits:
  - {name: products, match: [GET /products], key: principal, exceeded: fallback, limit: 1/h}
  - {name: ws-messages, key: principal, charge: manual, limit: 2/h}
  - {name: "by-route", match: ["/orders/{id}", "DELETE /orders/{id}"], key: [principal, route], limit: 2/h}
`

func TestFallbackAnswersInsteadOfADenial(t *testing.T) {
	inEach(t, tight, func(t *testing.T, p *process) {
		first := p.ask("GET", "/products", "", "X-API-Key", "key-a")
		second := p.ask("GET", "/products", "", "X-API-Key", "key-a")
		if first.header.Get("X-Fallback") != "" || first.status != 200 {
			t.Errorf("first: %d, X-Fallback %q", first.status, first.header.Get("X-Fallback"))
		}
		if second.status != 200 || second.header.Get("X-Fallback") != "cache" || second.body != first.body {
			t.Errorf("second: %d %q %s", second.status, second.header.Get("X-Fallback"), second.body)
		}
		if second.header.Get("Retry-After") != "" || !strings.HasPrefix(second.header.Get("RateLimit"), `"products";r=0;t=`) {
			t.Errorf("second: Retry-After %q, RateLimit %q", second.header.Get("Retry-After"), second.header.Get("RateLimit"))
		}
		if got := served(t, p)["GET /products"]; got != 1 {
			t.Errorf("the handler ran %d times, want once", got)
		}
	})
}

func TestOneRouteIsOneCount(t *testing.T) {
	inEach(t, tight, func(t *testing.T, p *process) {
		for i, want := range []int{200, 200, 429} {
			if got := p.ask("GET", fmt.Sprintf("/orders/%d", i), "", "X-API-Key", "key-a"); got.status != want {
				t.Errorf("order %d: %d, want %d", i, got.status, want)
			}
		}
		if got := p.ask("DELETE", "/orders/9", "", "X-API-Key", "key-a"); got.status != 204 {
			t.Errorf("another method: %d, want its own count", got.status)
		}
	})
}

func TestMessagesOfASocketAreLimited(t *testing.T) {
	inEach(t, tight, func(t *testing.T, p *process) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		conn, _, err := websocket.Dial(ctx, p.url+"/ws", &websocket.DialOptions{HTTPHeader: http.Header{"X-Api-Key": {"key-a"}}})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.CloseNow()
		for i := range 3 {
			if err := conn.Write(ctx, websocket.MessageText, []byte("hello")); err != nil {
				t.Fatal(err)
			}
			_, got, err := conn.Read(ctx)
			if i < 2 && (err != nil || string(got) != "hello") {
				t.Errorf("message %d: %q, %v", i, got, err)
			}
			if i == 2 && websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
				t.Errorf("message %d: %v, want close 1008", i, err)
			}
		}
	})
}

func TestStreamSendsItsFirstEventAtOnce(t *testing.T) {
	inEach(t, "", func(t *testing.T, p *process) {
		response, err := http.Get(p.url + "/stream?n=3")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		events := 0
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "data: ") {
				events++
			}
		}
		if events != 3 || response.Header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("%d events of type %s", events, response.Header.Get("Content-Type"))
		}
	})
}

func TestWhatIsInFlightFinishes(t *testing.T) {
	inEach(t, "", func(t *testing.T, p *process) {
		slow := make(chan answer, 1)
		go func() { slow <- p.ask("GET", "/work?ms=700", "") }()
		stream := make(chan answer, 1)
		go func() { stream <- p.ask("GET", "/stream?n=1000", "") }()
		for served(t, p)["GET /work"]+served(t, p)["GET /stream"] < 2 {
			time.Sleep(5 * time.Millisecond)
		}
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if got := <-slow; got.status != http.StatusOK {
			t.Errorf("work in flight: %d, want 200", got.status)
		}
		<-stream
	})
}

func TestReload(t *testing.T) {
	config := func(n int) string {
		return fmt.Sprintf("version: 1\nlimits:\n  - {name: all, key: global, hidden: false, limit: %d/h}\n", n)
	}
	for _, how := range []string{"file", "signal"} {
		t.Run(how, func(t *testing.T) {
			path := limitsFile(t, config(100))
			p := start(t, "-config", path, "-reload="+strconv.FormatBool(how == "file"))
			change := func(text, want string) {
				t.Helper()
				reports := strings.Count(p.stderr.String(), "reloaded")
				write(t, path, text)
				if how == "signal" {
					if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
						t.Fatal(err)
					}
				}
				for began := time.Now(); strings.Count(p.stderr.String(), "reloaded") == reports; time.Sleep(10 * time.Millisecond) {
					if time.Since(began) > 2*time.Second {
						t.Fatal("a change is not live after 2s")
					}
				}
				if !strings.Contains(p.stderr.String(), want) {
					t.Errorf("standard error is %q, want %q", p.stderr, want)
				}
			}
			remaining := func() string { return p.ask("GET", "/products", "").header.Get("RateLimit") }
			for range 9 {
				remaining()
			}
			if got := remaining(); !strings.HasPrefix(got, `"all";r=90;`) {
				t.Fatalf("RateLimit %s, want 90 of 100 left", got)
			}
			change(config(20), "limits reloaded")
			if got := remaining(); !strings.HasPrefix(got, `"all";r=9;`) {
				t.Errorf("RateLimit %s after lowering to 20, want 9 left", got)
			}
			change("version: 1\nlimits: [{nme: all}]\n", "limits.yaml:2: ")
			if got := remaining(); !strings.HasPrefix(got, `"all";r=8;`) {
				t.Errorf("RateLimit %s after a wrong file, want 8 left", got)
			}
			p.stop()
		})
	}
}

func TestWrongUse(t *testing.T) {
	bad := limitsFile(t, "version: 1\ntiers: [free]\nlimits:\n  - name: a\n    tiers: {free: ten/s, gold: 1/s}\n")
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{"-config", bad}, []string{bad + ":5: limits[0].tiers.free", bad + ":5: limits[0].tiers.gold"}},
		{[]string{"-config", "does-not-exist.yaml"}, []string{"does-not-exist.yaml"}},
		{[]string{"-framework", "fiber"}, []string{`-framework is "fiber", want gin, echo or http`}},
		{[]string{"-store", "redis://:hunter2@"}, []string{"the address is wrong"}},
		{[]string{"-store", "http://127.0.0.1"}, []string{"http", "redis-cluster://"}},
		{[]string{"-drill", "dance:1s"}, []string{`drill is "dance:1s"`}},
		{[]string{"-store", "disk"}, []string{`-store is "disk"`}},
		{[]string{"-nonsense"}, []string{"-nonsense"}},
		{[]string{"extra"}, []string{`"extra"`}},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		out, err := exec.CommandContext(ctx, binary, tt.args...).CombinedOutput()
		cancel()
		exit, ok := err.(*exec.ExitError)
		if !ok || exit.ExitCode() != 2 {
			t.Errorf("%v: %v, want exit code 2", tt.args, err)
		}
		for _, want := range tt.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("%v: printed %s, want %q in it", tt.args, out, want)
			}
		}
	}
}

// A newcomer's port 8080 is often taken.
func TestABusyPortSaysHowToChooseAnother(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	out, err := exec.Command(binary, "-addr", taken.Addr().String()).CombinedOutput()
	if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 1 {
		t.Errorf("%v, want exit code 1", err)
	}
	if !strings.Contains(string(out), "-addr host:port, or make run ADDR=host:port") {
		t.Errorf("printed %s, want how to choose another address", out)
	}
}
