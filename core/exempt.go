package core

import (
	"fmt"
	"net/netip"
	"slices"
)

type exemption struct {
	match      []Pattern
	ip         []netip.Prefix
	principals []string
}

func (t *table) compileExemptions(c Config, p *problems) {
	for i, e := range c.Exempt {
		path := fmt.Sprintf("exempt[%d]", i)
		if len(e.Match)+len(e.IP)+len(e.Principals) == 0 {
			p.add(path, "is empty, want match, ip or principal")
		}
		for j, name := range e.Principals {
			if name == "" {
				p.add(fmt.Sprintf("%s.principal[%d]", path, j), "is empty, want a principal")
			}
		}
		x := exemption{match: compilePatterns(path+".match", e.Match, p), principals: e.Principals}
		for j, prefix := range e.IP {
			if !prefix.IsValid() {
				p.add(fmt.Sprintf("%s.ip[%d]", path, j), "is not an address prefix")
				continue
			}
			x.ip = append(x.ip, unmapPrefix(prefix))
		}
		t.exempt = append(t.exempt, x)
	}
}

// unmapPrefix makes a prefix of IPv4-in-IPv6 addresses match what requests are
// compared as.
func unmapPrefix(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p.Masked()
}

// isExempt reports whether an exemption fits the request.
func (t *table) isExempt(p *plan, addr netip.Addr, principal string) bool {
	for _, i := range p.exempt {
		if t.exempt[i].fits(addr, principal) {
			return true
		}
	}
	return false
}

// fits reports whether every field that is set fits; the route has been matched.
func (e *exemption) fits(addr netip.Addr, principal string) bool {
	if len(e.principals) > 0 && (principal == "" || !slices.Contains(e.principals, principal)) {
		return false
	}
	if len(e.ip) == 0 {
		return true
	}
	addr = addr.Unmap().WithZone("")
	for _, prefix := range e.ip {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}
