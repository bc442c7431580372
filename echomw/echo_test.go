package echomw_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/echomw"
	"github.com/tidegate/tidegate/store/memstore"
)

func limiter(t testing.TB, limits ...core.Limit) *core.Limiter {
	t.Helper()
	l, err := core.New(core.Config{Store: memstore.New(memstore.Config{MaxKeys: 1000}), Limits: limits})
	require.NoError(t, err)
	return l
}

func perHour(n int64, change func(*core.Limit)) core.Limit {
	l := core.Limit{Name: "a", Key: core.ByIP, Quota: core.FixedWindow(n, time.Hour)}
	change(&l)
	return l
}

// statuses asks h for each path and returns what it answered.
func statuses(h http.Handler, method string, paths ...string) string {
	var all []string
	for _, path := range paths {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		all = append(all, fmt.Sprint(w.Code))
	}
	return strings.Join(all, " ")
}

func ok(c echo.Context) error { return c.String(http.StatusOK, "ok") }

func through(next echo.HandlerFunc) echo.HandlerFunc { return next }

func TestStaticDirectories(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f.txt"), []byte("x"), 0o600))
	for _, pattern := range []string{"GET /static/...", "GET /static/{path...}"} {
		l := limiter(t, perHour(1, func(l *core.Limit) { l.Match = []string{pattern} }))
		e := echo.New()
		e.Use(echomw.New(l))
		e.Static("/static", dir)
		require.NoError(t, echomw.CheckRoutes(l, e))
		require.Equal(t, "200 429", statuses(e, "GET", "/static/f.txt", "/static/f.txt"), pattern)
	}
}

// Requests that no route serves are one route, whatever the group whose middleware
// they pass.
func TestNoRouteInAGroup(t *testing.T) {
	byRoute := perHour(2, func(l *core.Limit) { l.Key = core.ByRoute })
	api := core.Limit{Name: "api", Match: []string{"/api/..."}, Key: core.Global, Quota: core.FixedWindow(1, time.Hour)}
	e := echo.New()
	l := limiter(t, byRoute, api)
	e.Use(echomw.New(l))
	group := e.Group("/api", through)
	group.GET("/x", ok)
	group.GET("/*", ok)
	e.Group("/v2", through)
	require.Equal(t, "404 404 429 429", statuses(e, "POST", "/api/nope", "/v2/nope", "/api/other", "/nope"))
	require.Equal(t, "429 429", statuses(e, "INVENTED", "/api/nope", "/v2/nope"))
	require.Equal(t, "200 429", statuses(e, "GET", "/api/served", "/api/also"), "a catch-all in a group is a route")
	e.PUT("/v2/*", ok) // added while serving
	require.Equal(t, "200 200 429", statuses(e, "PUT", "/v2/a", "/v2/b", "/v2/c"))

	only := limiter(t, perHour(1, func(l *core.Limit) { l.Match = []string{"/v3/{path...}"} }))
	e = echo.New()
	e.Group("/v3", through)
	require.ErrorContains(t, echomw.CheckRoutes(only, e), "limits[0].match[0]")
	host := e.Host("a.example")
	host.GET("/v3/*", ok)
	require.NoError(t, echomw.CheckRoutes(only, e))
}

// A status that was only noted is settled when the handler is done, and again when
// middleware outside writes another.
func TestStatusesThatAreSentLate(t *testing.T) {
	after := func(answer func(echo.Context, error) error) echo.MiddlewareFunc {
		return func(next echo.HandlerFunc) echo.HandlerFunc {
			return func(c echo.Context) error { return answer(c, next(c)) }
		}
	}
	paths := []string{"/x", "/x", "/x", "/x"}
	for name, tt := range map[string]struct {
		outside echo.MiddlewareFunc
		handler echo.HandlerFunc
		want    string
	}{
		"nothing":       {through, func(echo.Context) error { return nil }, "200 200 200 200"},
		"an error":      {through, func(echo.Context) error { return echo.ErrUnauthorized }, "401 401 429 429"},
		"another error": {through, func(echo.Context) error { return errors.New("a bug") }, "500 500 500 500"},
		"a status outside": {after(func(c echo.Context, err error) error {
			if c.Response().Committed {
				return err
			}
			return c.NoContent(401)
		}), func(echo.Context) error { return nil }, "401 401 429 429"},
		"an error replaced": {after(func(c echo.Context, err error) error {
			if err != nil {
				return c.NoContent(204)
			}
			return nil
		}), func(echo.Context) error { return echo.ErrUnauthorized }, "204 204 204 204"},
		"a flush before a status": {through, func(c echo.Context) error { c.Response().Flush(); return echo.ErrUnauthorized }, "200 200 200 200"},
	} {
		e := echo.New()
		e.Use(tt.outside, echomw.New(limiter(t, perHour(2, func(l *core.Limit) { l.Count = []int{401} }))))
		e.GET("/x", tt.handler)
		require.Equal(t, tt.want, statuses(e, "GET", paths...), name)
	}
}

// An error that middleware outside drops is a 200, which is known when the request is
// over.
func TestAnErrorThatNobodyAnswers(t *testing.T) {
	l := limiter(t, perHour(2, func(l *core.Limit) { l.Count = []int{401} }))
	e := echo.New()
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error { _ = next(c); return nil }
	}, echomw.New(l))
	e.GET("/x", func(echo.Context) error { return errors.New("dropped") })
	server := httptest.NewServer(e)
	defer server.Close()
	for range 5 {
		response, err := server.Client().Get(server.URL + "/x")
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, 200, response.StatusCode)
		require.Eventually(t, func() bool {
			d, err := l.Peek(context.Background(), "a", "127.0.0.1", 1)
			return err == nil && d.Limit(0).Remaining == 2
		}, 5*time.Second, time.Millisecond)
	}
}
