package clientip

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// peer is the other end of a connection.
type peer struct {
	addr netip.Addr // invalid if it has none that we understand
	unix bool       // it is on a Unix socket, and addr is invalid
}

func peerOf(req *http.Request) peer {
	if onUnixSocket(req) {
		return peer{unix: true}
	}
	addr, _ := parseNode(req.RemoteAddr)
	return peer{addr: addr}
}

// onUnixSocket reports whether req came over a Unix socket. The server's own
// end tells for sure. The peer's does not: a program may bind its end to a
// file named like an address and port. RemoteAddr is consulted only when the
// request comes from no server, as in a test.
func onUnixSocket(req *http.Request) bool {
	if local, ok := req.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		return strings.HasPrefix(local.Network(), "unix")
	}
	name := req.RemoteAddr // a path, "@" and an abstract name, "@" alone, or nothing
	return name == "" || name[0] == '@' || name[0] == '/'
}
