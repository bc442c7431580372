package redisstore_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/internal/redistest"
	"github.com/tidegate/tidegate/store/redisstore"
	"github.com/tidegate/tidegate/store/storetest"
)

// A toyServer is a miniredis whose clock is set by hand.
type toyServer struct {
	*miniredis.Miniredis
	now time.Time
}

func newToyServer(t testing.TB) *toyServer {
	s := &toyServer{miniredis.RunT(t), time.UnixMicro(1_764_573_791_123_456)}
	s.SetTime(s.now)
	return s
}

func (s *toyServer) advance(d time.Duration) {
	s.now = s.now.Add(d)
	s.SetTime(s.now)
	s.FastForward(d)
}

func open(t testing.TB, url string, c redisstore.Config) *redisstore.Store {
	t.Helper()
	if c.Timeout == 0 {
		c.Timeout = 5 * time.Second
	}
	s, err := redisstore.Open(url, c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformanceOnMiniredis(t *testing.T) {
	var server *toyServer
	storetest.Run(t, storetest.Harness{
		New: func(t testing.TB) core.Store {
			server = newToyServer(t)
			return open(t, "redis://"+server.Addr(), redisstore.Config{})
		},
		Now:     func() time.Time { return server.now },
		Advance: func(d time.Duration) { server.advance(d) },
	})
}

// TestConformanceOnRedis has all cases share a server: they make keys of their own.
func TestConformanceOnRedis(t *testing.T) {
	server := redistest.Start(t)
	for _, protocol := range []string{"2", "3"} {
		t.Run("RESP"+protocol, func(t *testing.T) {
			storetest.Run(t, storetest.Harness{New: func(t testing.TB) core.Store {
				return open(t, server.URL()+"?protocol="+protocol, redisstore.Config{})
			}})
		})
	}
	// After all that, nothing is left that lives for ever or shows whose it is.
	client := server.Client()
	scan := client.Scan(t.Context(), 0, "*", 1000).Iterator()
	n := 0
	for scan.Next(t.Context()) {
		n++
		if ttl := client.PTTL(t.Context(), scan.Val()).Val(); ttl == -1 {
			t.Errorf("%s has no time to live", scan.Val())
		}
		if !regexp.MustCompile(`^tg:\{[A-Za-z0-9_-]{8}\}[A-Za-z0-9_-]{16}[a-z]$`).MatchString(scan.Val()) {
			t.Errorf("%s is no key of the store's form", scan.Val())
		}
	}
	if n == 0 {
		t.Error("no keys were left to look at")
	}
}

func TestConformanceOnACluster(t *testing.T) {
	cluster := redistest.StartCluster(t, 3, false)
	storetest.Run(t, storetest.Harness{
		New:   func(t testing.TB) core.Store { return open(t, cluster.URL(), redisstore.Config{}) },
		Lacks: storetest.OneStep,
	})
}
