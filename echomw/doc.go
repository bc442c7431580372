// Package echomw limits Echo v4 handlers.
//
//	e := echo.New()
//	e.Use(middleware.Recover(), auth, echomw.New(limiter, echomw.Identify(caller)))
//
// With no options it is safe: no forwarded header is believed, whatever the
// IPExtractor is, IPv6 clients are counted by /64, CORS preflights are free, and
// every spelling of a route that Echo serves shares one count.
//
// # Where to mount it
//
// With Use, not with Pre: before routing there is no route. Echo runs middleware in
// the order of Use, for all routes whenever they are added. Mount the limiter after
// recovery, request ids and CORS, and after authentication when limits count by
// principal.
//
// # Limits that count by outcome
//
// The status that counts is the one that is sent, also when Echo's error handler or
// middleware outside sends it after the handler. An error for which nobody sends
// anything is settled as a 200 when the request is over.
package echomw
