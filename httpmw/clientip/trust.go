package clientip

import (
	"net/netip"
	"slices"
)

// addrSet is a set of addresses: ranges in order, none touching the next. The
// published lists of content networks have thousands of prefixes and are asked
// once for each hop, so a search in them must not be a loop over them.
type addrSet []addrRange

// addrRange holds the addresses from first to last, both of one family.
type addrRange struct {
	first, last netip.Addr
}

// newAddrSet returns the union of prefixes, which are normalised.
func newAddrSet(prefixes []netip.Prefix) addrSet {
	sorted := make(addrSet, 0, len(prefixes))
	for _, p := range prefixes {
		sorted = append(sorted, addrRange{p.Addr(), lastOf(p)})
	}
	slices.SortFunc(sorted, func(a, b addrRange) int { return a.first.Compare(b.first) })

	set := sorted[:0]
	for _, r := range sorted {
		if n := len(set); n > 0 && set[n-1].touches(r) {
			if set[n-1].last.Less(r.last) {
				set[n-1].last = r.last
			}
			continue
		}
		set = append(set, r)
	}
	return set
}

// touches reports whether r, which begins no earlier than a, begins within a
// or right behind it. IPv4 never touches IPv6: it sorts before, and behind its
// last address there is none.
func (a addrRange) touches(r addrRange) bool {
	return !a.last.Less(r.first) || a.last.Next() == r.first
}

// contains reports whether addr, unmapped and without zone, is in the set.
func (s addrSet) contains(addr netip.Addr) bool {
	i, found := slices.BinarySearchFunc(s, addr, func(r addrRange, addr netip.Addr) int {
		return r.first.Compare(addr)
	})
	if found {
		return true
	}
	// The range before is the only one that can hold addr. Addresses of IPv4
	// sort before those of IPv6, so it is safe that families meet here.
	return i > 0 && !s[i-1].last.Less(addr)
}

// coversFamily reports whether all of IPv4 or all of IPv6 is in the set.
func (s addrSet) coversFamily() bool {
	return slices.ContainsFunc(s, func(r addrRange) bool {
		whole := netip.PrefixFrom(r.first, 0)
		return r.first == whole.Masked().Addr() && r.last == lastOf(whole)
	})
}

// lastOf returns the highest address of p.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for bit := p.Bits(); bit < len(b)*8; bit++ {
		b[bit/8] |= 0x80 >> (bit % 8)
	}
	last, _ := netip.AddrFromSlice(b)
	return last
}
