package clientip

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
)

const (
	headerForwardedFor = "X-Forwarded-For"
	headerForwarded    = "Forwarded"
)

// Config says whom to believe about the address of a client, and what to read.
// The zero value believes nobody: the client is the peer of the connection,
// and no header is read. The package comment helps to choose.
type Config struct {
	// TrustedProxies are the addresses of the proxies in front of this
	// process. A header counts only when the connection comes from one of
	// them, and in a list of addresses only these are walked past.
	// [ParsePrefix] makes prefixes from text.
	//
	// An IPv4 prefix written as 4-in-6 is taken as IPv4, and bits behind the
	// prefix are ignored. Prefixes of IPv6 say nothing about IPv4: trusting
	// ::/0 trusts no IPv4 peer. To believe everyone, which is hardly ever
	// right, see [UnsafeTrustAnyPeer]. Default: none.
	TrustedProxies []netip.Prefix

	// Header is the one header that is read. Upper and lower case are the
	// same. It is an error to set it and to believe nobody. Default:
	// X-Forwarded-For when TrustedProxies, Hops or TrustUnixPeer is set, else
	// none.
	//
	//   - X-Forwarded-For is walked from the right, over all its lines, to the
	//     first address that is not a trusted proxy, for at most 32 proxies.
	//     Safe when every trusted proxy appends to the header or replaces it.
	//     Not safe with a proxy that passes it through.
	//   - Forwarded, of RFC 7239, is walked in the same way by the for= of
	//     its elements. A mistake in its syntax anywhere disqualifies all of
	//     it, because quotes decide where elements begin, and so do more than
	//     16 KiB. Safe when every trusted proxy writes it; the usual proxy
	//     writes X-Forwarded-For and passes this one through, and then it is
	//     the client's own word.
	//   - Any other name, such as X-Real-IP or CF-Connecting-IP, is a header
	//     with a single address: used when there is exactly one line of it and
	//     it is an address. Safe only when the trusted proxy overwrites what
	//     the client sent, on every path through it.
	Header string

	// Hops, when above 0, is the number of proxies in front of this process,
	// and the client is that item of X-Forwarded-For, counted from the right:
	// 1 is what the proxy that connects here has appended. With fewer items
	// the client is the peer. At most 32. Default: 0, walk by TrustedProxies.
	//
	// It is the choice when the addresses of the proxies cannot be listed,
	// and it is worth less than a list. Hops without TrustedProxies and
	// without TrustUnixPeer believes every peer: whoever reaches this process
	// past the proxies picks its address freely, and so does every client
	// when the number is too large by one. A number too small makes all
	// clients one. The number has to change together with the chain. With
	// TrustedProxies or TrustUnixPeer the items are still counted, but the
	// header of any other peer is not read, which takes away the first of
	// these dangers.
	Hops int

	// TrustUnixPeer makes a peer on a Unix socket a trusted proxy. Such a peer
	// has no address, so without this the client is unknown. Safe when the
	// rights on the socket's file let only the proxy connect. Default: false.
	TrustUnixPeer bool
}

// UnsafeTrustAnyPeer returns prefixes for [Config.TrustedProxies] that make
// every peer a trusted proxy. Then every client chooses its own address, and
// with X-Forwarded-For it does so through any number of proxies, for the walk
// ends at the leftmost item. It is for tests, and for a process that truly
// nothing but the proxy can reach, with a header that the proxy overwrites.
// [Resolver.TrustsEveryone] reports its use.
func UnsafeTrustAnyPeer() []netip.Prefix {
	return []netip.Prefix{
		netip.PrefixFrom(netip.IPv4Unspecified(), 0),
		netip.PrefixFrom(netip.IPv6Unspecified(), 0),
	}
}

// New returns the resolver for c. The error lists every problem of c, not just
// the first. The slice in c is copied. When New returns an error the resolver
// is nil, and a nil resolver believes nobody.
func New(c Config) (*Resolver, error) {
	trusted, errs := c.trusted()
	errs = append(errs, c.problems()...)
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("clientip: %w", err)
	}
	r := &Resolver{
		trusted:   trusted,
		trustUnix: c.TrustUnixPeer,
		trustAny:  c.Hops > 0 && len(c.TrustedProxies) == 0 && !c.TrustUnixPeer,
		hops:      c.Hops,
	}
	r.header, r.source = c.source()
	return r, nil
}

// trusted returns the addresses of the trusted proxies, and a problem for each
// prefix that is none.
func (c Config) trusted() (addrSet, []error) {
	var errs []error
	prefixes := make([]netip.Prefix, 0, len(c.TrustedProxies))
	for i, p := range c.TrustedProxies {
		p, err := normalize(p)
		if err != nil {
			errs = append(errs, fmt.Errorf("TrustedProxies[%d]: %w", i, err))
			continue
		}
		prefixes = append(prefixes, p)
	}
	return newAddrSet(prefixes), errs
}

// problems returns what is wrong with c besides its prefixes.
func (c Config) problems() []error {
	var errs []error
	if c.Header != "" && !isToken(c.Header) {
		errs = append(errs, fmt.Errorf("header is %q, want the name of one, such as X-Real-IP", c.Header))
	}
	if c.Header != "" && !c.trustsSomebody() {
		errs = append(errs, fmt.Errorf("header is %q but no proxy is trusted to write it; list the proxies in TrustedProxies, or leave Header empty to use the peer of the connection", c.Header))
	}
	if c.Hops < 0 || c.Hops > maxHops {
		errs = append(errs, fmt.Errorf("hops is %d, want 0 to %d", c.Hops, maxHops))
	}
	if name := http.CanonicalHeaderKey(c.Header); c.Hops != 0 && name != "" && name != headerForwardedFor {
		errs = append(errs, fmt.Errorf("hops counts items of %s and cannot be used with header %q", headerForwardedFor, c.Header))
	}
	return errs
}

// trustsSomebody reports whether there is a peer whose header would be read.
func (c Config) trustsSomebody() bool {
	return len(c.TrustedProxies) > 0 || c.TrustUnixPeer || c.Hops > 0
}

// source returns the header to read, as net/http spells it, and how.
func (c Config) source() (header string, s source) {
	header = http.CanonicalHeaderKey(c.Header)
	switch {
	case !c.trustsSomebody():
		return "", sourcePeer
	case c.Hops > 0:
		return headerForwardedFor, sourceHops
	case header == "" || header == headerForwardedFor:
		return headerForwardedFor, sourceForwardedFor
	case header == headerForwarded:
		return headerForwarded, sourceForwarded
	default:
		return header, sourceSingle
	}
}
