package ginmw_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/ginmw"
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

// statuses asks h n times and returns what it answered.
func statuses(h http.Handler, n int, method, path string) string {
	var all []string
	for range n {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		all = append(all, fmt.Sprint(w.Code))
	}
	return strings.Join(all, " ")
}

func ok(c *gin.Context) { c.String(http.StatusOK, "ok") }

func TestColonsOfRoutes(t *testing.T) {
	routes := []string{`/orders\:batch`, `/orders/:id`, `/user_:name`, `/a\:b/:b`, `/a\:b\:c`, `/x\::id`, `/v1/:id/items\:batch`, `/files\:all/*path`}
	for _, tt := range []struct{ pattern, path string }{
		{"/orders:batch", "/orders:batch"},
		{"/orders/{id}", "/orders/7"},
		{"/orders/{id}", "/orders/:batch"},
		{"/user_{name}", "/user_x"},
		{"/a:b:c", "/a:b:c"},
		{"/x:{id}", "/x:7"},
		{"/v1/{id}/items:batch", "/v1/7/items:batch"},
		{"/files:all/{path...}", "/files:all/x/y"},
	} {
		l := limiter(t, perHour(1, func(l *core.Limit) { l.Match = []string{tt.pattern} }))
		engine := gin.New()
		engine.Use(ginmw.New(l))
		for _, route := range routes {
			engine.POST(route, ok)
		}
		require.NoError(t, ginmw.CheckRoutes(l, engine), tt.pattern)
		require.Equal(t, "200 429", statuses(engine, 2, "POST", tt.path), "%s against %s", tt.path, tt.pattern)
		if tt.pattern != "/x:{id}" { // both kinds of colon in one segment: Gin no longer knows
			require.NoError(t, ginmw.CheckRoutes(l, engine), "%s while serving", tt.pattern)
		}
	}
	wrong := limiter(t, perHour(1, func(l *core.Limit) { l.Match = []string{"/orders/{id}/{more}"} }))
	engine := gin.New()
	engine.POST("/orders/:id", ok)
	require.ErrorContains(t, ginmw.CheckRoutes(wrong, engine), "limits[0].match[0]")
}

// A status that was only noted is settled when the handlers are done, and again when
// middleware outside changes it.
func TestStatusesThatAreSentLate(t *testing.T) {
	noted := func(c *gin.Context) { _ = c.Error(errors.New("noted")) }
	for name, tt := range map[string]struct {
		outside gin.HandlerFunc
		handler gin.HandlerFunc
		want    string
	}{
		"a status and no body":            {nil, func(c *gin.Context) { c.Status(204) }, "204 204 204 204"},
		"an error noted, and a status":    {nil, func(c *gin.Context) { noted(c); c.Status(204) }, "204 204 204 204"},
		"an error noted, and that status": {nil, func(c *gin.Context) { noted(c); c.Status(401) }, "401 401 429 429"},
		"a status outside":                {func(c *gin.Context) { c.Next(); c.Status(401) }, func(*gin.Context) {}, "401 401 429 429"},
		"a body outside":                  {func(c *gin.Context) { c.Next(); c.JSON(401, "no") }, func(*gin.Context) {}, "401 401 429 429"},
		"an error answered outside": {func(c *gin.Context) {
			if c.Next(); len(c.Errors) > 0 && !c.Writer.Written() {
				c.JSON(401, "no")
			}
		}, noted, "401 401 429 429"},
		"a status answered by another": {func(c *gin.Context) {
			if c.Next(); c.Writer.Status() == 401 {
				c.JSON(200, "never mind")
			}
		}, func(c *gin.Context) { c.Status(401) }, "200 200 200 200"},
	} {
		engine := gin.New()
		if tt.outside != nil {
			engine.Use(tt.outside)
		}
		engine.Use(ginmw.New(limiter(t, perHour(2, func(l *core.Limit) { l.Count = []int{401} }))))
		engine.GET("/x", tt.handler)
		require.Equal(t, tt.want, statuses(engine, 4, "GET", "/x"), name)
	}
}

// An error that is noted and answered by nobody is a 200, which is known when the
// request is over.
func TestAnErrorThatNobodyAnswers(t *testing.T) {
	l := limiter(t, perHour(2, func(l *core.Limit) { l.Count = []int{401} }))
	engine := gin.New()
	engine.Use(ginmw.New(l))
	engine.GET("/x", func(c *gin.Context) { _ = c.Error(errors.New("noted")) })
	server := httptest.NewServer(engine)
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
