package guard

import (
	"errors"
	"fmt"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/headers"
	"github.com/tidegate/tidegate/httpmw/clientip"
)

// Options configures a [Guard]. The zero value is the recommended setting.
type Options[C any] struct {
	// Stage is the stage to decide. With core.Main, the default, the early limits
	// are decided too when no early mount has.
	Stage core.Stage

	// Only names the one limit to decide, on a route of its own. Default: those
	// that match.
	Only string

	// Headers are the styles of the fields that tell clients their quotas. Default
	// headers.DraftC; NoHeaders for none.
	Headers   headers.Styles
	NoHeaders bool

	// ClientIP finds the client's address. Default: the connection's peer; no
	// header is believed.
	ClientIP *clientip.Resolver

	// Identify says who is calling. It runs when the guard does, so whatever it
	// reads must have been put there by middleware outside. Default: nobody is
	// authenticated.
	Identify func(C) core.Identity

	// Skip exempts requests: they pass uncounted, without headers.
	Skip func(C) bool

	// Costs gives, by limit, what a request costs. Results below 0 count as 0.
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
	for name := range o.Costs {
		if !l.HasLimit(name) {
			errs = append(errs, fmt.Errorf("there is a cost for the limit %q, which does not exist", name))
		}
	}
	if o.Only != "" && !l.HasLimit(o.Only) {
		errs = append(errs, fmt.Errorf("the limit %q does not exist", o.Only))
	}
	for _, name := range l.Values() {
		if o.Values[name] == nil {
			errs = append(errs, fmt.Errorf("a limit counts by the value %q, want the Value option to extract it", name))
		}
	}
	if l.UsesFallback() && !o.HasFallback && (o.Only == "" || l.FallsBack(o.Only)) {
		errs = append(errs, errors.New("a limit has exceeded: fallback, want the Fallback option with the handler for it"))
	}
	return errors.Join(errs...)
}
