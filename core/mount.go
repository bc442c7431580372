package core

import (
	"errors"
	"fmt"
	"weak"
)

// A Demand is something that a table asks of the adapters it is mounted in, which
// only they can know or do.
type Demand struct {
	Need   Need
	Path   string // the field that makes the demand, such as limits[2].exceeded
	Limit  string // the limit's name; empty for an exemption
	Stage  Stage  // the limit's
	Manual bool   // the limit is charged by Go code only
	Value  string // with NeedValue: the name that is given to [ByValue]
}

// Need is what a [Demand] is for.
type Need uint8

// The needs.
const (
	NeedRoute    Need = iota // to know the route that serves a request
	NeedValue                // to extract the value of a ByValue key
	NeedFallback             // to have a handler for what limits with Fallback deny
)

var needNames = []string{"route", "value", "fallback"}

// String returns the need in lower case.
func (n Need) String() string { return nameOf(needNames, int(n)) }

// A Mount ties an adapter to its limiter: see [Limiter.Mount].
type Mount struct {
	check func([]Demand) error
}

// Mount has an adapter's check approve of the demands of the table in force, and of
// every table that replaces it: [Limiter.Update] refuses those that it returns an
// error for. This lasts as long as the adapter keeps the Mount, so that a handler
// that nobody uses any more has no say. check must not call Mount or Update.
func (l *Limiter) Mount(check func([]Demand) error) (*Mount, error) {
	l.updating.Lock()
	defer l.updating.Unlock()
	if err := check(l.table.Load().demands()); err != nil {
		return nil, err
	}
	m := &Mount{check}
	l.liveMounts()
	l.mounts = append(l.mounts, weak.Make(m))
	return m, nil
}

// Demands returns what the table in force asks of adapters, in its order.
func (l *Limiter) Demands() []Demand { return l.table.Load().demands() }

// checkMounts asks every adapter about a table that is to come.
func (l *Limiter) checkMounts(t *table) error {
	var errs []error
	demands := t.demands()
	for _, m := range l.liveMounts() {
		errs = append(errs, m.check(demands))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("core: what is mounted cannot serve this table: %w", err)
	}
	return nil
}

// liveMounts returns the mounts that are in use, and forgets the others.
func (l *Limiter) liveMounts() []*Mount {
	var live []*Mount
	kept := l.mounts[:0]
	for _, p := range l.mounts {
		if m := p.Value(); m != nil {
			live, kept = append(live, m), append(kept, p)
		}
	}
	clear(l.mounts[len(kept):])
	l.mounts = kept
	return live
}

func (t *table) demands() []Demand {
	var list []Demand
	for i, e := range t.exempt {
		if len(e.match) > 0 {
			list = append(list, Demand{Need: NeedRoute, Path: indexed("exempt", i) + ".match"})
		}
	}
	for _, r := range t.limits {
		list = append(list, r.demands()...)
	}
	return list
}

func (r *rule) demands() []Demand {
	var list []Demand
	add := func(need Need, field, value string) {
		list = append(list, Demand{
			Need: need, Path: limitPath(r.index) + field, Limit: r.Name,
			Stage: r.Stage, Manual: r.Manual, Value: value,
		})
	}
	if len(r.match) > 0 {
		add(NeedRoute, ".match", "")
	}
	if len(r.except) > 0 {
		add(NeedRoute, ".except", "")
	}
	for _, part := range r.parts {
		switch part.kind {
		case partRoute:
			add(NeedRoute, ".key", "")
		case partValue:
			add(NeedValue, ".key", part.name)
		}
	}
	if r.Exceeded == Fallback {
		add(NeedFallback, ".exceeded", "")
	}
	return list
}
