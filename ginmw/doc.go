// Package ginmw limits Gin handlers.
//
//	r := gin.New()
//	r.Use(gin.Recovery(), auth, ginmw.New(limiter, ginmw.Identify(caller)))
//
// With no options it is safe: no forwarded header is believed, whatever the engine's
// trusted proxies are, IPv6 clients are counted by /64, CORS preflights are free,
// and every spelling of a route that Gin serves shares one count.
//
// # Where to mount it
//
// Gin runs middleware in the order of Use, and Use affects only routes that are
// added after it: call it before the first route. Mount the limiter after
// recovery, request ids and CORS, and after authentication when limits count by
// principal. Redirects of Gin's own, for a trailing slash or a fixed path, bypass all
// middleware, so they are neither limited nor counted: the request that follows is.
//
// # Limits that count by outcome
//
// The status that counts is the one that is sent, also when middleware outside sets it
// after the handlers: an error handler that answers for c.Errors, say. What it writes
// past c.Writer, to a writer that it has kept from before, is not seen. An error that
// nobody answers is settled as a 200 when the request is over.
package ginmw
