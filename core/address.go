package core

import (
	"encoding/binary"
	"net/netip"
)

// Prefixes whose addresses stand for one IPv4 client each. Masking them like
// other IPv6 addresses would count all of IPv4 as one client.
var (
	nat64     = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052: the IPv4 address is the last 32 bits
	v4compat  = netip.MustParsePrefix("::/96")        // RFC 4291: the same, deprecated
	teredo    = netip.MustParsePrefix("2001::/32")    // RFC 4380: the last 32 bits, inverted
	sixToFour = netip.MustParsePrefix("2002::/16")    // RFC 3056: bits 16 to 48
	loopback6 = netip.IPv6Loopback()
)

// countedAddr returns the address that a client is counted by: IPv4 addresses,
// also inside IPv6, as they are; IPv6 addresses by their first v6bits bits,
// since one subscriber owns the rest. Zones do not matter.
func countedAddr(addr netip.Addr, v6bits int) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if !addr.Is6() {
		return addr
	}
	if v4, ok := embeddedV4(addr); ok {
		return v4
	}
	prefix, err := addr.Prefix(v6bits)
	if err != nil {
		return addr
	}
	return prefix.Addr()
}

func embeddedV4(addr netip.Addr) (netip.Addr, bool) {
	b := addr.As16()
	switch {
	case nat64.Contains(addr):
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case v4compat.Contains(addr) && addr != loopback6 && !addr.IsUnspecified():
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case sixToFour.Contains(addr):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	case teredo.Contains(addr):
		var v4 [4]byte
		binary.BigEndian.PutUint32(v4[:], ^binary.BigEndian.Uint32(b[12:16]))
		return netip.AddrFrom4(v4), true
	}
	return netip.Addr{}, false
}
