package main

import (
	"net/http"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/httpmw"
)

// newHTTP builds the service on net/http alone.
func newHTTP(s *service, g gate) http.Handler {
	limited := http.NewServeMux()
	addHTTP(limited, s.routes())
	options := []httpmw.Option{
		httpmw.Routes(limited),
		httpmw.ClientIP(g.clientIP),
		httpmw.Headers(g.headers),
		httpmw.Fallback(http.HandlerFunc(s.cachedProducts)),
	}
	early := httpmw.New(g.limiter, append(options, httpmw.Stage(core.Early))...)
	// Authentication stands between the two in a real service.
	main := httpmw.New(g.limiter, append(options, httpmw.Identify(g.identify))...)

	outer := http.NewServeMux()
	addHTTP(outer, s.open())
	outer.Handle("/", early(main(limited)))
	return outer
}

func addHTTP(mux *http.ServeMux, routes []route) {
	for _, r := range routes {
		mux.HandleFunc(r.method+" "+r.path, r.handle)
	}
}
