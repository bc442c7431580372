package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidegate/tidegate/internal/redistest"
)

// hourly is a limits file with one limit of n an hour per caller, and more.
func hourly(n int, more string) string {
	return fmt.Sprintf(`version: 1
principals: {header: X-API-Key, known: {key-alice: {id: alice}, key-bob: {id: bob}}}
limits:
  - name: orders
    match: [POST /orders]
    limit: %d/h
  - name: all
    limit: 1000/h
%s`, n, more)
}

// TestInstancesShareOneCount runs three instances, one of each framework, against one
// server and against a cluster.
func TestInstancesShareOneCount(t *testing.T) {
	for name, url := range map[string]string{
		"redis":   redistest.Start(t).URL(),
		"cluster": redistest.StartCluster(t, 3, false).URL(),
	} {
		t.Run(name, func(t *testing.T) {
			var list []*process
			for _, framework := range frameworks {
				list = append(list, start(t, "-framework", framework, "-store", url, "-config", limitsFile(t, hourly(50, "store: {redis: {url: "+`"redis://elsewhere"`+", timeout: 5s}}\n"))))
			}
			var created, denied atomic.Int64
			var group sync.WaitGroup
			for i := range 12 {
				group.Go(func() {
					for range 10 {
						switch list[i%3].ask("POST", "/orders", "", "X-API-Key", "key-alice").status {
						case http.StatusCreated:
							created.Add(1)
						case http.StatusTooManyRequests:
							denied.Add(1)
						}
					}
				})
			}
			group.Wait()
			if created.Load() != 50 || denied.Load() != 70 {
				t.Errorf("%d created and %d denied by three instances, want the quota of 50 and 70", created.Load(), denied.Load())
			}
			if got := list[0].ask("POST", "/orders", "", "X-API-Key", "key-bob").status; got != http.StatusCreated {
				t.Errorf("another caller: %d, want 201", got)
			}
			for _, p := range list {
				p.stop()
			}
		})
	}
}

// TestStartsWithRedisDown: the service starts, goes on by policy, and picks the server
// up when it comes.
func TestStartsWithRedisDown(t *testing.T) {
	server := redistest.New(t)
	config := hourly(3, "store: {redis: {url: \""+server.URL()+"\", timeout: 200ms}}\n")
	inEach(t, config, func(t *testing.T, p *process) {
		for range 10 {
			got := p.ask("POST", "/orders", "", "X-API-Key", "key-alice")
			if got.status != http.StatusCreated || got.header.Get("RateLimit") != "" {
				t.Fatalf("%d with RateLimit %q while the server is down, want 201 and no invented numbers", got.status, got.header.Get("RateLimit"))
			}
		}
		server.Start()
		redistest.Await(t, "the server was not picked up", func() bool {
			return strings.Contains(p.ask("GET", "/orders", "", "X-API-Key", "key-alice").header.Get("RateLimit"), `"all"`)
		})
		created := 0
		for range 6 {
			if p.ask("POST", "/orders", "", "X-API-Key", "key-alice").status == http.StatusCreated {
				created++
			}
		}
		if created != 3 {
			t.Errorf("%d created once the server was there, want 3", created)
		}
		if n := strings.Count(p.stderr.String(), "the store does not answer"); n != 1 {
			t.Errorf("told %d times that the store does not answer, want once:\n%s", n, p.stderr)
		}
		if n := strings.Count(p.stderr.String(), "the store answers again"); n != 1 {
			t.Errorf("told %d times that the store answers again, want once:\n%s", n, p.stderr)
		}
		server.Kill()
	})
}

// TestDrill has each kind of failure, and what each policy makes of it.
func TestDrill(t *testing.T) {
	server := redistest.Start(t)
	for _, mode := range []string{"fail", "hang", "slow"} {
		for policy, want := range map[string]int{"open": 10, "local": 2, "closed": 0} {
			t.Run(mode+"/"+policy, func(t *testing.T) {
				t.Parallel()
				config := limitsFile(t, hourly(10, "store: {failure: "+policy+", redis: {url: \""+server.URL()+"\", prefix: "+mode+policy+", timeout: 30ms}}\n"))
				p := start(t, "-drill", mode+":1h", "-config", config)
				created, slowest := 0, time.Duration(0)
				refused := http.StatusTooManyRequests
				if policy == "closed" {
					refused = http.StatusServiceUnavailable
				}
				for i := range 10 {
					began := time.Now()
					got := p.ask("POST", "/orders", "", "X-API-Key", "key-alice")
					if i >= 6 { // the breaker is open by then
						slowest = max(slowest, time.Since(began))
					}
					switch got.status {
					case http.StatusCreated:
						created++
					case refused:
						if got.header.Get("Retry-After") == "" {
							t.Errorf("%d without Retry-After", got.status)
						}
					default:
						t.Errorf("%d, want 201 or %d", got.status, refused)
					}
				}
				if created != want {
					t.Errorf("%d of 10 were created, want %d", created, want)
				}
				t.Logf("slowest request once the breaker is open: %v", slowest)
				p.stop()
			})
		}
	}
}
