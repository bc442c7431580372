package core

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Pattern matches routes. Its text is "[METHOD ]PATH", the same for every
// framework: a path begins with "/", {name} stands for one segment (or part of
// one) and {name...} for the rest. Names do not matter, so /orders/{id} is the
// route that Gin and Echo write /orders/:id. A path that ends in "/..." matches
// every route below, not the route itself. Without a method it matches every
// one; GET matches HEAD too. A path that ends in "/" is that route alone: in a
// ServeMux, where such a route serves everything below it, it is the route spelled so.
// A colon or a star inside a segment stands for itself; a segment that begins with one
// is another framework's parameter, and an error.
type Pattern struct {
	method string
	path   string // canonical, without the trailing "..."
	below  bool
	text   string
}

// RouteSyntax is how a framework writes its routes.
type RouteSyntax uint8

// The route syntaxes.
const (
	Braces RouteSyntax = iota // net/http's ServeMux, and limits files: /a/{b}, /a/{b...}
	Colons                    // Gin and Echo: /a/:b, /a/*b
)

var methods = map[string]bool{
	"GET": true, "HEAD": true, "POST": true, "PUT": true, "PATCH": true,
	"DELETE": true, "CONNECT": true, "OPTIONS": true, "TRACE": true,
}

// ParsePattern reads a pattern of a limits file. What no route can be is an error
// that says what to write instead.
func ParsePattern(text string) (Pattern, error) {
	p := Pattern{text: text}
	path := text
	if method, rest, found := strings.Cut(text, " "); found {
		if !methods[method] {
			return Pattern{}, fmt.Errorf("%q begins with %q, want a standard method in capitals, such as GET", text, method)
		}
		p.method, path = canonicalMethod(method), rest
	}
	if !strings.HasPrefix(path, "/") {
		return Pattern{}, fmt.Errorf("%q has the path %q, want one that begins with / such as \"GET /orders/{id}\"", text, path)
	}
	if strings.ContainsAny(path, " \t\r\n?#") {
		return Pattern{}, fmt.Errorf("%q has a space, ? or # in its path, want a route", text)
	}
	if strings.ContainsFunc(path, unicode.IsControl) || !utf8.ValidString(path) {
		return Pattern{}, fmt.Errorf("%q has a control character or what is no UTF-8 in its path, want a route", text)
	}
	below, found := strings.CutSuffix(path, "/...")
	canonical, err := canonicalPath(below, Braces)
	if err == nil {
		err = checkSegments(path)
	}
	if err == nil && found && strings.HasSuffix(canonical, rest) {
		err = fmt.Errorf("/... stands behind a parameter for the rest, want one of them")
	}
	if err != nil {
		return Pattern{}, fmt.Errorf("%q: %w", text, err)
	}
	p.below, p.path = found, canonical
	return p, nil
}

// checkSegments reports what no route has between its slashes. Most of it is the
// syntax of another framework. Routers clean the rest away, so that a pattern with
// it would match nothing.
func checkSegments(path string) error {
	segments := strings.Split(path[1:], "/")
	for i, segment := range segments {
		last := i == len(segments)-1
		switch {
		case segment == "" && !last:
			return fmt.Errorf("// is an empty segment, want %q", cleaned(segments))
		case segment == "." || segment == "..":
			return fmt.Errorf("%q is no segment of a route, want %q", segment, cleaned(segments))
		case segment == "..." && !last, segment == "{$}" && !last:
			return fmt.Errorf("%s is not at the end, want it there or a parameter such as {name}", segment)
		case segment != "..." && strings.HasSuffix(segment, "..."):
			return fmt.Errorf("%q ends in ..., want %q for every route below", segment, strings.TrimSuffix(segment, "...")+"/...")
		case strings.HasPrefix(segment, ":"), strings.HasPrefix(segment, "*"):
			return fmt.Errorf("%q is how other routers write a parameter, want %q", segment, braced(segments))
		}
	}
	return nil
}

// cleaned returns the path that a router would make of the segments.
func cleaned(segments []string) string {
	clean := path.Clean("/" + strings.Join(segments, "/"))
	if last := segments[len(segments)-1]; last == "" && clean != "/" {
		clean += "/" // serves what is below
	}
	return clean
}

// braced returns the path with the parameters of other routers in braces. A star
// without a name is every route below.
func braced(segments []string) string {
	var b strings.Builder
	for i, segment := range segments {
		name := strings.Trim(segment, ":*{}.")
		if name == "" {
			name = "name"
		}
		last := i == len(segments)-1
		switch {
		case segment == "*" && last:
			segment = "..."
		case strings.HasPrefix(segment, "*") && last:
			segment = "{" + name + "...}"
		case strings.HasPrefix(segment, ":"), strings.HasPrefix(segment, "*"):
			segment = "{" + name + "}"
		}
		b.WriteString("/" + segment)
	}
	return b.String()
}

