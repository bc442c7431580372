package clientip

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

// The tests here are named after ways in which rate limiters have been fooled
// about who the client is.

var spoofed = map[string]string{
	"X-Forwarded-For":  "1.1.1.1",
	"X-Real-IP":        "1.1.1.1",
	"True-Client-IP":   "1.1.1.1",
	"CF-Connecting-IP": "1.1.1.1",
	"Forwarded":        "for=1.1.1.1",
}

func TestForwardedHeaderOfAnUntrustedPeerIsNotRead(t *testing.T) {
	resolvers := map[string]*Resolver{
		"nil":         nil,
		"zero value":  {},
		"zero config": mustNew(t, Config{}),
		"no proxies":  mustNew(t, Config{TrustedProxies: []netip.Prefix{}}),
	}
	for header := range spoofed {
		resolvers[header] = mustNew(t, Config{TrustedProxies: goldenProxies(t), Header: header})
	}
	for name, r := range resolvers {
		t.Run(name, func(t *testing.T) {
			for header, value := range spoofed {
				check(t, r, request("203.0.113.9:443", header, value), "203.0.113.9")
			}
		})
	}
}

func TestHeaderThatIsNotConfiguredIsNotRead(t *testing.T) {
	for configured := range spoofed {
		r := mustNew(t, Config{TrustedProxies: goldenProxies(t), Header: configured})
		for header, value := range spoofed {
			want := "10.0.0.1"
			if header == configured {
				want = "1.1.1.1"
			}
			check(t, r, request("10.0.0.1:443", header, value), want)
		}
	}
}

func TestOddValueDoesNotOpenAnotherHeader(t *testing.T) {
	r := mustNew(t, Config{TrustedProxies: goldenProxies(t)})
	req := request("10.0.0.1:443", "X-Forwarded-For", "garbage")
	req.Header.Set("X-Real-IP", "6.6.6.6")
	req.Header.Set("Forwarded", "for=6.6.6.6")
	check(t, r, req, "10.0.0.1")
}

func TestChainReadInTheWrongDirection(t *testing.T) {
	r := mustNew(t, Config{TrustedProxies: goldenProxies(t)})
	for want, lines := range map[string][][]string{
		"203.0.113.9": {
			{"6.6.6.6, 203.0.113.9, 10.0.0.2"},
			{"6.6.6.6", "203.0.113.9, 10.0.0.2"},
			{"6.6.6.6, 203.0.113.9", "10.0.0.2"},
			{"garbage, 203.0.113.9, 10.0.0.2"},
		},
		"10.0.0.9": {{"10.0.0.9, 10.0.0.2"}},
		"10.0.0.2": {{"203.0.113.9, garbage, 10.0.0.2"}},
	} {
		for _, l := range lines {
			check(t, r, request("10.0.0.1:1", "X-Forwarded-For", l...), want)
		}
	}
}

func TestLockingOutAVictimByItsAddressInAHeader(t *testing.T) {
	const attacker, victim = "198.51.100.66:1", "203.0.113.9:1"
	for header := range spoofed {
		r := mustNew(t, Config{TrustedProxies: goldenProxies(t), Header: header})
		value := strings.ReplaceAll(spoofed[header], "1.1.1.1", "203.0.113.9")
		forged, _ := r.Addr(request(attacker, header, value))
		own, _ := r.Addr(request(victim, header))
		if forged == own {
			t.Errorf("%s: %s is counted as the victim, %v", header, attacker, own)
		}
	}
}

func TestHeaderWithoutATrustedProxyIsAnError(t *testing.T) {
	for header := range spoofed {
		r, err := New(Config{Header: header})
		if err == nil || !strings.Contains(err.Error(), "TrustedProxies") || !strings.Contains(err.Error(), header) {
			t.Errorf("New(Header: %s) = %v, want an error that names %s and TrustedProxies", header, err, header)
		}
		check(t, r, request("203.0.113.9:1", header, spoofed[header]), "203.0.113.9")
	}
}

func TestPortInTheKey(t *testing.T) {
	r := mustNew(t, Config{TrustedProxies: goldenProxies(t)})
	for port := 50001; port <= 50006; port++ {
		check(t, r, request("10.0.0.1:1", "X-Forwarded-For", fmt.Sprintf("203.0.113.7:%d", port)), "203.0.113.7")
		check(t, r, request(fmt.Sprintf("203.0.113.7:%d", port), ""), "203.0.113.7")
	}
	for _, form := range []string{"[2001:db8::1]:443", "[2001:db8::1]", "2001:db8::1"} {
		check(t, r, request("10.0.0.1:1", "X-Forwarded-For", form), "2001:db8::1")
		check(t, r, request(form, ""), "2001:db8::1")
	}
	check(t, r, request("203.0.113.7", ""), "203.0.113.7")
	check(t, r, request("10.0.0.1:1", "X-Forwarded-For", "2001:db8::1:443"), "2001:db8::1:443")
}

