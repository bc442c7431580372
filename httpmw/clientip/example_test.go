package clientip_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"

	"github.com/tidegate/tidegate/httpmw/clientip"
)

// Without configuration the client is the peer, whatever the headers say.
func Example() {
	var r *clientip.Resolver

	req := httptest.NewRequest(http.MethodGet, "/", nil)
	req.RemoteAddr = "203.0.113.9:50000"
	req.Header.Set("X-Forwarded-For", "198.51.100.1")

	addr, ok := r.Addr(req)
	fmt.Println(addr, ok)
	// Output: 203.0.113.9 true
}

// Two proxies of 10.0.7.0/24 append the address they see. The client tried to
// be somebody else by sending a list of its own.
func ExampleNew_behindProxies() {
	balancers, err := clientip.ParsePrefix("10.0.7.0/24")
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := clientip.New(clientip.Config{TrustedProxies: []netip.Prefix{balancers}})
	if err != nil {
		fmt.Println(err)
		return
	}

	req := httptest.NewRequest(http.MethodGet, "/", nil)
	req.RemoteAddr = "10.0.7.2:40000"
	req.Header.Add("X-Forwarded-For", "198.51.100.1, 203.0.113.9")
	req.Header.Add("X-Forwarded-For", "10.0.7.1")

	addr, _ := r.Addr(req)
	fmt.Println(addr)
	// Output: 203.0.113.9
}

// A header that nobody is trusted to write is a mistake of the configuration.
func ExampleNew_nobodyTrusted() {
	_, err := clientip.New(clientip.Config{Header: "X-Real-IP"})
	fmt.Println(err)
	// Output: clientip: header is "X-Real-IP" but no proxy is trusted to write it; list the proxies in TrustedProxies, or leave Header empty to use the peer of the connection
}

// Clients with an IPv6 network are counted by the network.
func ExampleResolver_Addr_prefix() {
	var r *clientip.Resolver
	for _, remote := range []string{"[2001:db8:1:2::aaaa]:1", "[2001:db8:1:2::bbbb]:1", "203.0.113.9:1"} {
		addr, ok := r.Addr(&http.Request{RemoteAddr: remote})
		if !ok {
			fmt.Println("unknown")
			continue
		}
		bits := 64
		if addr.Is4() {
			bits = 32
		}
		key, _ := addr.Prefix(bits)
		fmt.Println(key)
	}
	// Output:
	// 2001:db8:1:2::/64
	// 2001:db8:1:2::/64
	// 203.0.113.9/32
}

func ExampleParsePrefix() {
	for _, text := range []string{"10.1.2.3/8", "203.0.113.7", "::ffff:10.0.0.0/104", "10.0.0"} {
		fmt.Println(clientip.ParsePrefix(text))
	}
	// Output:
	// 10.0.0.0/8 <nil>
	// 203.0.113.7/32 <nil>
	// 10.0.0.0/8 <nil>
	// invalid Prefix clientip: "10.0.0": is no prefix, want one like 10.0.0.0/8 or 2001:db8::/32, or a bare address like 203.0.113.7
}