// String returns the pattern as it was written.
func (p Pattern) String() string { return p.text }

// A place is a route in canonical form. The zero place is where no route is.
type place struct {
	method, path string
	subtree      bool // a ServeMux route that ends in "/" and serves all below
}

// matches reports whether the pattern matches a route.
func (p Pattern) matches(at place) bool {
	if p.method != "" && p.method != canonicalMethod(at.method) {
		return false
	}
	if p.below {
		below, found := strings.CutPrefix(at.path, p.path)
		return found && strings.HasPrefix(below, "/") && at.path != "/"
	}
	if at.path == p.path {
		return true
	}
	// The pattern of a ServeMux subtree is spelled like its route. Catch-alls of
	// another spelling are other routes: "/" is the root and not everything.
	return at.subtree && strings.HasSuffix(p.path, "/") && at.path == p.path+rest
}

// canonicalMethod counts HEAD as GET. Methods that are not standard are one, so
// that inventing them gives nobody a fresh key.
func canonicalMethod(method string) string {
	switch {
	case method == "HEAD":
		return "GET"
	case methods[method]:
		return method
	}
	return "OTHER"
}

const (
	param = "{}"
	rest  = "{...}"
)

// canonicalPath rewrites a route so that equal routes of all frameworks are
// equal text: parameters lose their names, and a ServeMux subtree becomes a rest
// parameter.
func canonicalPath(path string, syntax RouteSyntax) (string, error) {
	if syntax == Colons {
		return canonicalColons(path), nil
	}
	var b strings.Builder
	for path != "" {
		before, after, found := strings.Cut(path, "{")
		if strings.Contains(before, "}") {
			return "", fmt.Errorf("} without {")
		}
		b.WriteString(before)
		if !found {
			break
		}
		name, tail, closed := strings.Cut(after, "}")
		if !closed {
			return "", fmt.Errorf("{ without }")
		}
		if strings.ContainsAny(name, "/{") {
			return "", fmt.Errorf("{%s} is not a parameter, want a name between the braces", name)
		}
		switch {
		case name == "$":
		case strings.HasSuffix(name, "..."):
			if tail != "" {
				return "", fmt.Errorf("{%s} is not at the end", name)
			}
			b.WriteString(rest)
		default:
			b.WriteString(param)
		}
		path = tail
	}
	return b.String(), nil
}

// canonicalColons reads :name up to the next slash, and *name up to the end. A colon
// after a backslash is a colon. It may end a name too, when nothing but text follows
// up to the slash: Echo's /jobs/:id\:cancel.
func canonicalColons(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		switch {
		case path[i] == ':':
			b.WriteString(param)
			i += nameLength(path[i+1:])
		case path[i] == '*':
			if i == 0 || path[i-1] != '/' {
				b.WriteByte('/') // Echo's Static("/dir", …) is /dir*, and serves /dir/…
			}
			b.WriteString(rest)
			return b.String()
		case escapedColon(path[i:]):
			i++
			b.WriteByte(':')
		default:
			b.WriteByte(path[i])
		}
	}
	return b.String()
}

func escapedColon(path string) bool { return strings.HasPrefix(path, `\:`) }

// nameLength returns how long the parameter's name is that path begins with.
func nameLength(path string) int {
	segment, _, _ := strings.Cut(path, "/")
	name, verb, found := strings.Cut(segment, `\:`)
	if found && !strings.ContainsAny(name, ":*") && !strings.ContainsAny(strings.ReplaceAll(verb, `\:`, ""), ":*") {
		return len(name)
	}
	return len(segment)
}

// canonicalRoute returns the place of a route that a framework resolved. An empty
// path means that no route serves the request.
func canonicalRoute(syntax RouteSyntax, method, route string) place {
	if route == "" {
		return place{} // unrouted requests are one route
	}
	at := place{method: canonicalMethod(method)}
	if syntax == Braces {
		if _, path, found := strings.Cut(route, " "); found {
			route = strings.TrimLeft(path, " \t") // ServeMux patterns carry the method
		}
		if slash := strings.IndexByte(route, '/'); slash > 0 {
			route = route[slash:] // and may carry a host
		}
		if strings.HasSuffix(route, "/") {
			at.subtree = true
			route += rest
		}
	}
	path, err := canonicalPath(route, syntax)
	if err != nil {
		path = route // not a pattern: taken as it is
	}
	at.path = path
	return at
}
