package echomw

import (
	"sync"
	"sync/atomic"

	"github.com/labstack/echo/v4"
)

// A routeFinder tells the routes that serve requests from those that answer where no
// route does: Echo gives every group with middleware such a one, and names it like a
// route. It remembers what it has found in each router. Its zero value is ready to use.
type routeFinder struct {
	mu    sync.Mutex
	known atomic.Pointer[map[*echo.Router]missing]
}

// missing lists the paths that have an answer for requests no route serves, and the
// methods that they have routes for.
type missing map[string]map[string]bool

// routeOf returns the route that serves the request, or "".
func (f *routeFinder) routeOf(c echo.Context) string {
	// For a method that a path does not have, Echo names the path's route, and answers
	// 405 with its methods in Allow: no route serves that.
	if c.Get(echo.ContextKeyHeaderAllow) != nil {
		return ""
	}
	path := c.Path()
	if path == "" {
		return ""
	}
	router := routerOf(c)
	methods, found := f.missing(router)[path]
	if !found || methods[c.Request().Method] {
		return path
	}
	if served(router, c.Request().Method, path) { // a route that was added later
		return path
	}
	return ""
}

// routerOf returns the router that found the request's route.
func routerOf(c echo.Context) *echo.Router {
	e := c.Echo()
	if hosts := e.Routers(); len(hosts) > 0 {
		if router, found := hosts[c.Request().Host]; found {
			return router
		}
	}
	return e.Router()
}

func (f *routeFinder) missing(router *echo.Router) missing {
	if known := f.known.Load(); known != nil {
		if m, found := (*known)[router]; found {
			return m
		}
	}
	return f.look(router)
}

// look reads a router's routes and remembers what it finds.
func (f *routeFinder) look(router *echo.Router) missing {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := missing{}
	routes := router.Routes()
	for _, r := range routes {
		if r.Method == echo.RouteNotFound {
			m[r.Path] = map[string]bool{}
		}
	}
	for _, r := range routes {
		if methods := m[r.Path]; methods != nil && r.Method != echo.RouteNotFound {
			methods[r.Method] = true
		}
	}
	next := map[*echo.Router]missing{router: m}
	if known := f.known.Load(); known != nil {
		for other, found := range *known {
			next[other] = found
		}
	}
	f.known.Store(&next)
	return m
}

// served reports whether the router has a route for the method and path.
func served(router *echo.Router, method, path string) bool {
	for _, r := range router.Routes() {
		if r.Method == method && r.Path == path {
			return true
		}
	}
	return false
}
