package store

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidegate/tidegate/core"
)

// breakers hold a circuit breaker for each place of a store. A breaker opens after
// several failures in a row, and is closed by a probe that runs in the background:
// no request is ever held up to find out whether a store is back.
type breakers struct {
	config FailsafeConfig
	probe  func(ctx context.Context, c core.Charge) error
	any    atomic.Bool // some breaker is open
	places sync.Map    // of a place's name to *breaker
	mu     sync.Mutex  // held when one opens, or all are closed down
	open   map[string]bool
	ctx    context.Context
	stop   context.CancelFunc
	probes sync.WaitGroup
}

type breaker struct {
	failures atomic.Int64 // in a row
	dead     atomic.Bool
}

func (b *breakers) init(c FailsafeConfig, probe func(context.Context, core.Charge) error) {
	b.config, b.probe, b.open = c, probe, map[string]bool{}
	b.ctx, b.stop = context.WithCancel(context.Background())
}

func (b *breakers) of(place string) *breaker {
	if v, ok := b.places.Load(place); ok {
		return v.(*breaker)
	}
	v, _ := b.places.LoadOrStore(place, new(breaker))
	return v.(*breaker)
}

func (b *breakers) isDead(place string) bool { return b.of(place).dead.Load() }

// succeeded ends every row of failures that the places of the charges had.
func (b *breakers) succeeded(f *Failsafe, charges []core.Charge) {
	for i := range charges {
		at := b.of(f.place(&charges[i].Key))
		if at.failures.Load() != 0 {
			at.failures.Store(0)
		}
		if f.placed == nil {
			return
		}
	}
}

// failed counts a failure, and opens the breaker when it is one too many.
func (b *breakers) failed(place string, c core.Charge, err error) {
	at := b.of(place)
	if at.failures.Add(1) < int64(b.config.Failures) || at.dead.Load() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if at.dead.Load() || b.ctx.Err() != nil {
		return
	}
	at.dead.Store(true)
	b.open[place] = true
	b.any.Store(true)
	b.config.OnChange(place, true, err)
	b.probes.Go(func() { b.revive(place, at, c) })
}

// revive probes a place until it answers.
func (b *breakers) revive(place string, at *breaker, c core.Charge) {
	for {
		// Instances that lost a server together should not try it together.
		every := b.config.ProbeEvery
		wait := every/2 + time.Duration(rand.Int64N(int64(every/2)+1))
		select {
		case <-b.ctx.Done():
			return
		case <-time.After(wait):
		}
		ctx, cancel := context.WithTimeout(b.ctx, every)
		err := b.probe(ctx, c)
		cancel()
		if b.ctx.Err() != nil {
			return
		}
		if err == nil {
			b.revived(place, at)
			return
		}
		b.config.OnError(err)
	}
}

func (b *breakers) revived(place string, at *breaker) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at.failures.Store(0)
	delete(b.open, place)
	b.any.Store(len(b.open) > 0)
	at.dead.Store(false)
	b.config.OnChange(place, false, nil)
}

func (b *breakers) dead() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := []string{}
	for place := range b.open {
		list = append(list, place)
	}
	slices.Sort(list)
	return list
}

// close ends all probes, and waits for them.
func (b *breakers) close() {
	b.mu.Lock()
	b.stop()
	b.mu.Unlock()
	b.probes.Wait()
}
