package headers

import (
	"fmt"
	"time"
)

// A Unit is what a policy counts. The zero value means requests.
type Unit string

const (
	// Requests counts requests. It is the default and is never written: the
	// drafts spell it in two ways, and nobody can misread its absence.
	Requests Unit = "requests"
	// ContentBytes counts the bytes of request or response content.
	ContentBytes Unit = "content-bytes"
	// ConcurrentRequests counts requests in progress; such a policy has no
	// window.
	ConcurrentRequests Unit = "concurrent-requests"
)

func (u Unit) isDefault() bool {
	return u == "" || u == Requests
}

// A Policy is one member of RateLimit-Policy: a limit that may concern the
// request, whatever is left of it.
type Policy struct {
	// Name identifies the policy in both fields and in violated-policies. See
	// [ValidName].
	Name string
	// Quota is how many units one partition gets per window. It is written
	// within 0..999999999999999.
	Quota int64
	// Unit is what Quota counts. Zero: requests.
	Unit Unit
	// Window is written in seconds, rounded up, so that the pace it implies
	// is never faster than the real one. Zero or less: no window.
	Window time.Duration
	// Partition names whose quota it is. Nil: not told. Empty but not nil is
	// a key of no bytes, and is written. It is sent as it is: never put a
	// credential, an address or a user's name here.
	Partition []byte
}

// AppendPolicy appends p as one member of RateLimit-Policy, such as
// "burst";q=100;w=60, and returns the extended buffer.
//
// It cannot fail. Numbers are clamped, and bytes of the name or unit outside
// printable ASCII become '_'; [ValidName] is the place to refuse them.
func AppendPolicy(dst []byte, p Policy) []byte {
	dst = appendString(dst, p.Name)
	dst = appendParam(dst, ";q=", p.Quota)
	if !p.Unit.isDefault() {
		dst = append(dst, ";qu="...)
		dst = appendString(dst, string(p.Unit))
	}
	if p.Window > 0 {
		dst = appendParam(dst, ";w=", Seconds(p.Window))
	}
	return appendPartition(dst, p.Partition)
}

// AppendPolicies appends the value of a RateLimit-Policy field that lists ps in
// order. If ps is empty it appends nothing, and the field must not be sent: an
// empty list has no written form.
func AppendPolicies(dst []byte, ps []Policy) []byte {
	for i, p := range ps {
		if i > 0 {
			dst = append(dst, separator...)
		}
		dst = AppendPolicy(dst, p)
	}
	return dst
}

// maxName bounds a name so that a dozen policies still fit the header budget of
// common proxies.
const maxName = 64

// ValidName reports why name cannot name a policy, or nil if it can: 1 to 64
// bytes out of [A-Za-z0-9_.:/-]. The grammar allows more; these need no
// escaping in headers, JSON or metrics. Call it once, when a limit is
// configured.
func ValidName(name string) error {
	if name == "" {
		return fmt.Errorf("headers: policy name is empty, want 1 to %d bytes", maxName)
	}
	if len(name) > maxName {
		return fmt.Errorf("headers: policy name has %d bytes, want at most %d: it begins %.16q", len(name), maxName, name)
	}
	for i := range len(name) {
		if !isNameByte(name[i]) {
			return fmt.Errorf("headers: policy name %q has %q at byte %d, want only [A-Za-z0-9_.:/-]", name, name[i:i+1], i)
		}
	}
	return nil
}

func isNameByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return c == '_' || c == '.' || c == ':' || c == '/' || c == '-'
}
