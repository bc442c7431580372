package ginmw_test

import (
	"net/http"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/ginmw"
	"github.com/tidegate/tidegate/httpmw/httpmwtest"
)

func init() { gin.SetMode(gin.ReleaseMode) }

func TestAdapter(t *testing.T) { httpmwtest.Run(t, mount) }

// mount builds an app on Gin, as it comes: every proxy trusted, redirects on.
func mount(_ testing.TB, app httpmwtest.App) http.Handler {
	engine := gin.New()
	engine.Use(gin.CustomRecoveryWithWriter(nil, func(c *gin.Context, _ any) { c.AbortWithStatus(http.StatusInternalServerError) }), answerErrors)
	if app.Early {
		early := app
		early.Identify = nil
		engine.Use(ginmw.New(app.Limiter, append(options(early), ginmw.Stage(core.Early))...))
	}
	if app.Outer != "" {
		engine.Use(ginmw.Limit(app.Limiter, app.Outer, options(app)...))
	}
	engine.Use(ginmw.New(app.Limiter, options(app)...))
	if app.Twice {
		engine.Use(ginmw.New(app.Limiter, options(app)...))
	}
	if app.Inner != nil {
		engine.Use(ginmw.New(app.Inner, options(app)...))
	}
	for _, r := range app.Routes {
		chain := []gin.HandlerFunc{handler(r)}
		if r.Limit != "" {
			chain = []gin.HandlerFunc{ginmw.Limit(app.Limiter, r.Limit, options(app.OnRoute())...), handler(r)}
		}
		engine.Handle(r.Method, httpmwtest.Colons(r.Path), chain...)
	}
	return engine
}

// answerErrors is an error handler as many Gin programs have one, outside the
// limiter: the status comes after the handlers.
func answerErrors(c *gin.Context) {
	c.Next()
	if len(c.Errors) > 0 && !c.Writer.Written() {
		c.String(int(c.Errors.Last().Meta.(failure)), "failed")
	}
}

type failure int

func handler(r httpmwtest.Route) gin.HandlerFunc {
	return func(c *gin.Context) {
		r.Handle(c.Writer, c.Request)
		if r.Fail != nil {
			_ = c.Error(http.ErrNotSupported).SetMeta(failure(r.Fail()))
		}
	}
}

func options(app httpmwtest.App) []ginmw.Option {
	list := []ginmw.Option{ginmw.ClientIP(app.ClientIP)}
	if app.SetHeaders {
		list = append(list, ginmw.Headers(app.Headers))
	}
	if app.Identify != nil {
		list = append(list, ginmw.Identify(func(c *gin.Context) core.Identity { return app.Identify(c.Request) }))
	}
	if app.Skip != nil {
		list = append(list, ginmw.Skip(func(c *gin.Context) bool { return app.Skip(c.Request) }))
	}
	for name, cost := range app.Costs {
		list = append(list, ginmw.Cost(name, func(c *gin.Context) int64 { return cost(c.Request) }))
	}
	for name, value := range app.Values {
		list = append(list, ginmw.Value(name, func(c *gin.Context) string { return value(c.Request) }))
	}
	if app.OnDenied != nil {
		list = append(list, ginmw.OnDenied(func(c *gin.Context, d *core.Decision) { app.OnDenied(c.Writer, d) }))
	}
	if app.Fallback != nil {
		list = append(list, ginmw.Fallback(gin.WrapF(app.Fallback)))
	}
	if app.ExposeHeaders {
		list = append(list, ginmw.ExposeHeaders())
	}
	return list
}
