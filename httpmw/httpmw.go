package httpmw

import (
	"fmt"
	"net/http"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/httpmw/guard"
)

// New returns middleware that decides every request by the limiter's table.
//
// Limits that depend on routes need to know them: give [Routes], [RouteFunc] or
// [PerRoute], or wrap a ServeMux itself. New panics when an option does not fit the
// limiter, and the middleware does when routes are needed and it cannot know them.
// Later tables that it could not serve are refused by the limiter's Update.
func New(l *core.Limiter, opts ...Option) func(http.Handler) http.Handler {
	return build("New", l, "", opts)
}

// Limit returns middleware for handlers of a route that counts them under one limit,
// whatever that limit's match says. A request that the limit has counted before
// is not counted again. What its options do not say, who is calling above all, is as
// for the [New] that is mounted around it; when the limit denies, that one's charges
// are given back.
func Limit(l *core.Limiter, limit string, opts ...Option) func(http.Handler) http.Handler {
	if limit == "" {
		panic("httpmw: Limit: the limit's name is empty")
	}
	return build("Limit", l, limit, append([]Option{PerRoute()}, opts...))
}

func build(call string, l *core.Limiter, limit string, opts []Option) func(http.Handler) http.Handler {
	var s settings
	for _, opt := range opts {
		opt(&s)
	}
	s.guard.Only, s.guard.Name = limit, "httpmw."+call
	g, err := guard.New(l, s.guard)
	if err != nil {
		panic(fmt.Sprintf("httpmw: %s: %v", call, err))
	}
	return func(next http.Handler) http.Handler {
		m := &middleware{guard: g, settings: s, next: next}
		if m.route == nil {
			m.findRoutes(l)
		}
		return m
	}
}

// findRoutes settles how a middleware without an option for it knows the route.
func (m *middleware) findRoutes(l *core.Limiter) {
	if mux, ok := m.next.(*http.ServeMux); ok {
		Routes(mux)(&m.settings)
		return
	}
	var err error
	if m.blind, err = l.Mount(refuseRoutes); err != nil {
		panic(fmt.Sprintf("httpmw: New: %v", err))
	}
	PerRoute()(&m.settings)
}

// refuseRoutes is the check of a middleware that cannot see routes.
func refuseRoutes(demands []core.Demand) error {
	for _, d := range demands {
		if d.Need == core.NeedRoute {
			return &core.FieldError{Path: d.Path, Problem: "depends on routes, which a middleware of httpmw.New cannot see: " +
				"pass httpmw.Routes(mux) when it is mounted outside a mux, or httpmw.PerRoute() when it wraps single handlers"}
		}
	}
	return nil
}

type middleware struct {
	settings
	guard *guard.Guard[exchange]
	next  http.Handler
	blind *core.Mount // kept when the route is not known
}

func (m *middleware) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	route := guard.Route{Path: m.route(r), Syntax: core.Braces}
	v, verdict := m.guard.Enter(exchange{w, r}, w, r, route)
	switch verdict {
	case guard.Pass:
		m.next.ServeHTTP(w, r)
	case guard.Go:
		m.serve(w, v)
	case guard.Fallback:
		r := v.Request()
		defer v.Return(r)
		m.fallback.ServeHTTP(w, r)
	default:
		m.refuse(w, r, v)
	}
}

func (m *middleware) refuse(w http.ResponseWriter, r *http.Request, v *guard.Visit[exchange]) {
	if m.onDenied != nil {
		m.onDenied(w, r, &v.Decision)
		return
	}
	_ = v.Refuse(w) // the client has left: there is nobody to tell
}

func (m *middleware) serve(w http.ResponseWriter, v *guard.Visit[exchange]) {
	r := v.Request()
	defer v.Return(r)
	if !v.Counts() {
		m.next.ServeHTTP(w, r)
		return
	}
	// A handler that does not return has panicked: that is a 500, unless the status
	// had been committed before.
	status := http.StatusInternalServerError
	defer func() { v.Commit(status) }()
	m.next.ServeHTTP(v.Watch(w), r)
	status = http.StatusOK // what net/http sends when nothing was written
}

// Decision returns the decision that let a request pass. It is nil when none did, as
// for a CORS preflight: its methods may be called all the same.
func Decision(r *http.Request) *core.Decision { return core.DecisionFrom(r.Context()) }

// CheckRoutes returns an error that names every match and except of the limiter's
// table that fits none of the patterns. ServeMux cannot list its own.
func CheckRoutes(l *core.Limiter, patterns ...string) error {
	routes := make([]core.Route, 0, len(patterns))
	for _, p := range patterns {
		routes = append(routes, core.ServeMuxRoute(p))
	}
	return l.CheckRoutes(routes)
}
