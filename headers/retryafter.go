package headers

import (
	"math"
	"net/http"
	"strings"
	"time"
)

// maxRetrySeconds is what a client that counts seconds in 32 bits can hold.
const maxRetrySeconds = math.MaxInt32

// RetrySeconds returns the delay-seconds of a Retry-After for a wait of d:
// rounded up, at least 1 and at most 2147483647. A client that sleeps that long
// has slept at least d (unless d is above 68 years).
func RetrySeconds(d time.Duration) int64 {
	return max(1, min(Seconds(d), maxRetrySeconds))
}

// ParseRetryAfter reads the lines of a Retry-After field, as http.Header.Values
// returns them, into the wait that they ask for. It reports false, and the
// client should back off as if nothing had been sent, unless there is exactly
// one line with either whole seconds or a correct HTTP-date.
//
// The wait is never negative and never above 2147483647 seconds, also if the
// peer sends more digits than any integer holds; callers bound it further by
// their own patience. A date is measured from now, rounded up to the second,
// because a date tells no finer; one in the past is 0.
func ParseRetryAfter(values []string, now time.Time) (time.Duration, bool) {
	if len(values) != 1 {
		return 0, false // two answers: neither can be trusted
	}
	text := strings.Trim(values[0], " \t")
	if n, ok := digits(text); ok {
		return retryWait(n), true
	}
	if at, ok := parseHTTPDate(text); ok {
		return retryWait(Seconds(at.Sub(now))), true // Sub saturates, Seconds is 0 for the past
	}
	return 0, false
}

// retryWait bounds before it multiplies: the product would wrap to a negative
// wait, which a timer takes for none.
func retryWait(seconds int64) time.Duration {
	return time.Duration(min(seconds, maxRetrySeconds)) * time.Second
}

// httpDates are the three forms of RFC 9110. The second is [time.RFC850] with
// the zone spelled out, which would else accept any.
var httpDates = [...]string{http.TimeFormat, "Monday, 02-Jan-06 15:04:05 GMT", time.ANSIC}

// parseHTTPDate accepts what a correct sender writes and nothing else.
// [time.Parse] would also take fractions of a second and a wrong weekday.
func parseHTTPDate(text string) (time.Time, bool) {
	for _, layout := range httpDates {
		if t, err := time.Parse(layout, text); err == nil && t.Format(layout) == text {
			return t, true
		}
	}
	return time.Time{}, false
}
