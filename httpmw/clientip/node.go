package clientip

import (
	"net/netip"
	"strings"
)

// parseNode reads an address as proxies and net/http write it, with a port or
// without: 192.0.2.1, 192.0.2.1:80, 2001:db8::1, [2001:db8::1] and
// [2001:db8::1]:80. It is the only way from text to the address of a client,
// so that every source gives the same client the same address.
func parseNode(s string) (netip.Addr, bool) {
	if len(s) > maxItem {
		return netip.Addr{}, false
	}
	host, port, bracketed, ok := splitPort(s)
	if !ok || !isPort(port) {
		return netip.Addr{}, false
	}
	return parseHost(host, bracketed)
}

// splitPort cuts off the port, with its colon, and the brackets. More than one
// colon without brackets is an IPv6 address: 2001:db8::1:80 has no port.
func splitPort(s string) (host, port string, bracketed, ok bool) {
	if inside, found := strings.CutPrefix(s, "["); found {
		host, port, ok = strings.Cut(inside, "]")
		return host, port, true, ok
	}
	colon := strings.IndexByte(s, ':')
	if colon < 0 || colon != strings.LastIndexByte(s, ':') {
		return s, "", false, true
	}
	return s[:colon], s[colon:], false, true
}

// isPort reports whether s is a colon and a number up to 65535, or nothing.
func isPort(s string) bool {
	if s == "" {
		return true
	}
	if s[0] != ':' || len(s) < 2 || len(s) > 6 {
		return false
	}
	n := 0
	for i := 1; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n <= 65535
}

// parseHost reads an address without port, removes its zone and unmaps it. The
// unspecified address is nobody's, so it is refused: all who send it would
// share a key.
func parseHost(host string, bracketed bool) (netip.Addr, bool) {
	// The zone is cut before parsing, because netip keeps zones in a global
	// table, and no client should be able to fill that.
	text, zone, zoned := strings.Cut(host, "%")
	addr, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		return netip.Addr{}, false
	case bracketed && addr.Is4():
		return netip.Addr{}, false
	case zoned && (zone == "" || addr.Is4() || addr.Is4In6()):
		return netip.Addr{}, false
	}
	if addr = addr.Unmap(); addr.IsUnspecified() {
		return netip.Addr{}, false
	}
	return addr, true
}
