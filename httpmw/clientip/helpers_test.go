package clientip

import (
	"net/http"
	"net/netip"
	"testing"
)

// request returns a request from remoteAddr with the lines of one header.
func request(remoteAddr, header string, lines ...string) *http.Request {
	req := &http.Request{RemoteAddr: remoteAddr, Header: http.Header{}}
	for _, line := range lines {
		req.Header.Add(header, line)
	}
	return req
}

func mustNew(t testing.TB, c Config) *Resolver {
	t.Helper()
	r, err := New(c)
	if err != nil {
		t.Fatalf("New(%+v): %v", c, err)
	}
	return r
}

func prefixes(t testing.TB, texts ...string) []netip.Prefix {
	t.Helper()
	var list []netip.Prefix
	for _, text := range texts {
		p, err := ParsePrefix(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

// goldenProxies are the proxies of the golden tables.
func goldenProxies(t testing.TB) []netip.Prefix {
	t.Helper()
	return prefixes(t, "10.0.0.0/8", "fd00::/8", "198.51.100.7", "::ffff:172.16.0.0/108")
}

// check compares the client of req with want; "" is no address.
func check(t *testing.T, r *Resolver, req *http.Request, want string) {
	t.Helper()
	addr, ok := r.Addr(req)
	got := ""
	if ok {
		got = addr.String()
	}
	if got != want || ok != addr.IsValid() {
		t.Errorf("Addr(%s, %v) = %v, %t, want %q", req.RemoteAddr, req.Header, addr, ok, want)
	}
}
