package clientip

import (
	"net/netip"
	"strings"
)

const (
	// maxItem bounds an item of X-Forwarded-For with the blanks around it. The
	// longest address with brackets, zone and port has about 70 bytes.
	maxItem = 256

	// maxEmpty bounds the empty items passed over in one request. Recipients
	// have to ignore a reasonable number of them (RFC 9110, section 5.6.1).
	maxEmpty = 32
)

// walkForwardedFor returns the first address from the right that is not a
// trusted proxy. An item that is no address ends the walk at the hop before
// it: beyond the last hop we understand, nobody vouches for anything. A chain
// of trusted proxies only ends at the leftmost, a caller inside.
func walkForwardedFor(lines []string, peer netip.Addr, trusted addrSet) netip.Addr {
	cur := peer
	list := items{lines: lines}
	for range maxHops {
		item, ok := list.next()
		if !ok {
			return cur
		}
		addr, ok := parseNode(item)
		if !ok {
			return cur
		}
		if cur = addr; !trusted.contains(cur) {
			return cur
		}
	}
	return cur
}

// countForwardedFor returns the n-th address from the right, or peer when
// there is none.
func countForwardedFor(lines []string, peer netip.Addr, n int) netip.Addr {
	list := items{lines: lines}
	var item string
	for range n {
		var ok bool
		if item, ok = list.next(); !ok {
			return peer
		}
	}
	if addr, ok := parseNode(item); ok {
		return addr
	}
	return peer
}

// items takes a comma-separated list apart from the right, over all lines of
// the header, looking at no more of it than it returns.
type items struct {
	lines  []string // not yet begun; the last is the next
	rest   string   // what is left of the line begun
	inLine bool     // rest still has an item, perhaps an empty one
	empty  int      // empty items passed over
}

// next returns the next item that is not empty, without the blanks around it.
// It reports false at the end of the list, at an item longer than any address,
// and after too many empty items.
func (l *items) next() (item string, ok bool) {
	for l.empty <= maxEmpty {
		if !l.inLine && !l.nextLine() {
			return "", false
		}
		item, ok := l.cut()
		if !ok || item != "" {
			return item, ok
		}
		l.empty++
	}
	return "", false
}

// nextLine begins the line before the one that is used up.
func (l *items) nextLine() bool {
	last := len(l.lines) - 1
	if last < 0 {
		return false
	}
	l.rest, l.lines, l.inLine = l.lines[last], l.lines[:last], true
	return true
}

// cut takes the last item off the line. It looks for the comma no further than
// an item may be long.
func (l *items) cut() (item string, ok bool) {
	from := max(0, len(l.rest)-maxItem-1)
	comma := strings.LastIndexByte(l.rest[from:], ',')
	if comma < 0 && from > 0 {
		return "", false
	}
	if comma < 0 {
		item, l.rest, l.inLine = l.rest, "", false
	} else {
		item, l.rest = l.rest[from+comma+1:], l.rest[:from+comma]
	}
	return strings.Trim(item, " \t"), len(item) <= maxItem
}
