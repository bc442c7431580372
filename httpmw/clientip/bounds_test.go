package clientip

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

const mebibyte = 1 << 20

// chainOf returns n proxies of 10.0.0.0/8; the i-th from the right ends in i.
func chainOf(n int) string {
	var list []string
	for i := n; i >= 1; i-- {
		list = append(list, fmt.Sprintf("10.0.%d.%d", i/256, i%256))
	}
	return strings.Join(list, ", ")
}

func TestWalkIsBounded(t *testing.T) {
	r := mustNew(t, Config{TrustedProxies: goldenProxies(t)})
	check(t, r, request("10.9.9.9:1", "X-Forwarded-For", "203.0.113.9, "+chainOf(31)), "203.0.113.9")
	check(t, r, request("10.9.9.9:1", "X-Forwarded-For", "203.0.113.9, "+chainOf(32)), "10.0.0.32")
	check(t, r, request("10.9.9.9:1", "X-Forwarded-For", chainOf(1000)), "10.0.0.32")

	r = mustNew(t, Config{TrustedProxies: goldenProxies(t), Header: "Forwarded"})
	elements := func(n int) string { return "for=" + strings.ReplaceAll(chainOf(n), ", ", ", for=") }
	check(t, r, request("10.9.9.9:1", "Forwarded", "for=203.0.113.9, "+elements(31)), "203.0.113.9")
	check(t, r, request("10.9.9.9:1", "Forwarded", "for=203.0.113.9, "+elements(32)), "10.0.0.32")
	check(t, r, request("10.9.9.9:1", "Forwarded", elements(500)), "10.0.0.32")

	r = mustNew(t, Config{Hops: 32})
	check(t, r, request("10.9.9.9:1", "X-Forwarded-For", "203.0.113.9, "+chainOf(31)), "203.0.113.9")
}

func TestEmptyItemsAreBounded(t *testing.T) {
	r := mustNew(t, Config{TrustedProxies: goldenProxies(t)})
	check(t, r, request("10.0.0.1:1", "X-Forwarded-For", "203.0.113.9"+strings.Repeat(", ", 32)), "203.0.113.9")
	check(t, r, request("10.0.0.1:1", "X-Forwarded-For", "203.0.113.9"+strings.Repeat(", ", 33)), "10.0.0.1")
	empty := slices.Repeat([]string{""}, 33)
	check(t, r, request("10.0.0.1:1", "X-Forwarded-For", append([]string{"203.0.113.9"}, empty[:32]...)...), "203.0.113.9")
	check(t, r, request("10.0.0.1:1", "X-Forwarded-For", append([]string{"203.0.113.9"}, empty...)...), "10.0.0.1")
}

func TestItemLongerThanAnyAddressEndsTheWalk(t *testing.T) {
	r := mustNew(t, Config{TrustedProxies: goldenProxies(t)})
	pad := func(n int) string { return "203.0.113.9" + strings.Repeat(" ", n-len("203.0.113.9")) }
	for want, value := range map[string]string{
		"203.0.113.9": "6.6.6.6," + pad(maxItem),
		"10.0.0.1":    "6.6.6.6," + pad(maxItem+1),
		"10.0.0.2":    "6.6.6.6," + pad(maxItem+1) + ",10.0.0.2",
	} {
		check(t, r, request("10.0.0.1:1", "X-Forwarded-For", value), want)
	}
	check(t, r, request("10.0.0.1:1", "X-Forwarded-For", pad(maxItem)), "203.0.113.9")
	check(t, r, request("10.0.0.1:1", "X-Forwarded-For", pad(maxItem+1)), "10.0.0.1")

	r = mustNew(t, Config{Hops: 2})
	check(t, r, request("10.0.0.1:1", "X-Forwarded-For", "6.6.6.6, "+pad(maxItem+1)), "10.0.0.1")

	r = mustNew(t, Config{TrustedProxies: goldenProxies(t), Header: "Forwarded"})
	zoned := func(n int) string { return "[fe80::1%" + strings.Repeat("z", n-len("[fe80::1%]")) + "]" }
	check(t, r, request("10.0.0.1:1", "Forwarded", `for="`+zoned(maxItem)+`"`), "fe80::1")
	check(t, r, request("10.0.0.1:1", "Forwarded", `for="`+zoned(maxItem+1)+`"`), "10.0.0.1")

	r = mustNew(t, Config{TrustedProxies: goldenProxies(t), Header: "X-Real-IP"})
	check(t, r, request("10.0.0.1:1", "X-Real-IP", zoned(maxItem)), "fe80::1")
	check(t, r, request("10.0.0.1:1", "X-Real-IP", zoned(maxItem+1)), "10.0.0.1")
}

