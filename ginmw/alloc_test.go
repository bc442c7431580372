//go:build !race

package ginmw_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/ginmw"
	"github.com/tidegate/tidegate/store/memstore"
)

// blank is a ResponseWriter that can be used again.
type blank struct{ h http.Header }

func (b *blank) Header() http.Header         { return b.h }
func (b *blank) Write(p []byte) (int, error) { return len(p), nil }
func (b *blank) WriteHeader(int)             {}

func TestAllocationsAboveTheBareHandler(t *testing.T) {
	engine := func(middleware ...gin.HandlerFunc) http.Handler {
		e := gin.New()
		e.Use(middleware...)
		e.GET("/x", func(*gin.Context) {})
		return e
	}
	bare, limited := engine(), func(l *core.Limiter) http.Handler { return engine(ginmw.New(l)) }
	for name, tt := range map[string]struct {
		quota int64
		most  float64
	}{"allowed": {1e9, 3}, "denied": {0, 5}} {
		l, err := core.New(core.Config{Store: memstore.New(memstore.Config{MaxKeys: 1000}), Limits: []core.Limit{
			{Name: "a", Quota: core.TokenBucket(tt.quota, time.Hour)},
			{Name: "b", Quota: core.TokenBucket(1e9, time.Hour)},
			{Name: "c", Match: []string{"GET /x"}, Quota: core.TokenBucket(1e9, time.Hour)},
		}})
		require.NoError(t, err)
		r, w := httptest.NewRequest("GET", "/x", nil), &blank{http.Header{}}
		serve := func(h http.Handler) float64 {
			return testing.AllocsPerRun(200, func() { clear(w.h); h.ServeHTTP(w, r) })
		}
		base := serve(bare)
		got := serve(limited(l)) - base
		require.LessOrEqual(t, got, tt.most, name)
		require.NotEmpty(t, w.h["Ratelimit"], name)
	}
}
