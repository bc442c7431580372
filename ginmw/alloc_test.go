//go:build !race

package ginmw_test

import (
	"net/http"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/ginmw"
	"github.com/tidegate/tidegate/httpmw/httpmwtest"
)

func TestAllocationsAboveTheBareHandler(t *testing.T) {
	httpmwtest.Allocations(t, func(l *core.Limiter) http.Handler {
		engine := gin.New()
		if l != nil {
			engine.Use(ginmw.New(l))
		}
		engine.GET("/x", func(*gin.Context) {})
		return engine
	})
}
