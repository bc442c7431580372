package httpmw_test

import (
	"net/http"
	"testing"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/httpmw"
	"github.com/tidegate/tidegate/httpmw/httpmwtest"
)

func TestAdapter(t *testing.T) { httpmwtest.Run(t, mount) }

// mount builds an app on net/http.
func mount(_ testing.TB, app httpmwtest.App) http.Handler {
	mux := http.NewServeMux()
	for _, r := range app.Routes {
		var h http.Handler = handler(r)
		if r.Limit != "" {
			h = httpmw.Limit(app.Limiter, r.Limit, options(app.OnRoute())...)(h)
		}
		mux.Handle(r.Method+" "+r.Path, h)
	}
	main := httpmw.New(app.Limiter, append(options(app), httpmw.Routes(mux))...)
	var h http.Handler = mux
	if app.Inner != nil {
		h = httpmw.New(app.Inner, append(options(app), httpmw.Routes(mux))...)(h)
	}
	h = main(h)
	if app.Twice {
		h = main(h)
	}
	if app.Outer != "" {
		h = httpmw.Limit(app.Limiter, app.Outer, append(options(app), httpmw.Routes(mux))...)(h)
	}
	if app.Early {
		early := app
		early.Identify = nil
		h = httpmw.New(app.Limiter, append(options(early), httpmw.Routes(mux), httpmw.Stage(core.Early))...)(h)
	}
	return h
}

func handler(r httpmwtest.Route) http.HandlerFunc {
	if r.Fail == nil {
		return r.Handle
	}
	return func(w http.ResponseWriter, request *http.Request) {
		r.Handle(w, request)
		w.WriteHeader(r.Fail())
	}
}

func options(app httpmwtest.App) []httpmw.Option {
	list := []httpmw.Option{httpmw.ClientIP(app.ClientIP)}
	if app.SetHeaders {
		list = append(list, httpmw.Headers(app.Headers))
	}
	if app.Identify != nil {
		list = append(list, httpmw.Identify(app.Identify))
	}
	if app.Skip != nil {
		list = append(list, httpmw.Skip(app.Skip))
	}
	for name, cost := range app.Costs {
		list = append(list, httpmw.Cost(name, cost))
	}
	for name, value := range app.Values {
		list = append(list, httpmw.Value(name, value))
	}
	if app.OnDenied != nil {
		list = append(list, httpmw.OnDenied(func(w http.ResponseWriter, _ *http.Request, d *core.Decision) { app.OnDenied(w, d) }))
	}
	if app.Fallback != nil {
		list = append(list, httpmw.Fallback(app.Fallback))
	}
	if app.ExposeHeaders {
		list = append(list, httpmw.ExposeHeaders())
	}
	return list
}
