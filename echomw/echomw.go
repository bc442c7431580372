package echomw

import (
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/httpmw/guard"
)

// New returns middleware that decides every request by the limiter's table. It
// panics when an option does not fit the limiter. Later tables that it could not serve
// are refused by the limiter's Update.
func New(l *core.Limiter, opts ...Option) echo.MiddlewareFunc {
	return build("New", l, "", opts)
}

// Limit returns middleware for one route that counts it under one limit, whatever
// that limit's match says. A request that the limit has counted before is not
// counted again. What its options do not say, who is calling above all, is as for the
// [New] that is mounted around it; when the limit denies, that one's charges are given
// back.
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
	s.guard.Only, s.guard.Name = limit, "echomw."+call
	g, err := guard.New(l, s.guard)
	if err != nil {
		panic(fmt.Sprintf("echomw: %s: %v", call, err))
	}
	var finder routeFinder
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			v, verdict := g.Enter(c, c.Response(), c.Request(), guard.Route{Path: finder.routeOf(c), Syntax: core.Colons})
			switch verdict {
			case guard.Pass:
				return next(c)
			case guard.Go:
				return serve(c, v, next)
			case guard.Fallback:
				return serveWith(c, v, s.fallback)
			}
			return s.refuse(c, v)
		}
	}
}

func (s *settings) refuse(c echo.Context, v *guard.Visit[echo.Context]) error {
	if s.onDenied != nil {
		return s.onDenied(c, &v.Decision)
	}
	return v.Refuse(c.Response())
}

// serve runs the handler.
func serve(c echo.Context, v *guard.Visit[echo.Context], next echo.HandlerFunc) error {
	if v.Counts() {
		return serveCounted(c, v, next)
	}
	return serveWith(c, v, next)
}

func serveWith(c echo.Context, v *guard.Visit[echo.Context], h echo.HandlerFunc) error {
	c.SetRequest(v.Request())
	defer func() { v.Return(c.Request()) }()
	return h(c)
}

// serveCounted runs the handler and settles the request by its status. An error is
// turned into a response by Echo's error handler, outside of all middleware: the
// status is read when that is committed.
func serveCounted(c echo.Context, v *guard.Visit[echo.Context], next echo.HandlerFunc) error {
	response := c.Response()
	response.Before(func() { v.Commit(response.Status) })
	response.Writer = v.Watch(response.Writer) // sees what passes Echo's own: flushes and hijacks
	returned := false
	defer func() {
		if !returned { // panicked: a 500, unless the status had been committed before
			v.Commit(http.StatusInternalServerError)
		}
	}()
	err := serveWith(c, v, next)
	returned = true
	switch {
	case response.Committed:
		v.Commit(response.Status)
	case err != nil:
		v.Await()
	default:
		v.Settle(http.StatusOK) // what net/http sends when nobody outside writes either
	}
	return err
}

// Decision returns the decision that let a request pass. It is nil when none did, as
// for a CORS preflight: its methods may be called all the same.
func Decision(c echo.Context) *core.Decision { return core.DecisionFrom(c.Request().Context()) }

// CheckRoutes returns an error that names every match and except of the limiter's
// table that fits no route of e. Call it after the last route is added.
func CheckRoutes(l *core.Limiter, e *echo.Echo) error {
	var routes []core.Route
	routers := []*echo.Router{e.Router()}
	for _, r := range e.Routers() {
		routers = append(routers, r)
	}
	for _, router := range routers {
		for _, r := range router.Routes() {
			if r.Method != echo.RouteNotFound {
				routes = append(routes, core.Route{Method: r.Method, Path: r.Path, Syntax: core.Colons})
			}
		}
	}
	return l.CheckRoutes(routes)
}
