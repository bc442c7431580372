// Package open makes a store from the store part of a limits file, with all that
// stands in front of a shared one: see package store.
package open

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/config"
	"github.com/tidegate/tidegate/store"
	"github.com/tidegate/tidegate/store/memstore"
	"github.com/tidegate/tidegate/store/redisstore"
)

// Options are what a file does not say. The zero value is the recommended setting.
type Options struct {
	// Logger is told when the store is taken for dead, and when it is back. Default:
	// [slog.Default].
	Logger *slog.Logger

	// OnError is told of every call to the store that failed. It must not block.
	OnError func(error)

	// Wrap, if set, is put right in front of the server, behind everything else, as a
	// drill is: see [Drill].
	Wrap func(core.Store) core.Store
}

// A Stack is a store with everything in front of it.
type Stack struct {
	core.Store
	failsafe *store.Failsafe
	memory   *memstore.Store
	census   *census
}

// Store makes the store that a file asks for. It does not connect: a server may come
// up later.
func Store(c config.Store, o Options) (*Stack, error) {
	if c.Redis == nil {
		m := memstore.New(memstore.Config{MaxKeys: c.MaxKeys})
		return &Stack{Store: m, memory: m}, nil
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	server, err := redisstore.Open(c.Redis.URL, redisstore.Config{Prefix: c.Redis.Prefix, Timeout: c.Redis.Timeout})
	if err != nil {
		return nil, err
	}
	s, err := stack(server, c, o)
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return s, nil
}

func stack(server *redisstore.Store, c config.Store, o Options) (*Stack, error) {
	s := &Stack{}
	var inner core.Store = server
	if o.Wrap != nil {
		inner = o.Wrap(inner)
	}
	lease, err := store.NewLease(inner, store.LeaseConfig{OnError: o.OnError})
	if err != nil {
		return nil, err
	}
	settings := store.FailsafeConfig{
		Policy: c.Failure, Fraction: c.LocalFraction, MaxKeys: c.MaxKeys, OnError: o.OnError,
		OnChange: func(place string, degraded bool, err error) { report(o.Logger, place, degraded, err) },
	}
	if c.LocalTotal != (core.Quota{}) {
		total, err := c.LocalTotal.Compile()
		if err != nil {
			return nil, fmt.Errorf("store.local_total: %w", err)
		}
		settings.Total = total
	}
	if c.LocalAuto {
		s.census = newCensus(server)
		settings.Instances = s.census.alive
	}
	if s.failsafe, err = store.NewFailsafe(lease, settings); err != nil {
		return nil, err
	}
	s.Store, err = store.NewDenyCache(s.failsafe, store.DenyCacheConfig{})
	return s, err
}

// report logs that a place is dead, or back: once each.
func report(l *slog.Logger, place string, degraded bool, err error) {
	var where []any
	if place != "" {
		where = []any{slog.String("server", place)}
	}
	if degraded {
		l.Warn("tidegate: the store does not answer, limits go on by their store_failure", append(where, slog.Any("error", err))...)
		return
	}
	l.Warn("tidegate: the store answers again", where...)
}

// Degraded lists the servers that are taken for dead; "" is the only one there is.
func (s *Stack) Degraded() []string {
	if s.failsafe == nil {
		return nil
	}
	return s.failsafe.Degraded()
}

// Instances returns how many processes were last known to share the store, 0 if
// nobody counts them: the file does not say local_fraction: auto.
func (s *Stack) Instances() int {
	if s.census == nil {
		return 0
	}
	return s.census.alive()
}

// Close implements [core.Store].
func (s *Stack) Close() error {
	if s.census != nil {
		s.census.close()
	}
	return s.Store.Close()
}

// How often an instance says that it is alive, and for how long it is believed.
const (
	announceEvery = 3 * time.Second
	announceFor   = 4 * announceEvery
)

// A census counts the processes that share a store.
type census struct {
	count   atomic.Int64
	stop    context.CancelFunc
	running sync.WaitGroup
}

func newCensus(server *redisstore.Store) *census {
	ctx, stop := context.WithCancel(context.Background())
	c := &census{stop: stop}
	name := rand.Text()
	c.running.Go(func() {
		tick := time.NewTicker(announceEvery)
		defer tick.Stop()
		for {
			// The last count known is kept: in an outage nobody can be counted.
			if n, err := server.Announce(ctx, name, announceFor); err == nil {
				c.count.Store(int64(n))
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return c
}

func (c *census) alive() int { return int(c.count.Load()) }

func (c *census) close() {
	c.stop()
	c.running.Wait()
}
