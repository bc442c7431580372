package ginmw

import (
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/httpmw/guard"
)

// New returns middleware that decides every request by the limiter's table. It
// panics when an option does not fit the limiter. Later tables that it could not serve
// are refused by the limiter's Update.
func New(l *core.Limiter, opts ...Option) gin.HandlerFunc {
	return build("New", l, "", opts)
}

// Limit returns a handler for one route that counts it under one limit, whatever
// that limit's match says. A request that the limit has counted before is not
// counted again. What its options do not say, who is calling above all, is as for the
// [New] that is mounted around it; when the limit denies, that one's charges are given
// back.
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
	s.guard.Only, s.guard.Name = limit, "ginmw."+call
	g, err := guard.New(l, s.guard)
	if err != nil {
		panic(fmt.Sprintf("ginmw: %s: %v", call, err))
	}
	return func(c *gin.Context) {
		v, verdict := g.Enter(c, c.Writer, c.Request, guard.Route{Path: routeOf(c), Syntax: core.Colons})
		switch verdict {
		case guard.Pass:
		case guard.Go:
			serve(c, v)
		case guard.Fallback:
			c.Request = v.Request()
			defer func() { v.Return(c.Request) }()
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

// serve runs the handlers behind.
func serve(c *gin.Context, v *guard.Visit[*gin.Context]) {
	c.Request = v.Request()
	defer func() { v.Return(c.Request) }()
	if v.Counts() {
		serveCounted(c, v)
		return
	}
	c.Next()
}

// serveCounted runs the handlers behind and settles the request by its status.
func serveCounted(c *gin.Context, v *guard.Visit[*gin.Context]) {
	w := &watcher{ResponseWriter: c.Writer, visit: v}
	c.Writer = w
	defer func() {
		if !w.returned { // panicked: a 500, unless the status had been committed before
			v.Commit(http.StatusInternalServerError)
		}
	}()
	c.Next()
	w.returned = true
	switch {
	case w.Written():
		v.Commit(w.Status())
	case len(c.Errors) > 0 && w.Status() == http.StatusOK:
		v.Await() // an error was noted and not answered: middleware outside may
	default:
		// Gin sends a status without a body after all handlers, past every writer. Until
		// then middleware outside may change it: the watcher sees that.
		v.Settle(w.Status())
	}
}

// Decision returns the decision that let a request pass. It is nil when none did, as
// for a CORS preflight: its methods may be called all the same.
func Decision(c *gin.Context) *core.Decision { return core.DecisionFrom(c.Request.Context()) }

// CheckRoutes returns an error that names every match and except of the limiter's
// table that fits no route of the engine. Call it after the last route is added and
// before the engine serves: then Gin forgets which colons are parameters.
func CheckRoutes(l *core.Limiter, engine *gin.Engine) error {
	var routes []core.Route
	for _, r := range engine.Routes() {
		for _, path := range [...]string{r.Path, verbs(r.Path)} {
			routes = append(routes, core.Route{Method: r.Method, Path: path, Syntax: core.Colons})
		}
	}
	return l.CheckRoutes(routes)
}
