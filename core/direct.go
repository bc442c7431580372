package core

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/tidegate/tidegate/core/algo"
)

// A DeniedError is returned by calls that have no other way to say no, such as
// [Limiter.Wait]. Calls that return a [Decision] never return it.
type DeniedError struct {
	Limit      string
	RetryAfter time.Duration // or Never
}

// Error says which limit denied, and for how long.
func (e *DeniedError) Error() string {
	if e.RetryAfter == Never {
		return fmt.Sprintf("tidegate: limit %q: the cost is above what the limit can ever hold", e.Limit)
	}
	return fmt.Sprintf("tidegate: limit %q exceeded, retry in %v", e.Limit, e.RetryAfter)
}

// Allow charges n units of one limit to key and reports whether it grants them.
// Routes, exemptions and stages do not matter.
//
// What key is depends on the limit: a principal, an address, a header's or other
// value, or a route such as "GET /orders/{id}". Empty stands for what ctx carries:
// the caller (see [WithIdentity]) and, inside a handler, the request's address,
// route and headers; it is an error where ctx does not say. For a [Global] limit it
// must be empty. Limits whose key has several parts are charged with
// [Limiter.AllowRequest].
//
// The tier is that of the identity in ctx, when it is the key's, else the default.
// An error means misuse, or that the store failed and the limit is closed; the
// Decision is then not an allowed one.
func (l *Limiter) Allow(ctx context.Context, limit, key string, n int64) (Decision, error) {
	to, err := l.target(ctx, limit, key)
	if err != nil {
		return misuse(err), err
	}
	return l.take(ctx, to, n, 0)
}

// AllowRequest is [Limiter.Allow] with the key taken from a Request.
func (l *Limiter) AllowRequest(ctx context.Context, limit string, req Request, n int64) (Decision, error) {
	t := l.table.Load()
	r, err := t.rule(limit)
	if err != nil {
		return misuse(err), err
	}
	return l.take(ctx, target{t, r, req}, n, 0)
}

// Peek answers as [Limiter.Allow] would, and charges nothing. Remaining is what
// the key has now.
func (l *Limiter) Peek(ctx context.Context, limit, key string, n int64) (Decision, error) {
	to, err := l.target(ctx, limit, key)
	if err != nil {
		return misuse(err), err
	}
	return l.ask(ctx, to, n, 0, l.store.Peek)
}

// Reset forgets what key has spent under a limit, with its denials and blocks.
// With an empty limit it does so under every limit that counts by principal alone.
func (l *Limiter) Reset(ctx context.Context, limit, key string) error {
	if limit != "" {
		to, err := l.target(ctx, limit, key)
		if err != nil {
			return err
		}
		return l.reset(ctx, to.table, []*rule{to.rule}, &to.request)
	}
	if key == "" {
		return errors.New("core: Reset without a limit and without a key, want one of them")
	}
	t := l.table.Load()
	var rules []*rule
	for _, r := range t.limits {
		if len(r.parts) == 1 && r.parts[0].kind == partPrincipal {
			rules = append(rules, r)
		}
	}
	return l.reset(ctx, t, rules, &Request{Identity: Identity{Principal: key}})
}

func (l *Limiter) reset(ctx context.Context, t *table, rules []*rule, req *Request) error {
	k := keyer{table: t, request: req, route: routeHash(t, req)}
	var charges []Charge
	for _, r := range rules {
		for _, q := range r.quotas {
			if q != nil { // any quota will do: the key does not depend on it
				charges = append(charges, Charge{Key: k.key(r), Limit: r.Name, Quota: q, Penalty: r.Penalty})
				break
			}
		}
	}
	if len(charges) == 0 {
		return nil
	}
	return l.store.Reset(ctx, charges)
}

