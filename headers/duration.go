package headers

import (
	"math"
	"time"
)

// Seconds returns d in seconds, rounded up, and 0 if d is negative. It is the
// t and w of the RateLimit fields and the delta of the trios.
func Seconds(d time.Duration) int64 {
	return ceilDiv(d, time.Second)
}

// Millis returns d in milliseconds, rounded up, and 0 if d is negative. It is
// the retry_after_ms of a [Problem].
func Millis(d time.Duration) int64 {
	return ceilDiv(d, time.Millisecond)
}

// ceilDiv keeps to integers, since a float64 is inexact for long durations, and
// subtracts before dividing, since adding unit-1 overflows for the longest.
func ceilDiv(d, unit time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64((d-1)/unit) + 1
}

// scaled returns n units, or the longest Duration if that is shorter: a peer
// that says 10^15 seconds must not be heard as saying a negative wait.
func scaled(n int64, unit time.Duration) time.Duration {
	if n > int64(math.MaxInt64/unit) {
		return math.MaxInt64
	}
	return time.Duration(n) * unit
}
