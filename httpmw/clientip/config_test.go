package clientip

import (
	"net/netip"
	"strings"
	"testing"
)

func TestNewReportsEveryProblem(t *testing.T) {
	_, err := New(Config{
		TrustedProxies: []netip.Prefix{{}, netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::ffff:10.0.0.0/64")},
		Header:         "X Real IP",
		Hops:           -1,
	})
	if err == nil {
		t.Fatal("New = nil error")
	}
	for _, want := range []string{"clientip: ", "TrustedProxies[0]", "TrustedProxies[2]", `"X Real IP"`, "hops is -1", "hops counts items"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("New: %v\nwant it to mention %s", err, want)
		}
	}
	if strings.Contains(err.Error(), "TrustedProxies[1]") {
		t.Errorf("New: %v\nwant no complaint about a good prefix", err)
	}
}

func TestNewRefuses(t *testing.T) {
	proxies := goldenProxies(t)
	for _, tt := range []struct {
		why    string
		config Config
	}{
		{"a blank name", Config{TrustedProxies: proxies, Header: " "}},
		{"a name with a colon", Config{TrustedProxies: proxies, Header: "X-Real-IP:"}},
		{"a name with a blank", Config{TrustedProxies: proxies, Header: " X-Real-IP"}},
		{"a name with a line break", Config{TrustedProxies: proxies, Header: "X-Real-IP\r\n"}},
		{"two names", Config{TrustedProxies: proxies, Header: "X-Real-IP, Forwarded"}},
		{"a name beyond ASCII", Config{TrustedProxies: proxies, Header: "X-Réal-IP"}},
		{"a header nobody writes", Config{Header: "X-Forwarded-For"}},
		{"too many hops", Config{Hops: 33}},
		{"hops in a header that has none", Config{TrustedProxies: proxies, Hops: 1, Header: "X-Real-IP"}},
		{"hops in Forwarded", Config{TrustUnixPeer: true, Hops: 1, Header: "Forwarded"}},
		{"no prefix", Config{TrustedProxies: []netip.Prefix{{}}}},
	} {
		if r, err := New(tt.config); err == nil || r != nil {
			t.Errorf("%s: New(%+v) = %v, %v, want nil and an error", tt.why, tt.config, r, err)
		}
	}
}

func TestHeaderNamesIgnoreCase(t *testing.T) {
	for _, name := range []string{"CF-Connecting-IP", "cf-connecting-ip", "Cf-Connecting-Ip"} {
		r := mustNew(t, Config{TrustedProxies: goldenProxies(t), Header: name})
		check(t, r, request("10.0.0.1:1", "CF-Connecting-IP", "203.0.113.9"), "203.0.113.9")
	}
	r := mustNew(t, Config{TrustedProxies: goldenProxies(t), Header: "x-FORWARDED-for"})
	check(t, r, request("10.0.0.1:1", "X-Forwarded-For", "6.6.6.6, 203.0.113.9"), "203.0.113.9")
	r = mustNew(t, Config{Hops: 1, Header: "x-forwarded-for"})
	check(t, r, request("10.0.0.1:1", "X-Forwarded-For", "6.6.6.6, 203.0.113.9"), "203.0.113.9")
}

func TestNewCopiesItsPrefixes(t *testing.T) {
	proxies := prefixes(t, "10.0.0.0/8")
	r := mustNew(t, Config{TrustedProxies: proxies})
	proxies[0] = netip.MustParsePrefix("198.51.100.0/24")
	check(t, r, request("10.0.0.1:1", "X-Forwarded-For", "203.0.113.9"), "203.0.113.9")
	check(t, r, request("198.51.100.1:1", "X-Forwarded-For", "203.0.113.9"), "198.51.100.1")
}

func TestNewNormalisesPrefixes(t *testing.T) {
	r := mustNew(t, Config{TrustedProxies: []netip.Prefix{
		netip.MustParsePrefix("10.1.2.3/8"),
		netip.MustParsePrefix("::ffff:172.16.9.9/108"),
		netip.MustParsePrefix("fd00:1::5/16"),
	}})
	for _, peer := range []string{"10.200.0.1:1", "172.31.0.1:1", "[fd00:2::9]:1"} {
		check(t, r, request(peer, "X-Forwarded-For", "203.0.113.9"), "203.0.113.9")
	}
}

