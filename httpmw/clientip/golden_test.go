package clientip

import "testing"

type lines []string

func TestGoldenForwardedFor(t *testing.T) {
	r := mustNew(t, Config{TrustedProxies: goldenProxies(t)})
	for _, tt := range []struct {
		peer  string
		lines lines
		want  string
		why   string
	}{
		{"203.0.113.9:443", lines{"1.1.1.1"}, "203.0.113.9", "the peer is no proxy"},
		{"10.0.0.1:1", lines{"6.6.6.6, 203.0.113.9"}, "203.0.113.9", "the proxy appends on the right"},
		{"10.0.0.1:1", lines{"6.6.6.6, 203.0.113.9, 10.9.9.9"}, "203.0.113.9", "proxies are walked past"},
		{"10.0.0.1:1", lines{"6.6.6.6", "203.0.113.9"}, "203.0.113.9", "lines make one list"},
		{"10.0.0.1:1", lines{"203.0.113.9", "10.0.0.2", "", " , "}, "203.0.113.9", "over all lines, empty ones too"},
		{"10.0.0.1:1", lines{"203.0.113.9:4711"}, "203.0.113.9", "a port is no part of the client"},
		{"10.0.0.1:1", lines{"203.0.113.9, ,"}, "203.0.113.9", "empty items are ignored"},
		{"10.0.0.1:1", lines{"\t203.0.113.9 \t,\t10.0.0.3 "}, "203.0.113.9", "blanks are ignored"},
		{"[::ffff:10.0.0.1]:1", lines{"203.0.113.9"}, "203.0.113.9", "a mapped peer is its IPv4 address"},
		{"[fd00::1%eth0]:1", lines{"[2001:DB8:0::1]:99"}, "2001:db8::1", "a zone does not hide a proxy"},
		{"10.0.0.1:1", lines{"::ffff:1.2.3.4"}, "1.2.3.4", "mapped items are unmapped"},
		{"10.0.0.1:1", lines{"203.0.113.9, unknown"}, "10.0.0.1", "never past an item that is no address"},
		{"10.0.0.1:1", lines{"203.0.113.9, garbage, 10.0.0.2"}, "10.0.0.2", "the last good hop"},
		{"10.0.0.1:1", lines{"203.0.113.9, _hidden"}, "10.0.0.1", "an obfuscated name is no address"},
		{"10.0.0.1:1", lines{"10.9.9.9, 10.0.0.2"}, "10.9.9.9", "a caller inside"},
		{"10.0.0.1:1", lines{"0.0.0.0"}, "10.0.0.1", "unspecified"},
		{"10.0.0.1:1", lines{"::"}, "10.0.0.1", "unspecified"},
		{"10.0.0.1:1", lines{"::ffff:0.0.0.0"}, "10.0.0.1", "unspecified once it is unmapped"},
		{"10.0.0.1:1", lines{"1.2.3.04"}, "10.0.0.1", "octal or decimal"},
		{"10.0.0.1:1", lines{"2001:db8::1:99999:1"}, "10.0.0.1", "no address"},
		{"10.0.0.1:1", nil, "10.0.0.1", "no header"},
		{"172.16.5.5:1", lines{"203.0.113.9"}, "203.0.113.9", "a proxy listed as 4-in-6"},
		{"172.32.0.1:1", lines{"203.0.113.9"}, "172.32.0.1", "just beyond it"},
		{"198.51.100.7:1", lines{"203.0.113.9"}, "203.0.113.9", "a proxy listed by its address"},
		{"198.51.100.8:1", lines{"203.0.113.9"}, "198.51.100.8", "its neighbour"},
		{"[fe80::1%eth0]:5", lines{"1.1.1.1"}, "fe80::1", "the peer without its zone"},
		{"@", lines{"1.1.1.1"}, "", "a unix socket"},
		{"", lines{"1.1.1.1"}, "", "no peer"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			check(t, r, request(tt.peer, "X-Forwarded-For", tt.lines...), tt.want)
		})
	}
}

