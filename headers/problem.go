package headers

import (
	"strconv"
	"time"
)

// ContentTypeProblem is the media type of a [Problem]. It takes no charset.
const ContentTypeProblem = "application/problem+json"

// The problem types of the RateLimit drafts and their titles. A title names the
// type, so it is the same for every occurrence.
const (
	// TypeQuotaExceeded goes with 429: the client spent what it had.
	TypeQuotaExceeded  = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	TitleQuotaExceeded = "Quota Exceeded"

	// TypeReducedCapacity goes with 503: the server has less to give.
	TypeReducedCapacity  = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
	TitleReducedCapacity = "Temporary Reduced Capacity"

	// TypeAbnormalUsage goes with 429: the client is in the penalty box.
	TypeAbnormalUsage  = "https://iana.org/assignments/http-problem-types#abnormal-usage-detected"
	TitleAbnormalUsage = "Abnormal Usage Detected"
)

// A Problem is the body of a denial, in the format of RFC 9457. It is meant for
// the client: names of visible policies belong here, keys and addresses do not.
type Problem struct {
	// Type is a URI and Title its short name in words. Empty: left out, which
	// readers take for "about:blank".
	Type, Title string
	// Status must be the status of the response. Zero: left out.
	Status int
	// Detail explains this occurrence; see [DetailRetry]. Empty: left out.
	Detail string
	// ViolatedPolicies names the policies that denied, as in [Policy.Name]. It
	// is written also if there is none.
	ViolatedPolicies []string
	// RetryAfter is written as retry_after_ms, rounded up to milliseconds, if
	// HasRetryAfter is true. Negative: 0.
	RetryAfter time.Duration
	// HasRetryAfter tells a wait of zero from none.
	HasRetryAfter bool
	// Limits says how each limit stood, in the order given. Empty: left out.
	Limits []ProblemLimit
}

// A ProblemLimit is one member of the limits object of a [Problem].
type ProblemLimit struct {
	// Name is the member's name; it should be unique within the problem.
	Name string
	// Limit is the quota, and Remaining what is left of it, written if
	// HasRemaining is true. Both are written within 0..999999999999999.
	Limit, Remaining int64
	// HasRemaining tells none left from not known.
	HasRemaining bool
	// Exceeded says whether this limit denied.
	Exceeded bool
	// RetryAfter and HasRetryAfter are as in Problem.
	RetryAfter    time.Duration
	HasRetryAfter bool
}

// AppendJSON appends p as a JSON object with members in a fixed order, and
// returns the extended buffer. It cannot fail: any string is escaped to valid
// JSON, and what is not UTF-8 becomes U+FFFD. The characters <, > and & stay as
// they are, as this is no HTML.
func (p Problem) AppendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	dst = appendText(dst, `"type":`, p.Type)
	dst = appendText(dst, `"title":`, p.Title)
	if p.Status > 0 {
		dst = appendKey(dst, `"status":`)
		dst = strconv.AppendInt(dst, int64(p.Status), 10)
	}
	dst = appendText(dst, `"detail":`, p.Detail)
	dst = appendKey(dst, `"violated-policies":`)
	dst = appendNames(dst, p.ViolatedPolicies)
	if p.HasRetryAfter {
		dst = appendNumber(dst, `"retry_after_ms":`, Millis(p.RetryAfter))
	}
	if len(p.Limits) > 0 {
		dst = appendKey(dst, `"limits":`)
		dst = appendLimits(dst, p.Limits)
	}
	return append(dst, '}')
}

func appendNames(dst []byte, names []string) []byte {
	dst = append(dst, '[')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendJSONString(dst, name)
	}
	return append(dst, ']')
}

func appendLimits(dst []byte, limits []ProblemLimit) []byte {
	dst = append(dst, '{')
	for i := range limits {
		dst = appendJSONString(appendComma(dst), limits[i].Name)
		dst = append(dst, ':')
		dst = limits[i].appendJSON(dst)
	}
	return append(dst, '}')
}

func (l *ProblemLimit) appendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	dst = appendNumber(dst, `"limit":`, l.Limit)
	if l.HasRemaining {
		dst = appendNumber(dst, `"remaining":`, l.Remaining)
	}
	dst = appendKey(dst, `"exceeded":`)
	dst = strconv.AppendBool(dst, l.Exceeded)
	if l.HasRetryAfter {
		dst = appendNumber(dst, `"retry_after_ms":`, Millis(l.RetryAfter))
	}
	return append(dst, '}')
}

// DetailRetry returns the Detail of a denial: how many seconds to wait, the
// same number as in Retry-After, or if ok is false that waiting does not help.
func DetailRetry(d time.Duration, ok bool) string {
	if !ok {
		return "This request asks for more than the limit can ever grant. Waiting does not help."
	}
	n := RetrySeconds(d)
	if n == 1 {
		return "Too many requests. Retry in 1 second."
	}
	return "Too many requests. Retry in " + strconv.FormatInt(n, 10) + " seconds."
}
