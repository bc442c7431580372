package ginmw

import (
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/httpmw/guard"
)

// New returns middleware that decides every request by the limiter's table. It
// panics when an option does not fit the limiter.
func New(l *core.Limiter, opts ...Option) gin.HandlerFunc {
	return build("New", l, "", opts)
}

// Limit returns a handler for one route that counts it under one limit, whatever
// that limit's match says. A request that the limit has counted before is not
// counted again.
func Limit(l *core.Limiter, limit string, opts ...Option) gin.HandlerFunc {
	if limit == "" {
		panic("ginmw: Limit: the limit's name is empty")
	}
	return build("Limit", l, limit, opts)
}

func build(call string, l *core.Limiter, limit string, opts []Option) gin.HandlerFunc {
	var s settings
	for _, opt := range opts {
		opt(&s)
	}
	s.guard.Only = limit
	g, err := guard.New(l, s.guard)
	if err != nil {
		panic(fmt.Sprintf("ginmw: %s: %v", call, err))
	}
	return func(c *gin.Context) {
		v, verdict := g.Enter(c, c.Writer, c.Request, guard.Route{Path: c.FullPath(), Syntax: core.Colons})
		switch verdict {
		case guard.Pass:
		case guard.Go:
			c.Request = v.Request()
			if v.Counts() {
				serveCounted(c, v)
			}
		case guard.Fallback:
			c.Request = v.Request()
			c.Abort()
			s.fallback(c)
		default:
			c.Abort() // without it the handler would run after its 429
			s.refuse(c, v)
		}
	}
}

func (s *settings) refuse(c *gin.Context, v *guard.Visit[*gin.Context]) {
	if s.onDenied != nil {
		s.onDenied(c, &v.Decision)
		return
	}
	if err := v.Refuse(c.Writer); err != nil {
		_ = c.Error(err)
	}
}

// serveCounted runs the handlers behind and settles the request by its status.
func serveCounted(c *gin.Context, v *guard.Visit[*gin.Context]) {
	c.Writer = &watcher{ResponseWriter: c.Writer, commit: v.Commit}
	returned := false
	defer func() {
		if !returned { // panicked: a 500, unless the status had been committed before
			v.Commit(http.StatusInternalServerError)
		}
	}()
	c.Next()
	returned = true
	// Gin sends a status without a body after all handlers, past every writer. With an
	// error noted, middleware outside may still answer: the watcher sees that.
	if len(c.Errors) == 0 {
		v.Commit(c.Writer.Status())
	}
}

// Decision returns the decision that let a request pass, or nil.
func Decision(c *gin.Context) *core.Decision { return core.DecisionFrom(c.Request.Context()) }

// CheckRoutes returns an error that names every match and except of the limiter's
// table that fits no route of the engine. Call it after the last route is added.
func CheckRoutes(l *core.Limiter, engine *gin.Engine) error {
	var routes []core.Route
	for _, r := range engine.Routes() {
		routes = append(routes, core.Route{Method: r.Method, Path: r.Path, Syntax: core.Colons})
	}
	return l.CheckRoutes(routes)
}
