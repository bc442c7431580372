package clientip

import (
	"net/netip"
	"strings"
)

const (
	// maxForwarded bounds the bytes of a Forwarded header over all its lines.
	// Quotes force us to read it from the left and to the end, so the bound is
	// on the whole. It is room for maxHops elements of 500 bytes.
	maxForwarded = 16 << 10

	// maxPairs bounds the pairs of one element. The standard defines four.
	maxPairs = 16
)

// walkForwarded does for the Forwarded header what walkForwardedFor does for
// X-Forwarded-For. A header that is not well-formed counts as none: a quote
// left open would otherwise move the border between what the client wrote and
// what the proxy added.
func walkForwarded(lines []string, peer netip.Addr, trusted addrSet) netip.Addr {
	var c chain
	if !c.parse(lines) {
		return peer
	}
	cur := peer
	for i := range min(c.n, maxHops) {
		addr, ok := c.fromRight(i).addr()
		if !ok {
			return cur
		}
		if cur = addr; !trusted.contains(cur) {
			return cur
		}
	}
	return cur
}

// chain is what the elements of a Forwarded header say about for=. It keeps
// the last maxHops of them, as the walk goes no further.
type chain struct {
	nodes [maxHops]node // a ring; element i is at i % maxHops
	n     int           // elements seen
}

// parse reads all lines into c and reports whether they are well-formed.
func (c *chain) parse(lines []string) bool {
	size := 0
	for _, line := range lines {
		if size += len(line) + 1; size > maxForwarded {
			return false
		}
		if !c.parseLine(line) {
			return false
		}
	}
	return true
}

// parseLine reads one line, a comma-separated list of elements. An element
// never continues on the next line.
func (c *chain) parseLine(line string) bool {
	s := scanner{line}
	for {
		s.skipBlanks()
		switch {
		case s.rest == "":
			return true
		case s.accept(','): // an empty element
			continue
		}
		n, ok := s.element()
		if !ok {
			return false
		}
		c.add(n)
		if s.rest != "" && !s.accept(',') {
			return false
		}
	}
}

func (c *chain) add(n node) {
	c.nodes[c.n%maxHops] = n
	c.n++
}

// fromRight returns the i-th node from the right, counted from 0.
func (c *chain) fromRight(i int) node {
	return c.nodes[(c.n-1-i)%maxHops]
}

// node is the value of a for= as it stands in the header, without its quotes.
// It is empty for an element that has no for=.
type node struct {
	text    string
	escaped bool // text has characters escaped by a backslash
}

// addr returns the address of n. Names such as "unknown" and "_hidden" are
// none. Standing inside quotes, an IPv6 address has to be in brackets still.
func (n node) addr() (netip.Addr, bool) {
	text := n.text
	if len(text) > maxItem {
		return netip.Addr{}, false
	}
	if n.escaped {
		text = unescape(text)
	}
	host, port, bracketed, ok := splitPort(text)
	if !ok || !isPort(port) && !isObfuscatedPort(port) {
		return netip.Addr{}, false
	}
	if !bracketed && strings.Contains(host, ":") {
		return netip.Addr{}, false
	}
	return parseHost(host, bracketed)
}

// unescape removes the backslash of each escaped character. The scanner has
// seen to it that none stands at the end.
func unescape(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			i++
		}
		b = append(b, s[i])
	}
	return string(b)
}

// isObfuscatedPort reports whether s, with its colon, is the obfport of
// RFC 7239: a name for a port that the proxy does not tell.
func isObfuscatedPort(s string) bool {
	name, ok := strings.CutPrefix(s, ":_")
	if !ok || name == "" {
		return false
	}
	for i := range len(name) {
		if c := name[i]; !isAlphanumeric(c) && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// scanner reads the tokens of a Forwarded header from the left.
type scanner struct {
	rest string
}

// element reads one element, pairs split by semicolons, up to the comma or the
// end. A name may come once. Blanks around a semicolon are not in the standard
// but in the wild, and cannot be misunderstood.
func (s *scanner) element() (forNode node, ok bool) {
	var names [maxPairs]string
	n := 0
	for {
		s.skipBlanks()
		if name := s.token(); name != "" {
			value, ok := s.value()
			if !ok || n == maxPairs || containsFold(names[:n], name) {
				return node{}, false
			}
			names[n] = name
			n++
			if strings.EqualFold(name, "for") {
				forNode = value
			}
		}
		s.skipBlanks()
		if !s.accept(';') {
			return forNode, true
		}
	}
}

// value reads the equals sign and the token or quoted string behind it.
func (s *scanner) value() (n node, ok bool) {
	if !s.accept('=') {
		return node{}, false
	}
	if s.accept('"') {
		return s.quoted()
	}
	n.text = s.token()
	return n, n.text != ""
}

// quoted reads the rest of a quoted string, whose opening quote is read.
func (s *scanner) quoted() (n node, ok bool) {
	for i := 0; i < len(s.rest); i++ {
		switch c := s.rest[i]; {
		case c == '"':
			n.text, s.rest = s.rest[:i], s.rest[i+1:]
			return n, true
		case c == '\\':
			n.escaped = true
			i++ // the next one stands for itself, but has to be allowed
			if i == len(s.rest) || !isQuotable(s.rest[i]) {
				return node{}, false
			}
		case !isQuotable(c):
			return node{}, false
		}
	}
	return node{}, false
}

// token reads the longest token, which is empty when there is none.
func (s *scanner) token() string {
	n := 0
	for n < len(s.rest) && isTokenByte(s.rest[n]) {
		n++
	}
	token := s.rest[:n]
	s.rest = s.rest[n:]
	return token
}

// accept reads c if it is next.
func (s *scanner) accept(c byte) bool {
	if s.rest == "" || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

func (s *scanner) skipBlanks() {
	s.rest = strings.TrimLeft(s.rest, " \t")
}

func containsFold(names []string, name string) bool {
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}
