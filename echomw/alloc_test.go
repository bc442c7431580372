//go:build !race

package echomw_test

import (
	"net/http"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/echomw"
	"github.com/tidegate/tidegate/httpmw/httpmwtest"
)

func TestAllocationsAboveTheBareHandler(t *testing.T) {
	httpmwtest.Allocations(t, func(l *core.Limiter) http.Handler {
		e := echo.New()
		if l != nil {
			e.Use(echomw.New(l))
		}
		e.GET("/x", func(echo.Context) error { return nil })
		return e
	})
}
