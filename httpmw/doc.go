// Package httpmw limits net/http handlers.
//
//	mux := http.NewServeMux()
//	mux.HandleFunc("POST /orders", createOrder)
//	http.ListenAndServe(addr, httpmw.New(limiter, httpmw.Routes(mux))(mux))
//
// With no options it is safe: no forwarded header is believed, IPv6 clients are
// counted by /64, CORS preflights are free, and every spelling of a route that the
// mux serves shares one count.
//
// # Where to mount it
//
// Inside what recovers from panics and logs, inside CORS (a denial without CORS
// headers is a network error to a browser), and outside the handlers. Limits by
// principal need whoever authenticates outside of it; mount a second one with
// Stage(core.Early) outside authentication for limits by address.
//
// # Requests whose status is watched
//
// The handler gets its own ResponseWriter, untouched. Only where a limit counts
// by outcome is it wrapped, and then shows exactly the interfaces of the one
// beneath. When the handler has written nothing it is counted as a 200: what
// middleware outside then writes to its own writer cannot be seen, so mount middleware
// that answers for handlers inside of the limiter.
package httpmw
