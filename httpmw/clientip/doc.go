// Package clientip answers one question about an HTTP request: which address
// is the client's?
//
// The only fact about a client that it cannot invent is the other end of the
// connection. Every header was written by somebody, and whoever connects to
// the service can write any of them. A header is therefore evidence only when
// the connection comes from a proxy that is known to write it, and then only
// the part which that proxy wrote. This package takes the connection's peer
// unless it is told otherwise, believes a header only from a peer on the list
// of trusted proxies, and reads exactly one header. There is no order of
// headers to fall through: a second source consulted when the first is odd is
// a door that a client opens by making the first one odd.
//
// # Which configuration
//
// Draw the way of a request from the client to this process, then choose the
// first line that fits.
//
//   - Clients connect to this process, or a balancer passes their connections
//     on unchanged: the zero [Config]. This is right also behind a listener
//     that unwraps the PROXY protocol, as it already reports the client as
//     the peer.
//   - Reverse proxies whose addresses are known, each appending the address
//     it sees to X-Forwarded-For (nginx with $proxy_add_x_forwarded_for,
//     HAProxy with "option forwardfor", Envoy, most cloud balancers): list
//     all of them in TrustedProxies and leave Header empty.
//   - The same, but the proxies write the standard header of RFC 7239:
//     Header "Forwarded". Every proxy of the chain has to write it; one that
//     passes it through untouched lets the client speak for it.
//   - One edge which replaces a header of its own by the address it sees
//     (X-Real-IP set by an nginx with $remote_addr, CF-Connecting-IP set by
//     Cloudflare): that Header, and the edge's addresses in TrustedProxies.
//     Safe only while the edge overwrites the header on every path. Several
//     vendors keep a value that the client sent, unless set up otherwise:
//     True-Client-IP, Fastly-Client-IP and X-Azure-ClientIP are known for it.
//   - A proxy on this host that connects over a Unix socket: TrustUnixPeer,
//     and the Header which that proxy writes.
//   - The addresses of the proxies are not known, but their number is, and
//     nothing else can reach this process: Hops. See there for the danger.
//
// Both mistakes cost something. Trust too much, and a client escapes its limit
// by sending a new address with each request, or spends the quota of somebody
// else by sending theirs. Trust too little behind a proxy, and all clients are
// one: the proxy. Only the first is invisible in ordinary traffic, so start
// with too little.
//
// # What to trust
//
// List proxies, not neighbours. All of 10.0.0.0/8 in TrustedProxies means that
// every container of that network may claim to be anybody; list the subnet of
// the balancers. Behind a public content network the list of its addresses is
// necessary and not sufficient, because anyone can open an account there and
// point it at this service: have the edge present a client certificate or a
// secret header, and refuse requests without it.
//
// The peer is taken from the RemoteAddr field of the request. Middleware that
// rewrites the field from a header (several do, under names like RealIP or
// ProxyHeaders) must not run before a Resolver: it would hand over a client's
// claim as the peer.
//
// # Before going live
//
// From a host outside, send a request through the proxies with each of the
// headers forged, and one directly to this process if it can be reached. The
// address found must be that host's own each time.
//
// # What is returned
//
// Addresses come out in one form, whatever the source: 4-in-6 forms are
// unmapped, zones and ports are removed, so equal clients give equal values.
// They are whole addresses. Somebody with an IPv6 network has 2^64 of them or
// more, so count IPv6 clients by prefix, with [netip.Addr.Prefix].
//
// When a header cannot be understood, the answer is the nearest address that
// was vouched for: the proxy which handed the odd value on, and at the end the
// peer. It is never an address from beyond the odd place.
package clientip
