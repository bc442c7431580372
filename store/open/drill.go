package open

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tidegate/tidegate/core"
)

// A Drill makes a store misbehave on purpose, so that people can see what their
// limits do about it before it happens by itself. Its zero value does nothing.
type Drill struct {
	// Mode is what happens: fail, hang or slow. "": nothing.
	Mode string

	// For is how long, from the first call on.
	For time.Duration
}

// The modes of a [Drill].
const (
	DrillFail = "fail" // every call fails at once
	DrillHang = "hang" // no call is answered before its time is up
	DrillSlow = "slow" // every call takes half a second longer
)

// ParseDrill reads MODE:SPAN, such as hang:30s, or "" for none.
func ParseDrill(text string) (Drill, error) {
	if text == "" {
		return Drill{}, nil
	}
	mode, span, _ := strings.Cut(text, ":")
	d, err := time.ParseDuration(span)
	if err != nil || d <= 0 || mode != DrillFail && mode != DrillHang && mode != DrillSlow {
		return Drill{}, fmt.Errorf("drill is %q, want fail, hang or slow and a span, such as hang:30s", text)
	}
	return Drill{Mode: mode, For: d}, nil
}

// Around returns a store that behaves like s once the drill is over. A call of a
// store with a timeout fails when that is over: pass it.
func (d Drill) Around(s core.Store, timeout time.Duration) core.Store {
	if d.Mode == "" {
		return s
	}
	return &drilled{Store: s, drill: d, timeout: timeout}
}

type drilled struct {
	core.Store
	drill   Drill
	timeout time.Duration
	end     atomic.Int64 // Unix ns; 0: not begun
}

var errDrill = errors.New("this is a drill")

// suffer does what the drill says to one call.
func (d *drilled) suffer(ctx context.Context) error {
	d.end.CompareAndSwap(0, time.Now().Add(d.drill.For).UnixNano())
	if time.Now().UnixNano() >= d.end.Load() {
		return nil
	}
	switch d.drill.Mode {
	case DrillFail:
		return &core.StoreError{Kind: "refused", Err: errDrill}
	case DrillHang:
		return d.pause(ctx, d.timeout, &core.StoreError{Kind: "timeout", MaybeSpent: true, Err: errDrill})
	}
	const slowness = 500 * time.Millisecond
	if slowness >= d.timeout {
		return d.pause(ctx, d.timeout, &core.StoreError{Kind: "timeout", MaybeSpent: true, Err: errDrill})
	}
	return d.pause(ctx, slowness, nil)
}

func (d *drilled) pause(ctx context.Context, span time.Duration, then error) error {
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-timer.C:
		return then
	case <-ctx.Done():
		return &core.StoreError{Kind: "canceled", MaybeSpent: true, Err: ctx.Err()}
	}
}

// Take implements [core.Store].
func (d *drilled) Take(ctx context.Context, charges []core.Charge, results []core.Result) error {
	if err := d.suffer(ctx); err != nil {
		return err
	}
	return d.Store.Take(ctx, charges, results)
}

// Peek implements [core.Store].
func (d *drilled) Peek(ctx context.Context, charges []core.Charge, results []core.Result) error {
	if err := d.suffer(ctx); err != nil {
		return err
	}
	return d.Store.Peek(ctx, charges, results)
}

// Give implements [core.Store].
func (d *drilled) Give(ctx context.Context, refunds []core.Refund) error {
	if err := d.suffer(ctx); err != nil {
		return err
	}
	return d.Store.Give(ctx, refunds)
}
