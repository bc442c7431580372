package httpmwtest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/headers"
	"github.com/tidegate/tidegate/httpmw/clientip"
)

// An App is a program to be built in a framework.
type App struct {
	Limiter *core.Limiter
	Routes  []Route

	// Early mounts the early stage before the main one. Twice mounts the main stage
	// two times.
	Early, Twice bool

	// Outer mounts this limit alone outside the main stage, and inside the early one.
	Outer string

	// Inner is another limiter, mounted inside the main stage with the same options.
	Inner *core.Limiter

	// The adapter's options, in terms of net/http. nil or zero: the option is not
	// used. Headers is used when SetHeaders is true.
	Headers       headers.Styles
	SetHeaders    bool
	ClientIP      *clientip.Resolver
	Identify      func(*http.Request) core.Identity
	Skip          func(*http.Request) bool
	Costs         map[string]func(*http.Request) int64
	Values        map[string]func(*http.Request) string
	OnDenied      func(http.ResponseWriter, *core.Decision)
	Fallback      http.HandlerFunc
	ExposeHeaders bool
}

// A Route is one of the program's, with its path as ServeMux writes it.
type Route struct {
	Method, Path string

	// Limit mounts this limit on the route alone, with the options of [App.OnRoute].
	Limit string

	Handle http.HandlerFunc

	// Fail returns a status that the handler gives to the framework as an error,
	// after Handle; where a framework has none, it is written.
	Fail func() int
}

// OnRoute returns the app with the options that a limit on a route gets: not those
// that the mount around it has settled.
func (a App) OnRoute() App {
	a.ClientIP, a.Identify, a.Skip, a.Costs, a.SetHeaders = nil, nil, nil, nil, false
	return a
}

// Colons writes a path of ServeMux as Gin and Echo do: /orders/{id} is /orders/:id,
// /files/{path...} is /files/*path, and a colon has a backslash before it.
func Colons(path string) string {
	head, rest, found := strings.Cut(path, "...}")
	if i := strings.LastIndexByte(head, '{'); found && i >= 0 {
		head = head[:i] + "*" + head[i+1:] + rest
	}
	return strings.NewReplacer(":", `\:`, "{", ":", "}", "").Replace(head)
}

// A Mount builds an App in a framework, with recovery from panics outermost.
type Mount func(t testing.TB, app App) http.Handler