// Wait charges n units of one limit to key, and blocks until they are granted. In
// token and leaky buckets it takes its turn when it is called, so callers are
// served in order; elsewhere it tries again when the store says that it may. It
// returns a [*DeniedError] at once when the cost can never fit or the wait would
// outlast ctx's deadline, and ctx's error when ctx ends first; its turn is then
// given back unless somebody stands behind it.
func (l *Limiter) Wait(ctx context.Context, limit, key string, n int64) error {
	for {
		to, err := l.target(ctx, limit, key)
		if err != nil {
			return err
		}
		if to.rule.algorithm() == algo.Concurrency {
			return fmt.Errorf("core: limit %q counts how many at once, want Allow for that, and Done", limit)
		}
		longest := patience(ctx)
		d, err := l.take(ctx, to, n, longest)
		if err != nil {
			return err
		}
		wait := d.wait(longest)
		if wait > patience(ctx) {
			l.leaveTurn(ctx, &d)
			return &DeniedError{Limit: limit, RetryAfter: wait}
		}
		if err := sleep(ctx, wait); err != nil {
			l.leaveTurn(ctx, &d)
			return err
		}
		if d.Allowed() {
			return nil
		}
	}
}

// wait returns how long the decision asks to wait: for its turn when it is
// granted, before the next try when it is not. A queue in which the turn would come
// after longest says when one may queue that long, so the turn is that much later.
func (d *Decision) wait(longest time.Duration) (wait time.Duration) {
	if !d.Allowed() {
		wait = d.RetryAfter()
		if d.bill.lines[0].quota.Queues() && !d.Blocked() && wait < Never-longest {
			wait += longest
		}
		return wait
	}
	for _, e := range d.entries() {
		wait = max(wait, e.result.Delay)
	}
	return wait
}

// patience returns how long ctx still lasts.
func patience(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return max(0, time.Until(deadline))
	}
	return Never - 1
}

func sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leaveTurn gives back the turns of a caller that stopped waiting.
func (l *Limiter) leaveTurn(ctx context.Context, d *Decision) {
	if !d.Allowed() {
		return
	}
	var refunds []Refund
	for i, e := range d.entries() {
		refunds = append(refunds, Refund{
			Key: e.key, Limit: d.bill.lines[i].rule.Name, Quota: d.bill.lines[i].quota,
			Units: e.cost, Receipt: e.result.Receipt, Turn: e.result.Delay > 0,
		})
	}
	ctx = context.WithoutCancel(ctx)
	if err := l.store.Give(ctx, refunds); err != nil {
		l.failed(ctx, err)
	}
}

func (t *table) rule(limit string) (*rule, error) {
	r := t.byName[limit]
	if r == nil {
		return nil, fmt.Errorf("core: no limit is called %q", limit)
	}
	return r, nil
}

// A target is a limit of one table, and the request that a key given as text
// stands for.
type target struct {
	table   *table
	rule    *rule
	request Request
}

func (l *Limiter) target(ctx context.Context, limit, key string) (target, error) {
	t := l.table.Load()
	r, err := t.rule(limit)
	if err != nil {
		return target{}, err
	}
	if len(r.parts) > 1 {
		return target{}, fmt.Errorf("core: limit %q has a key of %d parts, want AllowRequest for that", limit, len(r.parts))
	}
	to := target{t, r, callerFrom(ctx)}
	if key == "" {
		return to, to.fromContext(ctx)
	}
	return to, nameCaller(&to.request, r, key)
}

// callerFrom returns a request of the caller in ctx.
func callerFrom(ctx context.Context) Request {
	id, _ := IdentityFrom(ctx)
	return Request{Identity: id, Addr: DecisionFrom(ctx).Addr()}
}

// fromContext completes the request by what ctx knows of it. Whatever is missing is
// an error: one count for all who lack it would be nobody's.
func (to *target) fromContext(ctx context.Context) error {
	r, req, d := to.rule, &to.request, DecisionFrom(ctx)
	part, addressed := &r.parts[0], req.Addr.IsValid()
	switch part.kind {
	case partPrincipal:
		if req.Identity.Principal == "" && !addressed {
			return fmt.Errorf("core: limit %q got an empty key, and ctx carries no caller", r.Name)
		}
	case partIP:
		if !addressed {
			return fmt.Errorf("core: limit %q got an empty key, and ctx carries no address", r.Name)
		}
	case partRoute:
		if d == nil || d.request.Method == "" {
			return fmt.Errorf("core: limit %q got an empty key, and ctx carries no route", r.Name)
		}
		req.Method, req.Route, req.Syntax = d.request.Method, d.request.Route, d.request.Syntax
	case partHeader:
		value := d.header(part.name)
		if value == "" && !addressed {
			return fmt.Errorf("core: limit %q got an empty key, and ctx carries no header %s", r.Name, part.name)
		}
		req.Source = fixedSource(value)
	case partValue:
		return fmt.Errorf("core: limit %q got an empty key, want the value of %q that it counts by", r.Name, part.name)
	}
	return nil
}

