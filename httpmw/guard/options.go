package guard

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/headers"
	"github.com/tidegate/tidegate/httpmw/clientip"
)

// Options configures a [Guard]. The zero value is the recommended setting.
type Options[C any] struct {
	// Name is what errors call the guard, such as ginmw.New.
	Name string

	// Stage is the stage to decide. With core.Main, the default, the early limits
	// are decided too when no early mount has.
	Stage core.Stage

	// Only names the one limit to decide, on a route of its own. Default: those
	// that match.
	Only string

	// Headers are the styles of the fields that tell clients their quotas; NoHeaders
	// for none. Default: those of a guard outside, else headers.DraftC.
	Headers   headers.Styles
	NoHeaders bool

	// ClientIP finds the client's address. Default: what a guard outside found, else
	// the connection's peer; no header is believed.
	ClientIP *clientip.Resolver

	// Identify says who is calling. It runs when the guard does, so whatever it
	// reads must have been put there by middleware outside. Default: whoever is in
	// the request's context, from a guard outside or core.WithIdentity.
	Identify func(C) core.Identity

	// Skip exempts requests: they pass uncounted, without headers.
	Skip func(C) bool

	// Costs gives, by limit, what a request costs. Results below 0 count as 0.
	// Default: what a guard outside says, else the limit's own cost.
	Costs map[string]func(C) int64

	// Values extracts the values of core.ByValue keys, by name.
	Values map[string]func(C) string

	// HasFallback: the adapter has a handler for the requests that limits with
	// core.Fallback deny.
	HasFallback bool

	// ExposeHeaders lists the fields in Access-Control-Expose-Headers, so that
	// scripts of other origins can read them.
	ExposeHeaders bool

	// KeepConnections leaves HTTP/1 connections open after a denial whose body was
	// not read. Default: connections with more than 64 KiB to come are closed, since
	// the denial would otherwise wait for them.
	KeepConnections bool
}

// check reports every mistake, against the limits in force.
func (o *Options[C]) check(l *core.Limiter) error {
	var errs []error
	if l == nil {
		return errors.New("the limiter is nil, want one from core.New")
	}
	if err := o.Headers.Validate(); err != nil {
		errs = append(errs, err)
	}
	if o.NoHeaders && o.Headers != 0 {
		errs = append(errs, fmt.Errorf("headers are %v and none, want one of them", o.Headers))
	}
	names := l.Names()
	for name, cost := range o.Costs {
		if cost == nil {
			errs = append(errs, fmt.Errorf("the cost of the limit %q is nil, want a function", name))
		}
		if !slices.Contains(names, name) {
			errs = append(errs, fmt.Errorf("there is a cost for the limit %q, which does not exist; %s", name, known("limits", names)))
		}
	}
	if o.Only != "" && !slices.Contains(names, o.Only) {
		errs = append(errs, fmt.Errorf("the limit %q does not exist; %s", o.Only, known("limits", names)))
	}
	return errors.Join(append(errs, o.checkValues(l))...)
}

// checkValues reports extractors of what no limit counts by: misspelt names.
func (o *Options[C]) checkValues(l *core.Limiter) error {
	var errs []error
	var names []string
	for _, d := range l.Demands() {
		if d.Need == core.NeedValue && !slices.Contains(names, d.Value) {
			names = append(names, d.Value)
		}
	}
	for name := range o.Values {
		if !slices.Contains(names, name) {
			errs = append(errs, fmt.Errorf("there is a value %q, which no limit counts by; %s", name, known("values", names)))
		}
	}
	return errors.Join(errs...)
}

func known(what string, names []string) string {
	if len(names) == 0 {
		return "there are no " + what
	}
	return "the " + what + " are " + strings.Join(names, ", ")
}

// meets reports every demand of a table that the options do not meet.
func (o *Options[C]) meets(demands []core.Demand) error {
	var errs []error
	for _, d := range demands {
		if !o.concerns(d) {
			continue
		}
		switch {
		case d.Need == core.NeedValue && o.Values[d.Value] == nil:
			errs = append(errs, o.unmet(d, "counts by the value %q, want the Value option to extract it", d.Value))
		case d.Need == core.NeedFallback && !o.HasFallback:
			errs = append(errs, o.unmet(d, "is fallback, want the Fallback option with the handler for it"))
		}
	}
	return errors.Join(errs...)
}

// concerns reports whether the guard is one that decides the limit.
func (o *Options[C]) concerns(d core.Demand) bool {
	if o.Only != "" {
		return d.Limit == o.Only
	}
	return !d.Manual && (o.Stage != core.Early || d.Stage == core.Early)
}

func (o *Options[C]) unmet(d core.Demand, format string, args ...any) error {
	return &core.FieldError{Path: d.Path, Problem: fmt.Sprintf(format, args...) + " (" + o.Name + ")"}
}

// styles returns the fields to set, for a request that the guards before have seen.
func (o *Options[C]) styles(before *node, l *core.Limiter) headers.Styles {
	if o.Headers != 0 || o.NoHeaders {
		return o.Headers
	}
	for n := before; n != nil; n = n.before {
		if n.guard == l {
			return n.styles
		}
	}
	return headers.DraftC
}
