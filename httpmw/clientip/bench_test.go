package clientip

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// served puts req into the context that net/http gives to handlers.
func served(b *testing.B, req *http.Request) *http.Request {
	b.Helper()
	ctx := b.Context()
	for key, value := range map[any]any{
		http.LocalAddrContextKey: net.Addr(&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 443}),
		http.ServerContextKey:    &http.Server{},
	} {
		ctx = context.WithValue(ctx, key, value)
	}
	return req.WithContext(ctx)
}

func benchmark(b *testing.B, r *Resolver, req *http.Request, want string) {
	b.Helper()
	req = served(b, req)
	if got, _ := r.Addr(req); got.String() != want {
		b.Fatalf("Addr = %v, want %s", got, want)
	}
	b.ReportAllocs()
	for b.Loop() {
		r.Addr(req)
	}
}

func BenchmarkPeer(b *testing.B) {
	b.Run("IPv4", func(b *testing.B) {
		benchmark(b, nil, request("203.0.113.9:443", "X-Forwarded-For", "6.6.6.6"), "203.0.113.9")
	})
	b.Run("IPv6", func(b *testing.B) {
		benchmark(b, nil, request("[2001:db8:1:2::9]:443", "X-Forwarded-For", "6.6.6.6"), "2001:db8:1:2::9")
	})
}

func BenchmarkForwardedFor(b *testing.B) {
	few := goldenProxies(b)
	many := append([]netip.Prefix{}, few...)
	for i := range 5000 {
		many = append(many, netip.MustParsePrefix(fmt.Sprintf("20.%d.%d.0/25", i/256, i%256)))
	}
	for name, proxies := range map[string][]netip.Prefix{"4 prefixes": few, "5000 prefixes": many} {
		r := mustNew(b, Config{TrustedProxies: proxies})
		for hops, value := range map[string]string{
			"1 hop":      "203.0.113.9",
			"3 hops":     "6.6.6.6, 203.0.113.9, 10.0.0.3, 10.0.0.2",
			"1 MiB left": strings.Repeat(",", mebibyte) + "203.0.113.9",
		} {
			b.Run(name+"/"+hops, func(b *testing.B) {
				benchmark(b, r, request("10.0.0.1:443", "X-Forwarded-For", value), "203.0.113.9")
			})
		}
		b.Run(name+"/1 MiB of commas", func(b *testing.B) {
			benchmark(b, r, request("10.0.0.1:443", "X-Forwarded-For", strings.Repeat(",", mebibyte)), "10.0.0.1")
		})
	}
}

func BenchmarkForwarded(b *testing.B) {
	r := mustNew(b, Config{TrustedProxies: goldenProxies(b), Header: "Forwarded"})
	for name, value := range map[string]string{
		"1 hop":  "for=203.0.113.9;proto=https",
		"3 hops": `for=6.6.6.6, for=203.0.113.9;host="a,b", for=10.0.0.3, for=10.0.0.2;by=10.0.0.1`,
	} {
		b.Run(name, func(b *testing.B) {
			benchmark(b, r, request("10.0.0.1:443", "Forwarded", value), "203.0.113.9")
		})
	}
}