func TestGoldenForwarded(t *testing.T) {
	r := mustNew(t, Config{TrustedProxies: goldenProxies(t), Header: "forwarded"})
	for _, tt := range []struct {
		lines lines
		want  string
		why   string
	}{
		{lines{"for=192.0.2.43, for=10.1.1.1;proto=http;by=10.0.0.1"}, "192.0.2.43", "two hops"},
		{lines{`For="[2001:db8:cafe::17]:4711"`}, "2001:db8:cafe::17", "names ignore case"},
		{lines{`for="192.0.2.43:47011"`}, "192.0.2.43", "a quoted port"},
		{lines{"for=6.6.6.6", `for=192.0.2.60;host="a,b;c=\"d"`}, "192.0.2.60", "separators inside quotes"},
		{lines{`for="_gazonk"`}, "10.0.0.1", "an obfuscated node"},
		{lines{"for=unknown"}, "10.0.0.1", "an unknown node"},
		{lines{"proto=https"}, "10.0.0.1", "no for="},
		{lines{"for=6.6.6.6, proto=https"}, "10.0.0.1", "never past an element without for="},
		{lines{"for=[2001:db8::1]"}, "10.0.0.1", "brackets need quotes"},
		{lines{"for=192.0.2.43:47011"}, "10.0.0.1", "a port needs quotes"},
		{lines{`for="192.0.2.43`}, "10.0.0.1", "a quote left open"},
		{lines{`for="192.0.2.43\`}, "10.0.0.1", "an escape left open"},
		{lines{"for=192.0.2.43;for=192.0.2.44"}, "10.0.0.1", "for= twice"},
		{lines{"for=192.0.2.43;proto=http;PROTO=https"}, "10.0.0.1", "any name twice"},

		{lines{`for="`, "for=192.0.2.43"}, "10.0.0.1", "a mistake anywhere disqualifies all lines"},
		{lines{"for=192.0.2.43, for=10.0.0.2, for=_x, for=10.0.0.3"}, "10.0.0.3", "the last good hop"},
		{lines{"for=10.1.1.1, for=10.0.0.2"}, "10.1.1.1", "a caller inside"},
		{lines{"", " ,, for=192.0.2.43 ,\t, "}, "192.0.2.43", "empty elements are ignored"},
		{lines{"for=192.0.2.43;;proto=http;"}, "192.0.2.43", "empty pairs are ignored"},
		{lines{"for=192.0.2.43 ; proto=http"}, "192.0.2.43", "blanks around a semicolon"},
		{lines{"for = 192.0.2.43"}, "10.0.0.1", "blanks around an equals sign"},
		{lines{"for=192.0.2.43 for=10.0.0.2"}, "10.0.0.1", "no separator"},
		{lines{`for="192.0.2.43"x`}, "10.0.0.1", "text behind a quote"},
		{lines{"for"}, "10.0.0.1", "no value"},
		{lines{"for="}, "10.0.0.1", "an empty token"},
		{lines{`for=""`}, "10.0.0.1", "an empty node"},
		{lines{"=192.0.2.43"}, "10.0.0.1", "no name"},
		{lines{`for="2001:db8::1"`}, "10.0.0.1", "IPv6 needs brackets inside quotes too"},
		{lines{`for="[2001:db8::1%eth0]"`}, "2001:db8::1", "the zone of another host"},
		{lines{`for="[::ffff:192.0.2.43]"`}, "192.0.2.43", "mapped"},
		{lines{`for="[192.0.2.43]"`}, "10.0.0.1", "brackets are for IPv6"},
		{lines{`for="192.0.2.43:_http-1.x"`}, "192.0.2.43", "an obfuscated port"},
		{lines{`for="192.0.2.43:_"`}, "10.0.0.1", "an obfuscated port without a name"},
		{lines{`for="192.0.2.43:_a b"`}, "10.0.0.1", "an odd obfuscated port"},
		{lines{`for="1\92.0.2\.43"`}, "192.0.2.43", "escaped characters"},
		{lines{"for=192.0.2.43;host=\"a\x01\""}, "10.0.0.1", "a control character"},
		{lines{"for=192.0.2.43;host=\"a\\\x7f\""}, "10.0.0.1", "an escaped control character"},
		{lines{"for=192.0.2.43;x=\"\t\xff\""}, "192.0.2.43", "a tab and a byte above ASCII"},
		{lines{"for=0.0.0.0"}, "10.0.0.1", "unspecified"},
		{lines{"for=192.0.2.43;a=1;b=1;c=1;d=1;e=1;f=1;g=1;h=1;i=1;j=1;k=1;l=1;m=1;n=1;o=1"}, "192.0.2.43", "as many pairs as are allowed"},
		{lines{"for=192.0.2.43;a=1;b=1;c=1;d=1;e=1;f=1;g=1;h=1;i=1;j=1;k=1;l=1;m=1;n=1;o=1;p=1"}, "10.0.0.1", "too many pairs"},
		{nil, "10.0.0.1", "no header"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			check(t, r, request("10.0.0.1:1", "Forwarded", tt.lines...), tt.want)
		})
	}
}

func TestSingleHeader(t *testing.T) {
	r := mustNew(t, Config{TrustedProxies: goldenProxies(t), Header: "x-real-ip"})
	for _, tt := range []struct {
		lines lines
		want  string
		why   string
	}{
		{lines{"203.0.113.9"}, "203.0.113.9", "one line, one address"},
		{lines{" [2001:db8::1]:80 "}, "2001:db8::1", "in any form"},
		{lines{"10.2.2.2"}, "10.2.2.2", "a caller inside"},
		{lines{"6.6.6.6", "203.0.113.9"}, "10.0.0.1", "two lines are two opinions"},
		{lines{"203.0.113.9", ""}, "10.0.0.1", "even when one says nothing"},
		{lines{"6.6.6.6, 203.0.113.9"}, "10.0.0.1", "a list is no address"},
		{lines{"not-an-ip!"}, "10.0.0.1", "no address"},
		{lines{"0.0.0.0"}, "10.0.0.1", "unspecified"},
		{lines{""}, "10.0.0.1", "empty"},
		{nil, "10.0.0.1", "no header"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			check(t, r, request("10.0.0.1:1", "X-Real-IP", tt.lines...), tt.want)
		})
	}
}

