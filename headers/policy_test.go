package headers

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestAppendPolicies(t *testing.T) {
	for _, tt := range []struct {
		name string
		ps   []Policy
		want string
	}{
		{"two policies", []Policy{
			{Name: "burst", Quota: 100, Window: time.Minute},
			{Name: "daily", Quota: 1000, Window: 24 * time.Hour},
		}, `"burst";q=100;w=60, "daily";q=1000;w=86400`},
		{"unit and partition", []Policy{
			{Name: "peruser", Quota: 65535, Unit: ContentBytes, Window: 10 * time.Second, Partition: []byte("App-999")},
		}, `"peruser";q=65535;qu="content-bytes";w=10;pk=:QXBwLTk5OQ==:`},
		{"concurrency has no window", []Policy{
			{Name: "inflight", Quota: 10, Unit: ConcurrentRequests},
		}, `"inflight";q=10;qu="concurrent-requests"`},
		{"escapes, quota of zero, window rounded up", []Policy{
			{Name: `a"b\c`, Quota: 0, Window: 1500 * time.Millisecond},
		}, `"a\"b\\c";q=0;w=2`},
		{"empty partition, default unit not written, window of 100ms", []Policy{
			{Name: "x", Quota: 1, Unit: Requests, Window: 100 * time.Millisecond, Partition: []byte{}},
		}, `"x";q=1;w=1;pk=::`},
		{"allowed response of a token bucket", []Policy{
			{Name: "create-order", Quota: 20, Window: 2 * time.Second},
		}, `"create-order";q=20;w=2`},
		{"numbers are clamped", []Policy{
			{Name: "neg", Quota: -1, Window: -time.Second},
			{Name: "big", Quota: math.MaxInt64, Window: math.MaxInt64},
		}, `"neg";q=0, "big";q=999999999999999;w=9223372037`},
		{"a careless name cannot split the response", []Policy{
			{Name: "a\r\nSet-Cookie: x\x7fé", Quota: 1, Unit: "b\ny"},
		}, `"a__Set-Cookie: x___";q=1;qu="b_y"`},
		{"nothing to list", nil, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(AppendPolicies(nil, tt.ps)); got != tt.want {
				t.Errorf("AppendPolicies(%+v)\n got %s\nwant %s", tt.ps, got, tt.want)
			}
		})
	}
}

func TestAppendKeepsWhatIsInTheBuffer(t *testing.T) {
	dst := []byte("before ")
	if got, want := string(AppendPolicy(dst, Policy{Name: "a", Quota: 1})), `before "a";q=1`; got != want {
		t.Errorf("AppendPolicy = %s, want %s", got, want)
	}
	if got, want := string(AppendStatus(dst, Status{Name: "a"})), `before "a";r=0`; got != want {
		t.Errorf("AppendStatus = %s, want %s", got, want)
	}
}

func TestValidName(t *testing.T) {
	for _, name := range []string{"a", "create-order", "per_user.daily:/v1", "0", strings.Repeat("x", 64)} {
		if err := ValidName(name); err != nil {
			t.Errorf("ValidName(%q) = %v, want nil", name, err)
		}
	}
	for _, tt := range []struct{ name, want string }{
		{"", "empty"},
		{strings.Repeat("x", 65), "65 bytes"},
		{"a b", `" " at byte 1`},
		{"a\r\nX: y", `"\r" at byte 1`},
		{`a"b`, `"\"" at byte 1`},
		{`a\b`, `at byte 1`},
		{"naïve", `"\xc3" at byte 2`},
		{"a,b", `"," at byte 1`},
		{"a;b", `";" at byte 1`},
		{"a\x00", `"\x00" at byte 1`},
		{"a\x7f", `at byte 1`},
		{"[", `"[" at byte 0`},
		{"@", `"@" at byte 0`},
	} {
		err := ValidName(tt.name)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ValidName(%q) = %v, want an error with %s", tt.name, err, tt.want)
		}
	}
}

// Every valid name must be written without an escape, in headers and in JSON.
func TestValidNamesNeedNoEscapes(t *testing.T) {
	for c := range 256 {
		name := string([]byte{byte(c)})
		if ValidName(name) != nil {
			continue
		}
		if got, want := string(AppendStatus(nil, Status{Name: name})), `"`+name+`";r=0`; got != want {
			t.Errorf("AppendStatus of name %q = %s, want %s", name, got, want)
		}
		if got, want := string(appendJSONString(nil, name)), `"`+name+`"`; got != want {
			t.Errorf("JSON of name %q = %s, want %s", name, got, want)
		}
	}
}
