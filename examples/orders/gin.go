package main

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/ginmw"
)

// newGin builds the service on Gin.
func newGin(s *service, g gate) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.HandleMethodNotAllowed = true
	engine.RedirectTrailingSlash = false
	engine.Use(gin.Recovery())
	// Use affects only routes that are added after it: these are not limited.
	addGin(engine, s.open())
	options := []ginmw.Option{
		ginmw.ClientIP(g.clientIP),
		ginmw.Headers(g.headers),
		ginmw.Fallback(gin.WrapF(s.cachedProducts)),
	}
	engine.Use(ginmw.New(g.limiter, append(options, ginmw.Stage(core.Early))...))
	// Authentication stands here in a real service.
	engine.Use(ginmw.New(g.limiter, append(options, ginmw.Identify(func(c *gin.Context) core.Identity {
		return g.identify(c.Request)
	}))...))
	addGin(engine, s.routes())
	return engine.Handler()
}

func addGin(engine *gin.Engine, routes []route) {
	for _, r := range routes {
		h := func(c *gin.Context) {
			for _, p := range c.Params {
				c.Request.SetPathValue(p.Key, p.Value)
			}
			r.handle(c.Writer, c.Request)
		}
		engine.Handle(r.method, colons(r.path), h)
		if r.method == http.MethodGet {
			engine.HEAD(colons(r.path), h)
		}
	}
}

// colons writes /orders/{id} as Gin and Echo do: /orders/:id.
func colons(path string) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(path)
}
