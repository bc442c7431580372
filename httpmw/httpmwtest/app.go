package httpmwtest

import (
	"net/http"
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

	// Limit mounts this limit on the route alone.
	Limit string

	Handle http.HandlerFunc

	// Fail returns a status that the handler gives to the framework as an error,
	// after Handle; where a framework has none, it is written.
	Fail func() int
}

// A Mount builds an App in a framework, with recovery from panics outermost.
type Mount func(t testing.TB, app App) http.Handler
