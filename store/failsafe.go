package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
	"github.com/tidegate/tidegate/store/memstore"
)

// FailsafeConfig configures a [Failsafe]. Its zero value is the recommended setting.
type FailsafeConfig struct {
	// Policy is that of charges that name none. Default [core.FailOpen].
	Policy core.FailurePolicy

	// Fraction is what a local limit gives this process of the quota: more than 0 and
	// at most 1. Default 0.2.
	Fraction float64

	// Instances, if set, is asked how many processes share the store, and a local
	// limit gives this one an even share, instead of Fraction. 0 or less means that
	// nobody knows, and Fraction counts.
	Instances func() int

	// Total caps what all local limits together admit here, in requests. nil: no cap.
	Total *algo.Quota

	// MaxKeys bounds the memory of local limits, as in [memstore.Config].
	MaxKeys int

	// Failures is how many calls in a row must fail for the store to be taken for
	// dead. Default 5.
	Failures int

	// ProbeEvery is how often a dead store is tried, in the background. Default 500ms.
	ProbeEvery time.Duration

	// OnError is told of every call that failed, also of probes. It must not block.
	OnError func(error)

	// OnChange is told once when a place of the store is taken for dead, with the
	// error that was one too many, and once when it is back. It must not block.
	OnChange func(place string, degraded bool, err error)

	// Clock is the time of local limits. Default: the process's.
	Clock func() time.Time
}

// The defaults of [FailsafeConfig].
const (
	DefaultFraction   = 0.2
	DefaultFailures   = 5
	DefaultProbeEvery = 500 * time.Millisecond
)

func (c FailsafeConfig) withDefaults() (FailsafeConfig, error) {
	if c.Policy == core.FailDefault {
		c.Policy = core.FailOpen
	}
	if c.Fraction == 0 {
		c.Fraction = DefaultFraction
	}
	if !(c.Fraction > 0 && c.Fraction <= 1) {
		return c, fmt.Errorf("store: Fraction is %v, want more than 0 and at most 1", c.Fraction)
	}
	if c.Failures <= 0 {
		c.Failures = DefaultFailures
	}
	if c.ProbeEvery <= 0 {
		c.ProbeEvery = DefaultProbeEvery
	}
	if c.OnError == nil {
		c.OnError = func(error) {}
	}
	if c.OnChange == nil {
		c.OnChange = func(string, bool, error) {}
	}
	return c, nil
}

// A Placed store keeps keys in several places that fail apart, such as the nodes of
// a cluster.
type Placed interface {
	core.Store

	// Place returns where a key is. It does not wait for the network.
	Place(k *core.Key) string

	// Probe returns nil when the place of a key can be read and written.
	Probe(ctx context.Context, k *core.Key) error
}

// A Failsafe goes on when the store behind it fails: it lets the charges of open
// limits pass, decides those of local ones in this process's memory, with a share of
// the quota, and returns an error for closed ones, with nothing charged.
//
// After several failures in a row a place counts as dead, and nobody waits for it
// any more. It is then tried in the background, one probe at a time, until it
// answers. What local limits have spent is kept until it has grown old, so a store
// that comes and goes refills nobody.
type Failsafe struct {
	inner    core.Store
	placed   Placed // nil: one place
	config   FailsafeConfig
	local    *memstore.Store
	shares   sync.Map // of shareKey to *algo.Quota
	costs    sync.Map // of a limit's name to *atomic.Int64: the largest cost seen
	breakers breakers
}

// NewFailsafe returns a Failsafe in front of a store, which it closes when it is
// closed.
func NewFailsafe(inner core.Store, c FailsafeConfig) (*Failsafe, error) {
	if inner == nil {
		return nil, errors.New("store: NewFailsafe got no store")
	}
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	f := &Failsafe{inner: inner, config: c, local: memstore.New(memstore.Config{MaxKeys: c.MaxKeys, Clock: c.Clock})}
	f.placed = placedOf(inner)
	f.breakers.init(c, f.probe)
	return f, nil
}

// Traits implements [core.Store].
func (f *Failsafe) Traits() core.Traits {
	t := f.inner.Traits()
	t.FailsOver = true
	return t
}

// Degraded lists the places that are taken for dead; "" is the only place of a store
// that has no more.
func (f *Failsafe) Degraded() []string { return f.breakers.dead() }

// Close implements [core.Store].
func (f *Failsafe) Close() error {
	f.breakers.close()
	return errors.Join(f.inner.Close(), f.local.Close())
}

func (f *Failsafe) place(k *core.Key) string {
	if f.placed == nil {
		return ""
	}
	return f.placed.Place(k)
}

// probe tries the place of a charge that failed. Where the store has no probe of its
// own, it is asked about that charge.
func (f *Failsafe) probe(ctx context.Context, c core.Charge) error {
	if f.placed != nil {
		return f.placed.Probe(ctx, &c.Key)
	}
	return f.inner.Peek(ctx, []core.Charge{c}, make([]core.Result, 1))
}

