package clientip

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// checkNormal fails when addr is in a form that would split a client's count.
func checkNormal(t *testing.T, addr netip.Addr, ok bool) {
	t.Helper()
	switch {
	case ok != addr.IsValid():
		t.Fatalf("Addr = %v, %t: ok has to say whether there is an address", addr, ok)
	case ok && addr != addr.Unmap().WithZone(""):
		t.Fatalf("Addr = %v, want it unmapped and without zone", addr)
	case ok && addr.IsUnspecified():
		t.Fatalf("Addr = %v, want nobody to be that", addr)
	}
}

func FuzzAddr(f *testing.F) {
	for _, remote := range []string{"203.0.113.9:443", "10.0.0.1:1", "[fd00::1%eth0]:1", "[::ffff:10.0.0.1]:1", "@", "", "[", "a:b:c"} {
		for _, value := range []string{"6.6.6.6, 203.0.113.9", "[2001:DB8:0::1]:99", "for=192.0.2.43;host=\"a,b\"", "unknown", ",,", "%", "::ffff:0.0.0.0"} {
			f.Add(remote, "6.6.6.6", value)
		}
	}
	proxies := goldenProxies(f)
	trusting := map[string]*Resolver{
		"X-Forwarded-For": mustNew(f, Config{TrustedProxies: proxies}),
		"Forwarded":       mustNew(f, Config{TrustedProxies: proxies, Header: "Forwarded", TrustUnixPeer: true}),
		"X-Real-Ip":       mustNew(f, Config{TrustedProxies: UnsafeTrustAnyPeer(), Header: "X-Real-IP"}),
		"hops":            mustNew(f, Config{Hops: 2}),
	}
	f.Fuzz(func(t *testing.T, remote, first, second string) {
		bare := &http.Request{RemoteAddr: remote}
		full := &http.Request{RemoteAddr: remote, Header: http.Header{}}
		for _, header := range []string{"X-Forwarded-For", "Forwarded", "X-Real-Ip", "Cf-Connecting-Ip", "True-Client-Ip"} {
			full.Header[header] = []string{first, second}
		}
		var none *Resolver
		want, wantOK := none.Addr(bare)
		checkNormal(t, want, wantOK)
		if got, ok := none.Addr(full); got != want || ok != wantOK {
			t.Fatalf("Addr with headers = %v, %t, without %v, %t, and nobody is trusted", got, ok, want, wantOK)
		}
		for name, r := range trusting {
			full.Header["X-Real-Ip"] = []string{second}
			got, ok := r.Addr(full)
			checkNormal(t, got, ok)
			if got != want && !r.believes(peerOf(full)) {
				t.Fatalf("%s: Addr = %v, want the untrusted peer %v", name, got, want)
			}
		}
	})
}

// Whatever stands to the left, on the same line or before it, the client is
// what the proxy appended.
func FuzzForwardedFor(f *testing.F) {
	for _, s := range []string{"", "6.6.6.6", "6.6.6.6,", "\"", "[", "6.6.6.6, 10.0.0.1", strings.Repeat(",", 100)} {
		f.Add(s, s)
	}
	r := mustNew(f, Config{TrustedProxies: goldenProxies(f)})
	hops := mustNew(f, Config{Hops: 2})
	want := netip.MustParseAddr("203.0.113.9")
	f.Fuzz(func(t *testing.T, before, left string) {
		req := request("10.0.0.1:1", "X-Forwarded-For", before, left+", 203.0.113.9 , 10.0.0.2:80")
		for _, r := range []*Resolver{r, hops} {
			if got, _ := r.Addr(req); got != want {
				t.Fatalf("Addr(%q) = %v, want %v", req.Header, got, want)
			}
		}
	})
}

// Whatever stands to the left, the client is what the proxy appended or, when
// the left spoils the whole, the proxy. That has to hold even when the client
// also chooses text that the proxy quotes, such as the name of the host.
func FuzzForwarded(f *testing.F) {
	for _, s := range []string{
		"", "for=6.6.6.6", `for="[2001:db8::1]:80";proto=http`, `for=6.6.6.6;x="`, `x="\`, `x="\"`, "for=6.6.6.6;for=6.6.6.6",
		";,=", `,for=6.6.6.6;b=`, `;for=6.6.6.6;b="`, "for=unknown, for=_x;by=\"_y:_z\"",
	} {
		f.Add(s, s, s)
	}
	r := mustNew(f, Config{TrustedProxies: goldenProxies(f), Header: "Forwarded"})
	client, proxy := netip.MustParseAddr("203.0.113.9"), netip.MustParseAddr("10.0.0.1")
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	f.Fuzz(func(t *testing.T, before, left, host string) {
		appended := `for=203.0.113.9;host="` + quote.Replace(host) + `"`
		req := request("10.0.0.1:1", "Forwarded", before, left+", "+appended)
		got, _ := r.Addr(req)
		if got != client && got != proxy {
			t.Fatalf("Addr(%q) = %v, want %v or %v", req.Header, got, client, proxy)
		}
		checkNormal(t, got, true)
	})
}

func FuzzParsePrefix(f *testing.F) {
	for _, s := range []string{"", "10.0.0.0/8", "::ffff:10.0.0.0/104", "fe80::1%eth0", "203.0.113.7", "::/0", "1.2.3.4/-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePrefix(text)
		if err != nil {
			return
		}
		if again, err := ParsePrefix(p.String()); err != nil || again != p {
			t.Fatalf("ParsePrefix(%q) = %v, and of that %v, %v", text, p, again, err)
		}
		if p != p.Masked() || p.Addr().Is4In6() {
			t.Fatalf("ParsePrefix(%q) = %v, want it masked and unmapped", text, p)
		}
		if _, err := New(Config{TrustedProxies: []netip.Prefix{p}}); err != nil {
			t.Fatalf("ParsePrefix(%q) = %v, which New refuses: %v", text, p, err)
		}
	})
}
