//go:build !race

package httpmw_test

import (
	"net/http"
	"testing"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/httpmw"
	"github.com/tidegate/tidegate/httpmw/httpmwtest"
)

func TestAllocationsAboveTheBareHandler(t *testing.T) {
	httpmwtest.Allocations(t, func(l *core.Limiter) http.Handler {
		mux := http.NewServeMux()
		mux.HandleFunc("GET /x", func(http.ResponseWriter, *http.Request) {})
		if l == nil {
			return mux
		}
		return httpmw.New(l)(mux)
	})
}
