package core

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
)

// A Key is whom or what one charge is counted for: a keyed hash of the limit and
// of every part of its key. It holds nothing readable, and its size does not
// depend on what a caller sends. Neither the tier nor a number is part of it, so
// spending survives a change of both.
type Key struct {
	Hi, Lo uint64

	// Tag is a hash of the caller alone. Keys with one Tag belong together: a
	// shared store keeps them in one place, to decide them in one step.
	Tag uint64
}

// KeyPart is one thing that a limit counts by.
type KeyPart struct {
	kind partKind
	name string // of a header or a custom value
}

// The parts of a key.
var (
	// ByPrincipal counts by authenticated caller, and callers without a
	// principal by address, apart from all principals.
	ByPrincipal = KeyPart{kind: partPrincipal}

	// ByIP counts by client address: IPv4 addresses each, IPv6 by prefix.
	ByIP = KeyPart{kind: partIP}

	// ByRoute counts by method and route. HEAD counts as GET. Requests that no
	// route serves are one route.
	ByRoute = KeyPart{kind: partRoute}

	// Global counts everybody together.
	Global = KeyPart{kind: partGlobal}
)

// ByHeader counts by the value of a request header, hashed, and requests without
// it by client address. Anybody can send any value, so combine it with another
// limit that counts by address or principal.
func ByHeader(name string) KeyPart { return KeyPart{kind: partHeader, name: name} }

// ByValue counts by a value that the adapter's Value option of this name
// extracts from the request, and requests without it by client address. Use it
// for what only the program knows, such as a tenant found by its own middleware.
func ByValue(name string) KeyPart { return KeyPart{kind: partValue, name: name} }

// Keys combines parts: each distinct combination is counted by itself.
func Keys(parts ...KeyPart) []KeyPart { return parts }

// String returns the part as the limits file writes it.
func (p KeyPart) String() string {
	switch p.kind {
	case partPrincipal:
		return "principal"
	case partIP:
		return "ip"
	case partRoute:
		return "route"
	case partGlobal:
		return "global"
	case partHeader:
		return "header:" + p.name
	case partValue:
		return "value:" + p.name
	}
	return "none"
}

// ParseKeyPart is the inverse of [KeyPart.String], for the parts that a limits
// file may name.
func ParseKeyPart(text string) (KeyPart, error) {
	switch text {
	case "principal":
		return ByPrincipal, nil
	case "ip":
		return ByIP, nil
	case "route":
		return ByRoute, nil
	case "global":
		return Global, nil
	}
	if name, ok := strings.CutPrefix(text, "header:"); ok {
		if !isToken(name) {
			return KeyPart{}, fmt.Errorf("header name %q, want letters, digits and - such as header:X-Tenant", name)
		}
		return ByHeader(name), nil
	}
	return KeyPart{}, fmt.Errorf("unknown key %q, want principal, ip, route, global or header:NAME", text)
}

// isToken reports whether s is a header name (RFC 9110, token).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && !('0' <= c && c <= '9') && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

type partKind uint8

const (
	partNone partKind = iota
	partPrincipal
	partIP
	partRoute
	partGlobal
	partHeader
	partValue
)

// hasher derives keys from one secret. Every kind of value is hashed under a
// secret of its own, so that a user called 192.0.2.1 and that address differ.
type hasher struct {
	root      sum128
	principal sum128
	address   sum128
	route     sum128
	combined  sum128
	unknown   sum128 // the one value of clients that have no address
	global    sum128
	v6bits    int
}

func newHasher(secret []byte, v6bits int) *hasher {
	digest := sha256.Sum256(secret)
	h := &hasher{v6bits: v6bits}
	h.root = sum128{binary.LittleEndian.Uint64(digest[:]), binary.LittleEndian.Uint64(digest[8:])}
	h.principal = h.derive("principal", "")
	h.address = h.derive("address", "")
	h.route = h.derive("route", "")
	h.combined = h.derive("combined", "")
	h.unknown = sip(h.derive("unknown", ""), "")
	h.global = sip(h.derive("global", ""), "")
	return h
}

// derive returns the secret for values of one kind. Both parts have a length in
// front, so no two kinds are spelled alike.
func (h *hasher) derive(kind, name string) sum128 {
	return sip(h.root, fmt.Sprintf("%d:%s%d:%s", len(kind), kind, len(name), name))
}

// hashAddr hashes an address that [countedAddr] has normalised.
func (h *hasher) hashAddr(addr netip.Addr) sum128 {
	addr = countedAddr(addr, h.v6bits)
	switch {
	case addr.Is4():
		b := addr.As4()
		return sip(h.address, b[:])
	case addr.Is6():
		b := addr.As16()
		return sip(h.address, b[:])
	}
	return h.unknown
}

// hashRoute hashes a route: all that is alike for every spelling of it.
func (h *hasher) hashRoute(at place) sum128 { return sip(h.route, at.method+" "+at.path) }

// combine hashes parts, in order, into one.
func (h *hasher) combine(parts []sum128) sum128 {
	var buf [16 * 8]byte
	b := buf[:0]
	for _, p := range parts {
		b = binary.LittleEndian.AppendUint64(b, p.hi)
		b = binary.LittleEndian.AppendUint64(b, p.lo)
	}
	return sip(h.combined, b)
}