// header returns a header of the request that was decided, or "".
func (d *Decision) header(name string) string {
	if d == nil || d.request.Source == nil {
		return ""
	}
	return strings.TrimSpace(d.request.Source.Header(name))
}

// nameCaller makes req the request of key.
func nameCaller(req *Request, r *rule, key string) error {
	switch r.parts[0].kind {
	case partPrincipal:
		if req.Identity.Principal != key { // somebody else: of no known tier
			req.Identity = Identity{Principal: key}
		}
	case partIP:
		addr, err := netip.ParseAddr(key)
		if err != nil {
			return fmt.Errorf("core: limit %q counts by address: %w", r.Name, err)
		}
		req.Addr = addr
	case partRoute:
		p, err := ParsePattern(key)
		if err == nil && (p.below || p.method == "") {
			err = fmt.Errorf("%q is not one route, want a method and a path such as \"GET /orders/{id}\"", key)
		}
		if err != nil {
			return fmt.Errorf("core: limit %q counts by route: %w", r.Name, err)
		}
		req.Method, req.Route = p.method, p.path
	case partHeader, partValue:
		if strings.TrimSpace(key) == "" {
			return fmt.Errorf("core: limit %q got the key %q, want a value that is not blank", r.Name, key)
		}
		req.Source = fixedSource(key)
	default:
		return fmt.Errorf("core: limit %q counts everybody together, want an empty key and not %q", r.Name, key)
	}
	return nil
}

// fixedSource is a request in which every header and value is the same text.
type fixedSource string

func (s fixedSource) Header(string) string      { return string(s) }
func (s fixedSource) KeyValue(string) string    { return string(s) }
func (s fixedSource) Cost(string) (int64, bool) { return 0, false }

// take charges, and tells the observer.
func (l *Limiter) take(ctx context.Context, to target, n int64, maxDelay time.Duration) (Decision, error) {
	d, err := l.ask(ctx, to, n, maxDelay, l.store.Take)
	if l.observer != nil && d.n > 0 {
		kept := d
		l.observer.Decided(ctx, &kept)
	}
	return d, err
}

type storeCall func(context.Context, []Charge, []Result) error

// ask puts one charge to the store.
func (l *Limiter) ask(ctx context.Context, to target, n int64, maxDelay time.Duration, call storeCall) (Decision, error) {
	t, r, req := to.table, to.rule, &to.request
	if n < 0 {
		err := fmt.Errorf("core: %d units of limit %q, want 0 or more", n, r.Name)
		return misuse(err), err
	}
	var d Decision
	d.reset(l, req)
	tier := t.tier(req.Identity)
	d.bill = r.solo[tier]
	if len(d.bill.lines) == 0 {
		return d, nil // unlimited
	}
	k := keyer{table: t, request: req, route: routeHash(t, req)}
	b := l.borrow(1)
	defer l.giveBack(b)
	k.charge(&b.charges[0], &d.bill.lines[0])
	b.charges[0].Cost, b.charges[0].MaxDelay = n, maxDelay
	if err := call(ctx, b.charges, b.results); err != nil {
		l.failed(ctx, err)
		d.fail(ctx, b, err)
		if d.outcome != Unavailable {
			err = nil // the limit's policy has decided
		}
		return d, err
	}
	d.record(b)
	return d, nil
}

// routeHash hashes the route of a request that was made from text.
func routeHash(t *table, req *Request) sum128 {
	return t.hasher.hashRoute(canonicalRoute(req.Syntax, req.Method, req.Route))
}
