package ginmw

import (
	"github.com/gin-gonic/gin"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/headers"
	"github.com/tidegate/tidegate/httpmw/clientip"
	"github.com/tidegate/tidegate/httpmw/guard"
)

type settings struct {
	guard    guard.Options[*gin.Context]
	onDenied func(*gin.Context, *core.Decision)
	fallback gin.HandlerFunc
}

// An Option configures [New] and [Limit]. Most programs need one or two.
type Option func(*settings)

// Stage chooses the limits to decide. With core.Early it is the early ones; without
// this option the main ones, and the early ones when no early mount has.
func Stage(stage core.Stage) Option {
	return func(s *settings) { s.guard.Stage = stage }
}

// Identify says who is calling. It runs where the middleware is mounted, so
// authentication must come before; it may read what that has set in the context.
// Default: whoever is in the request's context, put there by a middleware outside or by
// core.WithIdentity; else everybody is anonymous.
func Identify(identify func(*gin.Context) core.Identity) Option {
	return func(s *settings) { s.guard.Identify = identify }
}

// ClientIP says how to find the client's address behind proxies. Default: as for the
// middleware outside, else the connection's peer. Gin's own ClientIP is not used: it believes everybody unless
// told otherwise.
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
func Skip(skip func(*gin.Context) bool) Option {
	return func(s *settings) { s.guard.Skip = skip }
}

// Cost says what a request costs under a limit, instead of the limit's own cost.
// Cost 0 is free; a cost that the limit can never hold is denied without
// Retry-After.
func Cost(limit string, cost func(*gin.Context) int64) Option {
	return func(s *settings) {
		if s.guard.Costs == nil {
			s.guard.Costs = map[string]func(*gin.Context) int64{}
		}
		s.guard.Costs[limit] = cost
	}
}

// Value extracts what core.ByValue(name) counts by. An empty value counts by
// client address.
func Value(name string, value func(*gin.Context) string) Option {
	return func(s *settings) {
		if s.guard.Values == nil {
			s.guard.Values = map[string]func(*gin.Context) string{}
		}
		s.guard.Values[name] = value
	}
}

// OnDenied replaces the answer to a refused request. Its headers are set already,
// and the handlers behind do not run. Default: 429 (503 when the store failed)
// with a problem+json body.
func OnDenied(answer func(*gin.Context, *core.Decision)) Option {
	return func(s *settings) { s.onDenied = answer }
}

// Fallback answers the requests that limits with core.Fallback deny. It is
// required when there is such a limit.
func Fallback(h gin.HandlerFunc) Option {
	return func(s *settings) { s.fallback, s.guard.HasFallback = h, h != nil }
}

// KeepConnections leaves an HTTP/1 connection open after a denial of a request with
// a large unread body. By default it is closed, so that the denial need not wait
// for the body.
func KeepConnections() Option {
	return func(s *settings) { s.guard.KeepConnections = true }
}
