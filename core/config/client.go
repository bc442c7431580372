package config

import (
	"errors"
	"net/netip"
	"strings"

	"github.com/tidegate/tidegate/core"
)

const defaultIPv6Prefix = 64

// defaultIPHeader is what most proxies write.
const defaultIPHeader = "X-Forwarded-For"

// A Client says how the address of a client is found and counted.
type Client struct {
	// TrustedProxies are the networks whose word about the client is believed.
	// Default: none, the connection's peer is the client.
	TrustedProxies []netip.Prefix

	// IPHeader is the header in which they say it. Default: X-Forwarded-For when
	// there are trusted proxies, else none.
	IPHeader string

	// IPv6Prefix is the number of bits by which IPv6 clients are counted, also
	// found in the table. Default 64.
	IPv6Prefix int
}

func (d *decoder) client(n *node, c *Client) {
	var header *node
	proxies := false
	d.fields(n,
		field{name: "trusted_proxies", read: func(n *node) {
			const want = "a list of addresses and networks, such as [10.0.0.0/8]"
			proxies = n.kind != list || len(n.items) > 0
			c.TrustedProxies = d.prefixes(d.listOrNone(n, want))
		}},
		field{name: "ip_header", read: func(n *node) { header, c.IPHeader = n, d.headerName(n) }},
		field{name: "ipv6_prefix", read: into(&c.IPv6Prefix, within[int](d, 32, 128))},
	)
	switch {
	case header != nil && !proxies:
		d.wrong(header, "%s and nobody is trusted to send it, want trusted_proxies beside it", header.describe())
	case header == nil && proxies:
		c.IPHeader = defaultIPHeader
	}
}

// headerName reads the name of a header.
func (d *decoder) headerName(n *node) string {
	const want = "the name of a header, such as X-Forwarded-For"
	name := d.text(n, want)
	if _, err := core.ParseKeyPart("header:" + name); err != nil && name != "" {
		d.reject(n, want)
		return ""
	}
	if strings.EqualFold(name, "Host") {
		d.wrong(n, "is Host, which Go takes out of a request's headers, want another header")
		return ""
	}
	return name
}

// prefixes reads addresses and networks.
func (d *decoder) prefixes(items []*node) []netip.Prefix {
	const want = "an address or a network, such as 10.0.0.0/8"
	var all []netip.Prefix
	for i, s := range d.texts(items, want, "") {
		if s == "" {
			continue
		}
		p, err := parsePrefix(s)
		if err != nil {
			d.wrong(items[i], "%s, %v", items[i].describe(), err)
			continue
		}
		all = append(all, p)
	}
	return all
}

// parsePrefix reads a network, or an address as the network of itself. IPv4 in
// IPv6 is taken for the IPv4 that it is compared with.
func parsePrefix(s string) (netip.Prefix, error) {
	if strings.Contains(s, "%") {
		return netip.Prefix{}, errors.New("want no zone: it means nothing to another host")
	}
	p, err := netip.ParsePrefix(s)
	if addr, bare := netip.ParseAddr(s); bare == nil {
		p, err = netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	if err != nil {
		return netip.Prefix{}, errors.New("want an address or a network, such as 10.0.0.0/8")
	}
	if p.Addr().Is4In6() {
		if p.Bits() < 96 {
			return netip.Prefix{}, errors.New("which is more than IPv4 in IPv6, want /96 or longer")
		}
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p.Masked(), nil
}
