package ginmw

import (
	"strings"

	"github.com/gin-gonic/gin"
)

// routeOf returns the route that serves the request, with a backslash before every
// colon that is one, as it was when the route was added: once Gin serves, it has
// lost those, and a colon in the route may be one or begin a parameter. Which it is
// shows in the parameters of the request.
func routeOf(c *gin.Context) string {
	route := c.FullPath()
	colons := strings.Count(route, ":")
	if colons == 0 || colons == len(c.Params)-strings.Count(route, "*") {
		return route
	}
	return escape(route, c.Params)
}

// escape marks the colons of a route that begin none of the parameters. A segment has
// at most one parameter, and it is the segment's end.
func escape(route string, params gin.Params) string {
	segments := strings.Split(route, "/")
	for i, segment := range segments {
		at := strings.LastIndexByte(segment, ':')
		if at >= 0 && len(params) > 0 && params[0].Key == segment[at+1:] {
			segments[i] = literal(segment[:at]) + segment[at:]
			params = params[1:]
			continue
		}
		segments[i] = literal(segment)
	}
	return strings.Join(segments, "/")
}

// verbs marks the colons of a route that begin no segment. In a list of routes that Gin
// serves already there is no telling what they are.
func verbs(route string) string {
	segments := strings.Split(route, "/")
	for i, segment := range segments {
		if !strings.HasPrefix(segment, ":") {
			segments[i] = literal(segment)
		}
	}
	return strings.Join(segments, "/")
}

// literal returns a route in which every colon is one. The colons of a route may have
// their backslashes still: before Gin serves.
func literal(route string) string {
	return strings.ReplaceAll(strings.ReplaceAll(route, `\:`, ":"), ":", `\:`)
}
