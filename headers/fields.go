package headers

// The field names, spelled as [net/http.CanonicalHeaderKey] spells them: a
// handler on the hot path may assign to the map with them, and Get still finds
// the value. Names on the wire are case-insensitive; [ExposedHeaders] has the
// spelling of the specifications.
const (
	RateLimit       = "Ratelimit"
	RateLimitPolicy = "Ratelimit-Policy"

	RateLimitLimit     = "Ratelimit-Limit"
	RateLimitRemaining = "Ratelimit-Remaining"
	RateLimitReset     = "Ratelimit-Reset"

	XRateLimitLimit     = "X-Ratelimit-Limit"
	XRateLimitRemaining = "X-Ratelimit-Remaining"
	XRateLimitReset     = "X-Ratelimit-Reset"

	RetryAfter = "Retry-After"
)

// ExposedHeaders returns the response fields that scripts of another origin
// can read only if Access-Control-Expose-Headers lists them: those of the
// styles in s, and Retry-After always. The names are spelled as in their
// specifications. s must be valid. The caller owns the slice.
func ExposedHeaders(s Styles) []string {
	var names []string
	if s&DraftC != 0 {
		names = append(names, "RateLimit", "RateLimit-Policy")
	}
	names = append(names, "Retry-After")
	if s&Draft06 != 0 {
		names = append(names, "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit-Policy")
	}
	if s&(XEpoch|XDelta) != 0 {
		names = append(names, "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
	}
	return names
}