// Take implements [core.Store].
func (f *Failsafe) Take(ctx context.Context, charges []core.Charge, results []core.Result) error {
	return f.decide(ctx, charges, results, true)
}

// Peek implements [core.Store].
func (f *Failsafe) Peek(ctx context.Context, charges []core.Charge, results []core.Result) error {
	return f.decide(ctx, charges, results, false)
}

func (f *Failsafe) call(ctx context.Context, charges []core.Charge, results []core.Result, commit bool) error {
	if commit {
		return f.inner.Take(ctx, charges, results)
	}
	return f.inner.Peek(ctx, charges, results)
}

// errDead is the cause when nothing was tried.
var errDead = errors.New("the store is taken for dead and is being tried in the background")

func (f *Failsafe) decide(ctx context.Context, charges []core.Charge, results []core.Result, commit bool) error {
	if len(charges) == 0 {
		return nil
	}
	dead := f.onDeadPlaces(charges)
	if len(dead) == 0 {
		err := f.call(ctx, charges, results, commit)
		failed, err := f.judge(ctx, charges, err)
		if len(failed) == 0 {
			return err
		}
		return f.without(ctx, &job{charges, results, failed, err, commit})
	}
	cause := error(&core.StoreError{Kind: "dead", Err: errDead})
	if len(dead) < len(charges) {
		alive, at := others(charges, dead)
		got := make([]core.Result, len(alive))
		failed, err := f.judge(ctx, alive, f.call(ctx, alive, got, commit))
		if err != nil && len(failed) == 0 {
			return err
		}
		for i, r := range got {
			results[at[i]] = r
		}
		for _, i := range failed {
			dead = append(dead, at[i])
		}
		slices.Sort(dead)
	}
	return f.without(ctx, &job{charges, results, dead, cause, commit})
}

// onDeadPlaces returns the indexes of the charges whose places are taken for dead.
func (f *Failsafe) onDeadPlaces(charges []core.Charge) (dead []int) {
	if !f.breakers.any.Load() {
		return nil
	}
	for i := range charges {
		if f.breakers.isDead(f.place(&charges[i].Key)) {
			dead = append(dead, i)
		}
	}
	return dead
}

// others returns the charges that are not listed, and their indexes.
func others(charges []core.Charge, listed []int) (list []core.Charge, at []int) {
	for i := range charges {
		if !slices.Contains(listed, i) {
			list, at = append(list, charges[i]), append(at, i)
		}
	}
	return list, at
}

// judge tells the breakers how a call went. It returns the charges that the store
// failed to decide, and the error; without the former the latter is no failure of
// the store's.
func (f *Failsafe) judge(ctx context.Context, charges []core.Charge, err error) ([]int, error) {
	if err == nil {
		f.breakers.succeeded(f, charges)
		return nil, nil
	}
	var failure *core.StoreError
	if !errors.As(err, &failure) || errors.Is(ctx.Err(), context.Canceled) {
		return nil, err
	}
	failed := failure.Failed
	if failed == nil {
		for i := range charges {
			failed = append(failed, i)
		}
	}
	f.config.OnError(err)
	for _, i := range failed {
		f.breakers.failed(f.place(&charges[i].Key), charges[i], err)
	}
	return failed, err
}

// Give implements [core.Store].
func (f *Failsafe) Give(ctx context.Context, refunds []core.Refund) error {
	var here, there []core.Refund
	for _, r := range refunds {
		switch {
		case r.Receipt == algo.Receipt{} && r.Slot == 0: // of nothing
		case r.Receipt.At < 0:
			here = append(here, f.localRefund(r))
		case f.breakers.any.Load() && f.breakers.isDead(f.place(&r.Key)):
			// It cannot be given back, and stays charged: the safe side.
		default:
			there = append(there, r)
		}
	}
	var errs []error
	if len(here) > 0 {
		errs = append(errs, f.local.Give(ctx, here))
	}
	if len(there) > 0 {
		err := f.inner.Give(ctx, there)
		var failure *core.StoreError
		if errors.As(err, &failure) {
			f.config.OnError(err)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Reset implements [core.Store]. It forgets what was spent here too.
func (f *Failsafe) Reset(ctx context.Context, charges []core.Charge) error {
	return errors.Join(f.inner.Reset(ctx, charges), f.local.Reset(ctx, charges))
}

// Block implements [core.Store]. The block counts here too, should the store fail.
func (f *Failsafe) Block(ctx context.Context, c core.Charge, span time.Duration) error {
	err := f.inner.Block(ctx, c, span)
	if c.Penalty == nil {
		return err
	}
	return errors.Join(err, f.local.Block(ctx, c, span))
}