func TestOddPortIsNoAddress(t *testing.T) {
	r := mustNew(t, Config{TrustedProxies: goldenProxies(t)})
	for _, item := range []string{
		"1.2.3.4:", "1.2.3.4:x", "1.2.3.4:65536", "1.2.3.4:999999", "1.2.3.4:000080", "1.2.3.4:-1", "1.2.3.4:80:80",
		"[2001:db8::1]:", "[2001:db8::1]80", "[2001:db8::1", "2001:db8::1]", "[1.2.3.4]:80", "[]:80", "[", ":80", "[[::1]]",
		"2001:db8::1%", "1.2.3.4%eth0", "::ffff:1.2.3.4%eth0", "%eth0", "1.2.3.4 5.6.7.8", "１.2.3.4",
	} {
		check(t, r, request("10.0.0.1:1", "X-Forwarded-For", item), "10.0.0.1")
	}
}

func TestIPv6RotationBypass(t *testing.T) {
	r := mustNew(t, Config{TrustedProxies: goldenProxies(t)})
	network := netip.MustParsePrefix("2001:db8:1:2::/64")
	for i := range 6 {
		host := fmt.Sprintf("2001:db8:1:2::%x", i+1)
		for _, req := range []string{host, "[" + host + "%eth0]:80"} {
			addr, _ := r.Addr(request("10.0.0.1:1", "X-Forwarded-For", req))
			// The prefix of a zoned or mapped address would be another one.
			if got, err := addr.Prefix(64); err != nil || got != network {
				t.Errorf("Addr(%s).Prefix(64) = %v, %v, want %v", req, got, err, network)
			}
		}
	}
	check(t, r, request("[::ffff:203.0.113.7]:1", ""), "203.0.113.7")
	check(t, r, request("203.0.113.7:1", ""), "203.0.113.7")
}

func TestNormalisationSkippedOnOneSource(t *testing.T) {
	sources := map[string]func(client string) (*Resolver, string, string){
		"peer": func(client string) (*Resolver, string, string) { return nil, client, "" },
	}
	for header, value := range spoofed {
		r := mustNew(t, Config{TrustedProxies: goldenProxies(t), Header: header})
		sources[header] = func(client string) (*Resolver, string, string) {
			if header == "Forwarded" {
				client = `"` + client + `"`
			}
			return r, "10.0.0.1:1", strings.ReplaceAll(value, "1.1.1.1", client)
		}
	}
	hops := mustNew(t, Config{Hops: 1})
	sources["X-Forwarded-For by hops"] = func(client string) (*Resolver, string, string) {
		return hops, "192.0.2.1:1", client
	}
	for want, forms := range map[string][]string{
		"203.0.113.7": {"203.0.113.7", "203.0.113.7:50001", "[::ffff:203.0.113.7]:50002", "[::FFFF:CB00:7107]"},
		"2001:db8::1": {"[2001:db8::1]", "[2001:DB8:0::1]:443", "[2001:db8::1%eth0]:443", "[2001:db8:0:0:0:0:0:1]"},
	} {
		for name, source := range sources {
			header, _, _ := strings.Cut(name, " ")
			for _, form := range forms {
				r, remote, value := source(form)
				check(t, r, request(remote, header, value), want)
			}
		}
	}
}

func TestMissingHeaderIsNotAnEmptyKey(t *testing.T) {
	for header := range spoofed {
		r := mustNew(t, Config{TrustedProxies: goldenProxies(t), Header: header})
		check(t, r, request("10.0.0.1:1", header), "10.0.0.1")
		check(t, r, request("10.0.0.2:1", header, ""), "10.0.0.2")
	}
}

func TestTrustIsPerPeerNotPerProcess(t *testing.T) {
	r := mustNew(t, Config{TrustedProxies: prefixes(t, "10.0.0.0/8")})
	check(t, r, request("10.0.0.1:1", "X-Forwarded-For", "203.0.113.9"), "203.0.113.9")
	check(t, r, request("198.51.100.4:1", "X-Forwarded-For", "203.0.113.9"), "198.51.100.4")
}

func TestTrustingAnyPeerIsPossibleAndSaysSo(t *testing.T) {
	r := mustNew(t, Config{TrustedProxies: UnsafeTrustAnyPeer()})
	for _, peer := range []string{"198.51.100.4:1", "[2001:db8::1]:1", "[::ffff:198.51.100.4]:1"} {
		check(t, r, request(peer, "X-Forwarded-For", "6.6.6.6, 203.0.113.9"), "6.6.6.6")
	}
	if !r.TrustsEveryone() {
		t.Error("TrustsEveryone() = false")
	}
}
