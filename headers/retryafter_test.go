package headers

import (
	"math"
	"net/http"
	"testing"
	"time"
)

func TestRetrySeconds(t *testing.T) {
	for _, tt := range []struct {
		d    time.Duration
		want int64
	}{
		{0, 1},
		{1, 1},
		{999 * time.Millisecond, 1},
		{time.Second, 1},
		{time.Second + 1, 2},
		{1500 * time.Millisecond, 2},
		{59999 * time.Millisecond, 60},
		{-5, 1},
		{1 << 62, 2147483647},
		{math.MaxInt64, 2147483647},
		{math.MinInt64, 1},
		{2147483647*time.Second - 1, 2147483647},
	} {
		if got := RetrySeconds(tt.d); got != tt.want {
			t.Errorf("RetrySeconds(%v) = %d, want %d", tt.d, got, tt.want)
		}
	}
}

// Integer division of a wait below a second tells a client to come at once.
func TestRetryAfterIsNeverZeroOnADenial(t *testing.T) {
	for d := time.Duration(1); d > 0 && d < time.Hour; d *= 3 {
		if got := RetrySeconds(d); got < 1 || time.Duration(got)*time.Second < d {
			t.Errorf("RetrySeconds(%v) = %d, want at least 1 and at least the wait", d, got)
		}
	}
}

// The wait is what is left of the window, never the whole of it.
func TestRetryAfterIsWhatIsLeft(t *testing.T) {
	for _, tt := range []struct {
		at   time.Duration // since the window of a minute began
		want int64
	}{{20 * time.Second, 40}, {59200 * time.Millisecond, 1}, {10 * time.Second, 50}} {
		if got := RetrySeconds(time.Minute - tt.at); got != tt.want {
			t.Errorf("denied at %v: %d, want %d", tt.at, got, tt.want)
		}
	}
}

func TestSecondsAndMillis(t *testing.T) {
	for _, tt := range []struct {
		d               time.Duration
		seconds, millis int64
	}{
		{0, 0, 0},
		{-1, 0, 0},
		{math.MinInt64, 0, 0},
		{1, 1, 1},
		{time.Millisecond, 1, 1},
		{time.Millisecond + 1, 1, 2},
		{100 * time.Millisecond, 1, 100},
		{time.Second, 1, 1000},
		{29100 * time.Millisecond, 30, 29100},
		{math.MaxInt64, 9223372037, 9223372036855},
	} {
		if got := Seconds(tt.d); got != tt.seconds {
			t.Errorf("Seconds(%v) = %d, want %d", tt.d, got, tt.seconds)
		}
		if got := Millis(tt.d); got != tt.millis {
			t.Errorf("Millis(%v) = %d, want %d", tt.d, got, tt.millis)
		}
	}
}

func TestParseRetryAfterSeconds(t *testing.T) {
	const longest = 2147483647 * time.Second
	for _, tt := range []struct {
		value string
		want  time.Duration
	}{
		{"0", 0},
		{"1", time.Second},
		{"120", 2 * time.Minute},
		{" 7\t", 7 * time.Second},
		{"0005", 5 * time.Second},
		{"000000000000000000000000000000", 0},
		{"3600", time.Hour},
		{"2147483647", longest},
		{"2147483648", longest},
		{"9223372036", longest},
		{"9223372037", longest}, // the first whose nanoseconds wrap
		{"9223372036854775807", longest},
		{"9223372036854775808", longest},
		{"18446744073709551617", longest}, // 2^64+1, which wraps to 1
		{"999999999999999999999999999999", longest},
	} {
		got, ok := ParseRetryAfter([]string{tt.value}, noon)
		if !ok || got != tt.want {
			t.Errorf("ParseRetryAfter(%q) = %v, %v, want %v, true", tt.value, got, ok, tt.want)
		}
	}
}