func TestTrustsEveryone(t *testing.T) {
	for _, tt := range []struct {
		config Config
		want   bool
		why    string
	}{
		{Config{}, false, "nobody"},
		{Config{TrustedProxies: goldenProxies(t)}, false, "a few"},
		{Config{TrustedProxies: prefixes(t, "0.0.0.0/0")}, true, "all of IPv4"},
		{Config{TrustedProxies: prefixes(t, "::/0")}, true, "all of IPv6"},
		{Config{TrustedProxies: prefixes(t, "::ffff:0:0/96")}, true, "all of IPv4, written as IPv6"},
		{Config{TrustedProxies: prefixes(t, "128.0.0.0/1", "10.0.0.0/8", "0.0.0.0/1")}, true, "all of IPv4 in halves"},
		{Config{TrustedProxies: prefixes(t, "8000::/1", "::/1")}, true, "all of IPv6 in halves"},
		{Config{TrustedProxies: prefixes(t, "0.0.0.0/1", "128.0.0.0/2", "192.0.0.0/3")}, false, "all but the last eighth"},
		{Config{TrustedProxies: prefixes(t, "0.0.0.0/1", "8000::/1")}, false, "halves of two families"},
		{Config{Hops: 1}, true, "whoever connects"},
		{Config{Hops: 1, TrustedProxies: goldenProxies(t)}, false, "hops from a few"},
		{Config{Hops: 1, TrustUnixPeer: true}, false, "hops from a socket"},
		{Config{TrustUnixPeer: true}, false, "a socket"},
	} {
		if got := mustNew(t, tt.config).TrustsEveryone(); got != tt.want {
			t.Errorf("%s: TrustsEveryone() = %t, want %t", tt.why, got, tt.want)
		}
	}
	var r *Resolver
	if r.TrustsEveryone() {
		t.Error("a nil Resolver trusts everyone")
	}
}

func TestParsePrefix(t *testing.T) {
	for text, want := range map[string]string{
		"10.0.0.0/8":           "10.0.0.0/8",
		"10.1.2.3/8":           "10.0.0.0/8",
		"203.0.113.7":          "203.0.113.7/32",
		"0.0.0.0/0":            "0.0.0.0/0",
		"2001:DB8::/32":        "2001:db8::/32",
		"2001:db8::1":          "2001:db8::1/128",
		"::ffff:10.0.0.0/104":  "10.0.0.0/8",
		"::ffff:203.0.113.7":   "203.0.113.7/32",
		"::ffff:10.1.2.3/104":  "10.0.0.0/8",
		"::ffff:0:0/96":        "0.0.0.0/0",
		"::/0":                 "::/0",
		"2001:db8:ffff::/33":   "2001:db8:8000::/33",
		"::ffff:10.9.8.7/128":  "10.9.8.7/32",
		"64:ff9b::192.0.2.1":   "64:ff9b::c000:201/128",
		"::fffe:10.0.0.0/104":  "::fffe:a00:0/104",
		"::ffff:172.16.0.0/12": "",
	} {
		got, err := ParsePrefix(text)
		if want == "" {
			if err == nil {
				t.Errorf("ParsePrefix(%q) = %v, want an error", text, got)
			}
			continue
		}
		if err != nil || got.String() != want {
			t.Errorf("ParsePrefix(%q) = %v, %v, want %s", text, got, err, want)
		}
	}
}

func TestParsePrefixSaysWhatWasExpected(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "203.0.113.7",
		"10.0.0":                "10.0.0.0/8",
		"10.0.0.0/33":           "10.0.0.0/8",
		"10.0.0.0/":             "10.0.0.0/8",
		" 10.0.0.0/8":           "10.0.0.0/8",
		"10.0.0.0/08":           "10.0.0.0/8",
		"10.0.0.0/255.0.0.0":    "10.0.0.0/8",
		"10.0.0.1-10.0.0.9":     "10.0.0.0/8",
		"example.com":           "bare address",
		"10.0.0.1:80":           "bare address",
		"fe80::1%eth0":          "zone",
		"fe80::%eth0/64":        "zone",
		"::ffff:10.0.0.0/64":    "/96",
		"::ffff:10.0.0.0/95":    "/96",
		"2001:db8::/129":        "2001:db8::/32",
		"[2001:db8::1]":         "bare address",
		"10.0.0.0/8,10.0.0.0/8": "bare address",
	} {
		p, err := ParsePrefix(text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "want ") || !strings.HasPrefix(err.Error(), "clientip: ") {
			t.Errorf("ParsePrefix(%q) = %v, %v, want an error that mentions %s", text, p, err, want)
		}
	}
}