// giants are values of a mebibyte, each bad for another way of reading it.
func giants() map[string][]string {
	fill := func(s string) []string { return []string{strings.Repeat(s, mebibyte/len(s))} }
	return map[string][]string{
		"commas":          fill(","),
		"blanks":          fill(" "),
		"blank items":     fill(" ,"),
		"letters":         fill("x"),
		"brackets":        fill("["),
		"zones":           fill("fe80::1%z"),
		"proxies":         fill("10.0.0.1,"),
		"clients":         fill("6.6.6.6,"),
		"quotes":          fill(`"`),
		"escapes":         fill(`for="\\`),
		"elements":        fill("for=10.0.0.1,"),
		"pairs":           fill("a=b;"),
		"lines":           slices.Repeat([]string{""}, mebibyte/8),
		"lines of commas": slices.Repeat([]string{",,,,"}, mebibyte/8),
		"lines of proxy":  slices.Repeat([]string{"10.0.0.1"}, mebibyte/8),
	}
}

// A client's header stands to the left of what the proxy appends, so its size
// must neither change the answer nor cost anything.
func TestGiantHeaderToTheLeftChangesNothing(t *testing.T) {
	r := mustNew(t, Config{TrustedProxies: goldenProxies(t)})
	for name, value := range giants() {
		t.Run(name, func(t *testing.T) {
			req := request("10.0.0.1:1", "X-Forwarded-For", value...)
			req.Header.Add("X-Forwarded-For", "203.0.113.9")
			if got, _ := r.Addr(req); got.String() != "203.0.113.9" {
				t.Errorf("Addr = %v, want 203.0.113.9", got)
			}
		})
	}
}

// How much of a giant is left unread is exact; how long it takes is not.
func TestGiantHeaderIsHardlyRead(t *testing.T) {
	for name, value := range giants() {
		list := items{lines: value}
		for range maxHops {
			if _, ok := list.next(); !ok {
				break
			}
		}
		unread := len(list.rest)
		for _, line := range list.lines {
			unread += len(line) + 1
		}
		whole := 0
		for _, line := range value {
			whole += len(line) + 1
		}
		if read, bound := whole-unread, (maxHops+maxEmpty+1)*(maxItem+1); read > bound {
			t.Errorf("%s: read %d bytes of %d, want at most %d", name, read, whole, bound)
		}
	}
}

func TestGiantHeaderOfEverySourceIsHarmless(t *testing.T) {
	for _, config := range []Config{
		{TrustedProxies: goldenProxies(t)},
		{TrustedProxies: goldenProxies(t), Header: "Forwarded"},
		{TrustedProxies: goldenProxies(t), Header: "X-Real-IP"},
		{Hops: 32},
	} {
		r := mustNew(t, config)
		for name, value := range giants() {
			req := request("10.0.0.1:1", "X-Forwarded-For")
			req.Header["X-Forwarded-For"], req.Header["Forwarded"], req.Header["X-Real-Ip"] = value, value, value
			allocs := testing.AllocsPerRun(10, func() { r.Addr(req) })
			if allocs > 2 {
				t.Errorf("%+v, %s: %v allocations, want at most the 2 of a refused address", config, name, allocs)
			}
		}
	}
}

func TestForwardedIsBoundedAsAWhole(t *testing.T) {
	r := mustNew(t, Config{TrustedProxies: goldenProxies(t), Header: "Forwarded"})
	const tail = ";for=203.0.113.9"
	value := `x="` + strings.Repeat("y", maxForwarded-len(tail)-5) + `"` + tail
	check(t, r, request("10.0.0.1:1", "Forwarded", value), "203.0.113.9")
	check(t, r, request("10.0.0.1:1", "Forwarded", value+" "), "10.0.0.1")
	check(t, r, request("10.0.0.1:1", "Forwarded", "", value), "10.0.0.1")
}

func TestAddrDoesNotAllocate(t *testing.T) {
	proxies := goldenProxies(t)
	for _, tt := range []struct {
		name string
		r    *Resolver
		req  *http.Request
	}{
		{"nil", nil, request("203.0.113.9:443", "X-Forwarded-For", "1.1.1.1")},
		{"peer", mustNew(t, Config{}), request("203.0.113.9:443", "X-Forwarded-For", "1.1.1.1")},
		{"IPv6 peer", mustNew(t, Config{}), request("[2001:db8::1%eth0]:443", "")},
		{"mapped peer", mustNew(t, Config{}), request("[::ffff:203.0.113.9]:443", "")},
		{"unix peer", mustNew(t, Config{}), request("@", "")},
		{"X-Forwarded-For", mustNew(t, Config{TrustedProxies: proxies}), request("10.0.0.1:1", "X-Forwarded-For", "6.6.6.6", "[2001:db8::1]:80, 10.0.0.2")},
		{"hops", mustNew(t, Config{Hops: 2}), request("10.0.0.1:1", "X-Forwarded-For", "6.6.6.6", "203.0.113.9, 10.0.0.2")},
		{"Forwarded", mustNew(t, Config{TrustedProxies: proxies, Header: "Forwarded"}), request("10.0.0.1:1", "Forwarded", `for="[2001:db8::1]:80";host="a\"b", for=10.0.0.2`)},
		{"single", mustNew(t, Config{TrustedProxies: proxies, Header: "X-Real-IP"}), request("10.0.0.1:1", "X-Real-IP", "203.0.113.9")},
	} {
		if got := testing.AllocsPerRun(100, func() { tt.r.Addr(tt.req) }); got != 0 {
			t.Errorf("%s: Addr allocates %v times, want 0", tt.name, got)
		}
	}
}
