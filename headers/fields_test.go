package headers

import (
	"net/http"
	"reflect"
	"testing"
)

// A key that is not spelled canonically breaks Get and doubles the field.
func TestFieldNamesAreCanonical(t *testing.T) {
	for _, name := range []string{
		RateLimit, RateLimitPolicy, RateLimitLimit, RateLimitRemaining, RateLimitReset,
		XRateLimitLimit, XRateLimitRemaining, XRateLimitReset, RetryAfter,
	} {
		if got := http.CanonicalHeaderKey(name); got != name {
			t.Errorf("%q is canonically %q", name, got)
		}
	}
}

// Scripts of another origin see neither RateLimit nor Retry-After unasked.
func TestExposedHeadersListEveryFieldThatIsSent(t *testing.T) {
	for _, tt := range []struct {
		s    Styles
		want []string
	}{
		{0, []string{"Retry-After"}},
		{DraftC, []string{"RateLimit", "RateLimit-Policy", "Retry-After"}},
		{Draft06, []string{"Retry-After", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit-Policy"}},
		{DraftC | XEpoch, []string{"RateLimit", "RateLimit-Policy", "Retry-After",
			"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"}},
		{XDelta, []string{"Retry-After", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"}},
	} {
		got := ExposedHeaders(tt.s)
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("ExposedHeaders(%v) = %q, want %q", tt.s, got, tt.want)
		}
		h := http.Header{}
		Trio{Window: 1}.Set(h, tt.s, noon)
		for _, name := range got {
			h.Del(name)
		}
		if len(h) > 0 {
			t.Errorf("style %v sends %v, which it does not expose", tt.s, h)
		}
	}
}
