package httpmw

import (
	"net/http"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/headers"
	"github.com/tidegate/tidegate/httpmw/clientip"
	"github.com/tidegate/tidegate/httpmw/guard"
)

// An exchange is what net/http gives to a handler.
type exchange struct {
	w http.ResponseWriter
	r *http.Request
}

type settings struct {
	guard    guard.Options[exchange]
	route    func(*http.Request) string
	onDenied func(http.ResponseWriter, *http.Request, *core.Decision)
	fallback http.Handler
}

// ofRequest makes a function of a request one of an exchange, and nil nil.
func ofRequest[T any](f func(*http.Request) T) func(exchange) T {
	if f == nil {
		return nil
	}
	return func(x exchange) T { return f(x.r) }
}

// An Option configures [New] and [Limit]. Most programs need one or two.
type Option func(*settings)

// Routes says which mux serves the requests, so that a middleware outside of it can
// know the route. The mux is asked again for every request, so routes may be added
// at any time.
func Routes(mux *http.ServeMux) Option {
	if mux == nil {
		panic("httpmw: Routes: the mux is nil")
	}
	return RouteFunc(func(r *http.Request) string {
		_, pattern := mux.Handler(r)
		return pattern
	})
}

// RouteFunc says how to find the route of a request, for another router than
// ServeMux, or for muxes inside muxes. It returns a pattern as ServeMux writes
// them, with or without the method, or "" when no route serves the request.
func RouteFunc(route func(*http.Request) string) Option {
	return func(s *settings) { s.route = route }
}

// PerRoute says that the middleware wraps single handlers inside a ServeMux, which
// tells each request its pattern.
func PerRoute() Option {
	return RouteFunc(func(r *http.Request) string { return r.Pattern })
}

// Stage chooses the limits to decide. With core.Early it is the early ones; without
// this option the main ones, and the early ones when no early mount has.
func Stage(stage core.Stage) Option {
	return func(s *settings) { s.guard.Stage = stage }
}

// Identify says who is calling. It runs where the middleware is mounted, so
// authentication must come before. Default: whoever is in the request's context, put
// there by a middleware outside or by core.WithIdentity; else everybody is anonymous.
func Identify(identify func(*http.Request) core.Identity) Option {
	return func(s *settings) { s.guard.Identify = ofRequest(identify) }
}

// ClientIP says how to find the client's address behind proxies. Default: as for the
// middleware outside, else the connection's peer.
func ClientIP(resolver *clientip.Resolver) Option {
	return func(s *settings) { s.guard.ClientIP = resolver }
}

// Headers chooses the fields that tell clients their quotas; 0 for none.
// Default: those of the middleware outside, else headers.DraftC.
func Headers(styles headers.Styles) Option {
	return func(s *settings) { s.guard.Headers, s.guard.NoHeaders = styles, styles == 0 }
}

// ExposeHeaders lets scripts of other origins read the fields.
func ExposeHeaders() Option {
	return func(s *settings) { s.guard.ExposeHeaders = true }
}

// Skip exempts requests: they pass uncounted.
func Skip(skip func(*http.Request) bool) Option {
	return func(s *settings) { s.guard.Skip = ofRequest(skip) }
}

// Cost says what a request costs under a limit, instead of the limit's own cost.
// Cost 0 is free; a cost that the limit can never hold is denied without
// Retry-After.
func Cost(limit string, cost func(*http.Request) int64) Option {
	return func(s *settings) {
		if s.guard.Costs == nil {
			s.guard.Costs = map[string]func(exchange) int64{}
		}
		s.guard.Costs[limit] = ofRequest(cost)
	}
}

// Value extracts what core.ByValue(name) counts by. An empty value counts by
// client address.
func Value(name string, value func(*http.Request) string) Option {
	return func(s *settings) {
		if s.guard.Values == nil {
			s.guard.Values = map[string]func(exchange) string{}
		}
		s.guard.Values[name] = ofRequest(value)
	}
}

// OnDenied replaces the answer to a refused request. Its headers are set already.
// Default: 429 (503 when the store failed) with a problem+json body.
func OnDenied(answer func(http.ResponseWriter, *http.Request, *core.Decision)) Option {
	return func(s *settings) { s.onDenied = answer }
}

// Fallback answers the requests that limits with core.Fallback deny. It is
// required when there is such a limit.
func Fallback(h http.Handler) Option {
	return func(s *settings) { s.fallback, s.guard.HasFallback = h, h != nil }
}

// KeepConnections leaves an HTTP/1 connection open after a denial of a request with
// a large unread body. By default it is closed, so that the denial need not wait
// for the body.
func KeepConnections() Option {
	return func(s *settings) { s.guard.KeepConnections = true }
}
