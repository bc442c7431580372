package clientip

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// ParsePrefix reads one trusted proxy, or a network of them, as people write
// it: 10.0.0.0/8, 2001:db8::/32, or a bare address, which stands for itself
// alone. 4-in-6 forms come out as IPv4, so ::ffff:10.0.0.0/104 is 10.0.0.0/8,
// and bits behind the prefix are cleared. Zones are refused, for they mean
// nothing to another host, and so are blanks and names. The error says what
// was given and what is wanted.
func ParsePrefix(text string) (netip.Prefix, error) {
	p, err := parsePrefix(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("clientip: %q: %w", text, err)
	}
	return p, nil
}

func parsePrefix(text string) (netip.Prefix, error) {
	if strings.Contains(text, "%") {
		return netip.Prefix{}, errors.New("has a zone, want an address or a prefix without one")
	}
	if addr, err := netip.ParseAddr(text); err == nil {
		return normalize(netip.PrefixFrom(addr, addr.BitLen()))
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, errors.New("is no prefix, want one like 10.0.0.0/8 or 2001:db8::/32, or a bare address like 203.0.113.7")
	}
	return normalize(p)
}

// normalize returns p masked, and as IPv4 if it is 4-in-6. The addresses that
// it is compared with are unmapped, and a mapped prefix would contain none.
func normalize(p netip.Prefix) (netip.Prefix, error) {
	switch {
	case !p.IsValid():
		return netip.Prefix{}, fmt.Errorf("is %v, want a valid prefix", p)
	case !p.Addr().Is4In6():
		return p.Masked(), nil
	case p.Bits() < 96:
		return netip.Prefix{}, fmt.Errorf("is %v, which reaches beyond the IPv4 addresses in IPv6; want at least /96, or better the IPv4 prefix", p)
	}
	return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96).Masked(), nil
}
