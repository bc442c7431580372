// Package guard is the half of the middleware that knows no framework. The
// adapters httpmw, ginmw and echomw are a few lines around it, and an adapter for
// another framework needs no more: it tells a [Guard] the route and hands over the
// framework's own context, and gets back a [Visit] that says what to do.
//
// C is whatever the framework gives to a handler: *gin.Context, echo.Context or
// *http.Request. The functions of [Options] get it, so that they can read what the
// program's own middleware put there.
package guard
