package redisstore

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
	"github.com/tidegate/tidegate/internal/redistest"
)

// TestClocksApart has instances that are wrong about the time, by seconds and by
// weeks: the server's counts, so together they get exactly the quota.
func TestClocksApart(t *testing.T) {
	server := redistest.Start(t)
	const n = 300
	for name, spec := range map[string]algo.Spec{
		"token-bucket": {Limit: n, Period: 97 * time.Hour},
		"month":        {Algorithm: algo.FixedWindow, Limit: n, Period: algo.Month},
		"day":          {Algorithm: algo.FixedWindow, Limit: n, Period: 7 * algo.Day, Zone: shanghai},
		"sliding-log":  {Algorithm: algo.SlidingLog, Limit: n, Period: 97 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			q, err := algo.Compile(spec)
			if err != nil {
				t.Fatal(err)
			}
			var granted atomic.Int64
			var group sync.WaitGroup
			for _, wrong := range []time.Duration{0, 10 * time.Second, -10 * time.Second, 100 * 24 * time.Hour, -100 * 24 * time.Hour} {
				s, err := Open(server.URL(), Config{Timeout: 5 * time.Second, Prefix: name})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				for range 20 {
					group.Go(func() {
						for range 10 {
							s.offset.Store(wrong.Microseconds()) // what it believes of the server
							r := make([]core.Result, 1)
							if err := s.Take(t.Context(), []core.Charge{{Key: core.Key{Hi: 1, Lo: 1, Tag: 1}, Quota: q, Cost: 1}}, r); err != nil {
								t.Error(err)
							} else if r[0].Granted {
								granted.Add(1)
							}
						}
					})
				}
			}
			group.Wait()
			if granted.Load() != n {
				t.Errorf("%d were granted, want the quota of %d", granted.Load(), n)
			}
		})
	}
}
