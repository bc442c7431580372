package echomw

import (
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/httpmw/guard"
)

// New returns middleware that decides every request by the limiter's table. It
// panics when an option does not fit the limiter.
func New(l *core.Limiter, opts ...Option) echo.MiddlewareFunc {
	return build("New", l, "", opts)
}

// Limit returns middleware for one route that counts it under one limit, whatever
// that limit's match says. A request that the limit has counted before is not
// counted again.
func Limit(l *core.Limiter, limit string, opts ...Option) echo.MiddlewareFunc {
	if limit == "" {
		panic("echomw: Limit: the limit's name is empty")
	}
	return build("Limit", l, limit, opts)
}

func build(call string, l *core.Limiter, limit string, opts []Option) echo.MiddlewareFunc {
	var s settings
	for _, opt := range opts {
		opt(&s)
	}
	s.guard.Only = limit
	g, err := guard.New(l, s.guard)
	if err != nil {
		panic(fmt.Sprintf("echomw: %s: %v", call, err))
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			v, verdict := g.Enter(c, c.Response(), c.Request(), guard.Route{Path: routeOf(c), Syntax: core.Colons})
			switch verdict {
			case guard.Pass:
				return next(c)
			case guard.Go:
				c.SetRequest(v.Request())
				if v.Counts() {
					return serveCounted(c, v, next)
				}
				return next(c)
			case guard.Fallback:
				c.SetRequest(v.Request())
				return s.fallback(c)
			}
			return s.refuse(c, v)
		}
	}
}

// routeOf returns the route that serves the request. For a method that a path does
// not have, Echo names the path's route, and answers 405 with its methods in
// Allow: no route serves that.
func routeOf(c echo.Context) string {
	if c.Get(echo.ContextKeyHeaderAllow) != nil {
		return ""
	}
	return c.Path()
}

func (s *settings) refuse(c echo.Context, v *guard.Visit[echo.Context]) error {
	if s.onDenied != nil {
		return s.onDenied(c, &v.Decision)
	}
	return v.Refuse(c.Response())
}

// serveCounted runs the handler and settles the request by its status. An error is
// turned into a response by Echo's error handler, outside of all middleware: the
// status is read when that is committed.
func serveCounted(c echo.Context, v *guard.Visit[echo.Context], next echo.HandlerFunc) error {
	response := c.Response()
	response.Before(func() { v.Commit(response.Status) })
	returned := false
	defer func() {
		if !returned { // panicked: a 500, unless the status had been committed before
			v.Commit(http.StatusInternalServerError)
		}
	}()
	err := next(c)
	returned = true
	if err == nil && !response.Committed {
		v.Commit(http.StatusOK) // what net/http sends when nothing was written
	}
	return err
}

// Decision returns the decision that let a request pass, or nil.
func Decision(c echo.Context) *core.Decision { return core.DecisionFrom(c.Request().Context()) }

// CheckRoutes returns an error that names every match and except of the limiter's
// table that fits no route of e. Call it after the last route is added.
func CheckRoutes(l *core.Limiter, e *echo.Echo) error {
	var routes []core.Route
	for _, r := range e.Routes() {
		routes = append(routes, core.Route{Method: r.Method, Path: r.Path, Syntax: core.Colons})
	}
	return l.CheckRoutes(routes)
}