// A client that reads seconds only retries at once when it is sent a date.
func TestParseRetryAfterDates(t *testing.T) {
	const longest = 2147483647 * time.Second
	for _, tt := range []struct {
		name, value string
		now         time.Time
		want        time.Duration
	}{
		{"five seconds ahead", "Sun, 01 Mar 2026 12:00:05 GMT", noon, 5 * time.Second},
		{"RFC 850", "Sunday, 01-Mar-26 12:00:05 GMT", noon, 5 * time.Second},
		{"asctime", "Sun Mar  1 12:00:05 2026", noon, 5 * time.Second},
		{"local time does not matter", "Sun, 01 Mar 2026 12:00:05 GMT", noon.In(time.FixedZone("X", 3600)), 5 * time.Second},
		{"a date cut to the second still gives five", "Sun, 01 Mar 2026 12:00:05 GMT", noon.Add(700 * time.Millisecond), 5 * time.Second},
		{"now", "Sun, 01 Mar 2026 12:00:00 GMT", noon, 0},
		{"past", "Sun, 06 Nov 1994 08:49:37 GMT", noon, 0},
		{"the farthest past", "Mon, 01 Jan 0001 00:00:00 GMT", noon, 0},
		{"the farthest future", "Fri, 31 Dec 9999 23:59:59 GMT", noon, longest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := ParseRetryAfter([]string{tt.value}, tt.now)
			if !ok || got != tt.want {
				t.Errorf("ParseRetryAfter(%q) = %v, %v, want %v, true", tt.value, got, ok, tt.want)
			}
		})
	}
}

func TestParseRetryAfterRejects(t *testing.T) {
	for _, values := range [][]string{
		nil,
		{},
		{""},
		{" "},
		{"soon"},
		{"1.5"},
		{"-1"},
		{"-1466247819"},
		{"+5"},
		{"5s"},
		{"5, 5"},
		{"0x10"},
		{"٥"},
		{"1e3"},
		{"5", "5"},
		{"5", ""},
		{"Sun, 01 Mar 2026 12:00:05 UTC"},
		{"Sun, 01 Mar 2026 12:00:05 +0000"},
		{"Sun, 01 Mar 2026 12:00:05.5 GMT"},
		{"Mon, 01 Mar 2026 12:00:05 GMT"},
		{"Sun, 1 Mar 2026 12:00:05 GMT"},
		{"sun, 01 mar 2026 12:00:05 GMT"},
		{"Sunday, 01-Mar-26 12:00:05 PST"},
		{"Sun, 31 Feb 2026 12:00:05 GMT"},
		{"2026-03-01T12:00:05Z"},
	} {
		if got, ok := ParseRetryAfter(values, noon); ok || got != 0 {
			t.Errorf("ParseRetryAfter(%q) = %v, %v, want 0, false", values, got, ok)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"", "0", "18", "-1", "1.5", "9223372037", "999999999999999999999999999999",
		"Sun, 01 Mar 2026 12:00:05 GMT", "Sunday, 01-Mar-26 12:00:05 GMT", "Sun Mar  1 12:00:05 2026"} {
		f.Add(s, int64(0))
	}
	f.Fuzz(func(t *testing.T, value string, nanos int64) {
		now := noon.Add(time.Duration(nanos))
		got, ok := ParseRetryAfter([]string{value}, now)
		if got < 0 || got > 2147483647*time.Second || got%time.Second != 0 || !ok && got != 0 {
			t.Fatalf("ParseRetryAfter(%q, %v) = %v, %v", value, now, got, ok)
		}
		if at, err := http.ParseTime(value); ok && err == nil && got < 2147483647*time.Second && at.Sub(now) > got {
			t.Errorf("ParseRetryAfter(%q, %v) = %v, which is before that date", value, now, got)
		}
		if _, ok := ParseRetryAfter([]string{value, value}, now); ok {
			t.Errorf("two lines of %q were accepted", value)
		}
	})
}
