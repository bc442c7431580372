package clientip

import (
	"net/http"
	"net/netip"
	"strings"
)

// maxHops bounds the walk along a chain of proxies. Real chains have one to
// five; past this many the header is an attack on our time, and the walk ends
// at the last good address.
const maxHops = 32

// source is where the address of a client is read.
type source uint8

const (
	sourcePeer source = iota
	sourceForwardedFor
	sourceHops
	sourceForwarded
	sourceSingle
)

// A Resolver finds the address of the client of a request. [New] makes one;
// nil and the zero Resolver behave as made from the zero [Config]: the client
// is the peer of the connection.
//
// A Resolver does not change and may be used concurrently.
type Resolver struct {
	trusted   addrSet // the proxies whose header is read and who are walked past
	trustUnix bool    // a peer on a Unix socket is one of them
	trustAny  bool    // every peer with an address is: Hops with no list
	source    source
	header    string // the canonical key of the one header, "" for sourcePeer
	hops      int    // for sourceHops
}

// Addr returns the address of the client of req, unmapped and without zone.
//
// When ok is false the client has no address: it is on a Unix socket that is
// not trusted or whose header names nobody, or RemoteAddr holds none. Count all such clients together,
// under one key for the unknown; an empty key of their own, or none, would let
// them share with others or go uncounted.
//
// Addr reads only RemoteAddr, the one header of the [Config], and from the
// context the address on which the server received the request. It never
// fails because of what a client sent. The cost does not grow with the length
// of headers, and it allocates nothing unless an address is malformed or a
// Forwarded value escapes characters of an address.
func (r *Resolver) Addr(req *http.Request) (addr netip.Addr, ok bool) {
	p := peerOf(req)
	addr = p.addr
	if r.believes(p) {
		addr = r.read(req.Header[r.header], addr)
	}
	return addr, addr.IsValid()
}

// TrustsEveryone reports whether the header of every IPv4 peer, or of every
// IPv6 peer, is believed: the trusted prefixes cover the whole family, or
// [Config.Hops] stands alone. Then clients choose their own address, unless
// the network keeps all but the proxies away. New accepts it; a program ought
// to warn whoever operates it.
func (r *Resolver) TrustsEveryone() bool {
	return r != nil && (r.trustAny || r.trusted.coversFamily())
}

// believes reports whether p may say who the client is. It is asked before any
// header is looked at.
func (r *Resolver) believes(p peer) bool {
	switch {
	case r == nil || r.source == sourcePeer:
		return false
	case p.unix:
		return r.trustUnix
	case !p.addr.IsValid():
		return false
	default:
		return r.trustAny || r.trusted.contains(p.addr)
	}
}

// read returns the client according to the lines of the header. It falls back
// to peer, which is invalid for a peer on a Unix socket.
func (r *Resolver) read(lines []string, peer netip.Addr) netip.Addr {
	switch r.source {
	case sourceForwardedFor:
		return walkForwardedFor(lines, peer, r.trusted)
	case sourceHops:
		return countForwardedFor(lines, peer, r.hops)
	case sourceForwarded:
		return walkForwarded(lines, peer, r.trusted)
	default:
		return readSingle(lines, peer)
	}
}

// readSingle reads a header that holds one address. Two lines are two
// opinions, one of which may be the client's, and there is no telling which.
func readSingle(lines []string, peer netip.Addr) netip.Addr {
	if len(lines) != 1 {
		return peer
	}
	if addr, ok := parseNode(strings.Trim(lines[0], " \t")); ok {
		return addr
	}
	return peer
}