func TestHops(t *testing.T) {
	for _, tt := range []struct {
		hops  int
		lines lines
		want  string
		why   string
	}{
		{1, lines{"6.6.6.6, 203.0.113.9"}, "203.0.113.9", "what the one proxy appended"},
		{2, lines{"6.6.6.6, 203.0.113.9, 192.0.2.1"}, "203.0.113.9", "the second from the right"},
		{2, lines{"6.6.6.6", "203.0.113.9:80", ", ,192.0.2.1,"}, "203.0.113.9", "over lines and empty items"},
		{2, lines{"203.0.113.9, unknown"}, "203.0.113.9", "the proxies on the way may hide"},
		{2, lines{"unknown, 192.0.2.1"}, "198.51.100.1", "the client itself may not"},
		{2, lines{"192.0.2.1"}, "198.51.100.1", "fewer items than proxies"},
		{1, nil, "198.51.100.1", "no header"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			r := mustNew(t, Config{Hops: tt.hops})
			check(t, r, request("198.51.100.1:1", "X-Forwarded-For", tt.lines...), tt.want)
		})
	}
}

func TestHopsBelieveOnlyTheListWhenThereIsOne(t *testing.T) {
	listed := mustNew(t, Config{Hops: 1, TrustedProxies: goldenProxies(t)})
	check(t, listed, request("10.0.0.1:1", "X-Forwarded-For", "203.0.113.9"), "203.0.113.9")
	check(t, listed, request("10.0.0.1:1", "X-Forwarded-For", "203.0.113.9, 10.0.0.2"), "10.0.0.2")
	check(t, listed, request("192.0.2.1:1", "X-Forwarded-For", "203.0.113.9"), "192.0.2.1")

	unix := mustNew(t, Config{Hops: 1, TrustUnixPeer: true})
	check(t, unix, request("@", "X-Forwarded-For", "203.0.113.9"), "203.0.113.9")
	check(t, unix, request("192.0.2.1:1", "X-Forwarded-For", "203.0.113.9"), "192.0.2.1")

	alone := mustNew(t, Config{Hops: 1})
	check(t, alone, request("@", "X-Forwarded-For", "203.0.113.9"), "")
	check(t, alone, request("garbage", "X-Forwarded-For", "203.0.113.9"), "")
}
