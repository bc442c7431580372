package echomw_test

import (
	"net/http"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/echomw"
	"github.com/tidegate/tidegate/httpmw/httpmwtest"
)

func TestAdapter(t *testing.T) { httpmwtest.Run(t, mount) }

// mount builds an app on Echo, as it comes.
func mount(_ testing.TB, app httpmwtest.App) http.Handler {
	e := echo.New()
	e.Logger.SetLevel(99)
	e.Use(middleware.RecoverWithConfig(middleware.RecoverConfig{DisablePrintStack: true, LogErrorFunc: func(_ echo.Context, err error, _ []byte) error { return err }}))
	if app.Early {
		early := app
		early.Identify = nil
		e.Use(echomw.New(app.Limiter, append(options(early), echomw.Stage(core.Early))...))
	}
	if app.Outer != "" {
		e.Use(echomw.Limit(app.Limiter, app.Outer, options(app)...))
	}
	e.Use(echomw.New(app.Limiter, options(app)...))
	if app.Twice {
		e.Use(echomw.New(app.Limiter, options(app)...))
	}
	if app.Inner != nil {
		e.Use(echomw.New(app.Inner, options(app)...))
	}
	for _, r := range app.Routes {
		var around []echo.MiddlewareFunc
		if r.Limit != "" {
			around = append(around, echomw.Limit(app.Limiter, r.Limit, options(app.OnRoute())...))
		}
		e.Add(r.Method, httpmwtest.Colons(r.Path), handler(r), around...)
	}
	return e
}

func handler(r httpmwtest.Route) echo.HandlerFunc {
	return func(c echo.Context) error {
		r.Handle(c.Response(), c.Request())
		if r.Fail != nil {
			return echo.NewHTTPError(r.Fail())
		}
		return nil
	}
}

func options(app httpmwtest.App) []echomw.Option {
	list := []echomw.Option{echomw.ClientIP(app.ClientIP)}
	if app.SetHeaders {
		list = append(list, echomw.Headers(app.Headers))
	}
	if app.Identify != nil {
		list = append(list, echomw.Identify(func(c echo.Context) core.Identity { return app.Identify(c.Request()) }))
	}
	if app.Skip != nil {
		list = append(list, echomw.Skip(func(c echo.Context) bool { return app.Skip(c.Request()) }))
	}
	for name, cost := range app.Costs {
		list = append(list, echomw.Cost(name, func(c echo.Context) int64 { return cost(c.Request()) }))
	}
	for name, value := range app.Values {
		list = append(list, echomw.Value(name, func(c echo.Context) string { return value(c.Request()) }))
	}
	if app.OnDenied != nil {
		list = append(list, echomw.OnDenied(func(c echo.Context, d *core.Decision) error { app.OnDenied(c.Response(), d); return nil }))
	}
	if app.Fallback != nil {
		list = append(list, echomw.Fallback(func(c echo.Context) error { app.Fallback(c.Response(), c.Request()); return nil }))
	}
	if app.ExposeHeaders {
		list = append(list, echomw.ExposeHeaders())
	}
	return list
}
