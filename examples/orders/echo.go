package main

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/echomw"
)

// newEcho builds the service on Echo.
func newEcho(s *service, g gate) http.Handler {
	e := echo.New()
	open := addEcho(e, s.open())
	options := []echomw.Option{
		echomw.ClientIP(g.clientIP),
		echomw.Headers(g.headers),
		// Use affects all routes, whenever they are added.
		echomw.Skip(func(c echo.Context) bool { return open[c.Path()] }),
		echomw.Fallback(func(c echo.Context) error {
			s.cachedProducts(c.Response(), c.Request())
			return nil
		}),
	}
	e.Use(middleware.Recover())
	e.Use(echomw.New(g.limiter, append(options, echomw.Stage(core.Early))...))
	// Authentication stands here in a real service.
	e.Use(echomw.New(g.limiter, append(options, echomw.Identify(func(c echo.Context) core.Identity {
		return g.identify(c.Request())
	}))...))
	addEcho(e, s.routes())
	return e
}

// addEcho adds routes and returns their paths.
func addEcho(e *echo.Echo, routes []route) map[string]bool {
	paths := map[string]bool{}
	for _, r := range routes {
		h := func(c echo.Context) error {
			for i, name := range c.ParamNames() {
				c.Request().SetPathValue(name, c.ParamValues()[i])
			}
			r.handle(c.Response(), c.Request())
			return nil
		}
		e.Add(r.method, colons(r.path), h)
		if r.method == http.MethodGet {
			e.HEAD(colons(r.path), h)
		}
		paths[colons(r.path)] = true
	}
	return paths
}
