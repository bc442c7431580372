package clientip

import (
	"math/rand/v2"
	"net/netip"
	"testing"
)

// The set has to agree with asking every prefix, for any prefixes.
func TestAddrSetAgreesWithItsPrefixes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	randomAddr := func() netip.Addr {
		// Few distinct bytes, so that prefixes touch, nest and repeat.
		b := [4]byte{10, byte(rng.IntN(2)), byte(rng.IntN(4)), byte(rng.Uint32())}
		if rng.IntN(2) == 0 {
			return netip.AddrFrom4(b)
		}
		return netip.AddrFrom16([16]byte{0: 0xfd, 12: b[0], 13: b[1], 14: b[2], 15: b[3]})
	}
	inside := 0
	for range 2000 {
		var list []netip.Prefix
		for range rng.IntN(8) {
			a := randomAddr()
			list = append(list, netip.PrefixFrom(a, a.BitLen()-rng.IntN(20)).Masked())
		}
		set := newAddrSet(list)
		for range 20 {
			a, want := randomAddr(), false
			for _, p := range list {
				want = want || p.Contains(a)
			}
			if got := set.contains(a); got != want {
				t.Fatalf("set of %v: contains(%v) = %t, want %t", list, a, got, want)
			}
			if want {
				inside++
			}
		}
	}
	if inside < 1000 {
		t.Errorf("only %d addresses were inside a set; the test asks too little", inside)
	}
}

func TestAddrSetAtTheEnds(t *testing.T) {
	set := newAddrSet(prefixes(t, "0.0.0.0/32", "255.255.255.255/32", "::/128", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128"))
	if len(set) != 4 {
		t.Errorf("newAddrSet has %d ranges, want 4: families never touch", len(set))
	}
	for text, want := range map[string]bool{
		"0.0.0.0": true, "0.0.0.1": false, "255.255.255.254": false, "255.255.255.255": true,
		"::": true, "::1": false, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe": false, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff": true,
	} {
		if got := set.contains(netip.MustParseAddr(text)); got != want {
			t.Errorf("contains(%s) = %t, want %t", text, got, want)
		}
	}
	if set.contains(netip.Addr{}) || addrSet(nil).contains(netip.MustParseAddr("10.0.0.1")) {
		t.Error("the zero address is in a set, or something is in the empty one")
	}
}
