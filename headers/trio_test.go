package headers

import (
	"errors"
	"math"
	"net/http"
	"reflect"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) // Unix 1772366400

func TestTrioSet(t *testing.T) {
	golden := Trio{Limit: 100, Remaining: 42, Reset: 18 * time.Second, Window: time.Minute}
	late := noon.Add(time.Nanosecond)
	for _, tt := range []struct {
		name  string
		trio  Trio
		style Styles
		now   time.Time
		want  http.Header
	}{
		{"revision 06", golden, Draft06, noon, http.Header{
			"Ratelimit-Limit": {"100"}, "Ratelimit-Remaining": {"42"}, "Ratelimit-Reset": {"18"}, "Ratelimit-Policy": {"100;w=60"},
		}},
		{"epoch", golden, XEpoch, noon, http.Header{
			"X-Ratelimit-Limit": {"100"}, "X-Ratelimit-Remaining": {"42"}, "X-Ratelimit-Reset": {"1772366418"},
		}},
		{"epoch is rounded up", golden, XEpoch, late, http.Header{
			"X-Ratelimit-Limit": {"100"}, "X-Ratelimit-Remaining": {"42"}, "X-Ratelimit-Reset": {"1772366419"},
		}},
		{"delta", golden, XDelta, noon, http.Header{
			"X-Ratelimit-Limit": {"100"}, "X-Ratelimit-Remaining": {"42"}, "X-Ratelimit-Reset": {"18"},
		}},
		{"delta is rounded up", Trio{Limit: 1, Reset: 1}, XDelta, noon, http.Header{
			"X-Ratelimit-Limit": {"1"}, "X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"1"},
		}},
		{"two styles", golden, Draft06 | XEpoch, noon, http.Header{
			"Ratelimit-Limit": {"100"}, "Ratelimit-Remaining": {"42"}, "Ratelimit-Reset": {"18"}, "Ratelimit-Policy": {"100;w=60"},
			"X-Ratelimit-Limit": {"100"}, "X-Ratelimit-Remaining": {"42"}, "X-Ratelimit-Reset": {"1772366418"},
		}},
		{"no window, no policy", Trio{Limit: 5}, Draft06, noon, http.Header{
			"Ratelimit-Limit": {"5"}, "Ratelimit-Remaining": {"0"}, "Ratelimit-Reset": {"0"},
		}},
		{"remaining not known", Trio{Limit: 5, NoRemaining: true}, Draft06 | XDelta, noon, http.Header{
			"Ratelimit-Limit": {"5"}, "Ratelimit-Reset": {"0"},
			"X-Ratelimit-Limit": {"5"}, "X-Ratelimit-Reset": {"0"},
		}},
		{"out of range", Trio{Limit: math.MaxInt64, Remaining: -1, Reset: -time.Hour}, Draft06 | XEpoch, noon, http.Header{
			"Ratelimit-Limit": {"999999999999999"}, "Ratelimit-Remaining": {"0"}, "Ratelimit-Reset": {"0"},
			"X-Ratelimit-Limit": {"999999999999999"}, "X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"1772366400"},
		}},
		{"a clock before 1970", Trio{}, XEpoch, time.Time{}, http.Header{
			"X-Ratelimit-Limit": {"0"}, "X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"0"},
		}},
		{"not a trio", golden, DraftC, noon, http.Header{}},
		{"no style", golden, 0, noon, http.Header{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{}
			tt.trio.Set(h, tt.style, tt.now)
			if !reflect.DeepEqual(h, tt.want) {
				t.Errorf("%+v.Set(%v)\n got %v\nwant %v", tt.trio, tt.style, h, tt.want)
			}
		})
	}
}

// Middleware that is mounted twice, or nested, must not send a field twice, and
// must not leave a number of the other one beside its own.
func TestTrioReplacesWhatIsThere(t *testing.T) {
	h := http.Header{}
	outer := Trio{Limit: 100, Remaining: 99, Reset: time.Minute, Window: time.Minute}
	outer.Set(h, Draft06|XDelta, noon)
	outer.Set(h, Draft06|XDelta, noon)
	Trio{Limit: 1, NoRemaining: true}.Set(h, Draft06|XDelta, noon)
	want := http.Header{
		"Ratelimit-Limit": {"1"}, "Ratelimit-Reset": {"0"},
		"X-Ratelimit-Limit": {"1"}, "X-Ratelimit-Reset": {"0"},
	}
	if !reflect.DeepEqual(h, want) {
		t.Errorf("got %v, want %v", h, want)
	}
}

func TestTrioValuesDoNotShareRoom(t *testing.T) {
	h := http.Header{}
	Trio{Limit: 1, Remaining: 2}.Set(h, XDelta, noon)
	h.Add(XRateLimitLimit, "intruder")
	if got := h.Get(XRateLimitRemaining); got != "2" {
		t.Errorf("after an Add to the limit, remaining is %q, want 2", got)
	}
}

func TestParseTrio(t *testing.T) {
	for _, tt := range []struct {
		name  string
		style Styles
		h     http.Header
		want  Trio
	}{
		{"revision 06", Draft06, draft06("100", "42", "18", "100;w=60"), Trio{Limit: 100, Remaining: 42, Reset: 18 * time.Second, Window: time.Minute}},
		{"the window of the reported policy", Draft06, draft06("1000", "42", "18", "10;w=1, oops;w=7, 1000;w=3600"), Trio{Limit: 1000, Remaining: 42, Reset: 18 * time.Second, Window: time.Hour}},
		{"no such policy", Draft06, draft06("7", "0", "0", "10;w=1"), Trio{Limit: 7}},
		{"no policy", Draft06, draft06("7", "0", "0", ""), Trio{Limit: 7}},
		{"a malformed policy is ignored", Draft06, draft06("7", "0", "0", "7;w="), Trio{Limit: 7}},
		{"remaining is optional", Draft06, draft06("7", "", "1", ""), Trio{Limit: 7, NoRemaining: true, Reset: time.Second}},
		{"white space", Draft06, draft06(" 7\t", " 1 ", " 2 ", ""), Trio{Limit: 7, Remaining: 1, Reset: 2 * time.Second}},
		{"largest", Draft06, draft06("999999999999999", "999999999999999", "315360000", ""), Trio{Limit: 999999999999999, Remaining: 999999999999999, Reset: MaxReset}},
		{"delta", XDelta, xTrio("100", "42", "18"), Trio{Limit: 100, Remaining: 42, Reset: 18 * time.Second}},
		{"epoch", XEpoch, xTrio("100", "42", "1772366418"), Trio{Limit: 100, Remaining: 42, Reset: 18 * time.Second}},
		{"epoch just expired", XEpoch, xTrio("100", "0", "1772366399"), Trio{Limit: 100}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseTrio(tt.h.Get, tt.style, noon)
			if err != nil || got != tt.want {
				t.Errorf("ParseTrio(%v, %v)\n got %+v, %v\nwant %+v", tt.h, tt.style, got, err, tt.want)
			}
		})
	}
}

func draft06(limit, remaining, reset, policy string) http.Header {
	return http.Header{RateLimitLimit: {limit}, RateLimitRemaining: {remaining}, RateLimitReset: {reset}, RateLimitPolicy: {policy}}
}

func xTrio(limit, remaining, reset string) http.Header {
	return http.Header{XRateLimitLimit: {limit}, XRateLimitRemaining: {remaining}, XRateLimitReset: {reset}}
}

// Some senders put an instant where the draft wants a wait, some a wait where
// others put an instant, and some write floats or dates.
func TestParseTrioRejects(t *testing.T) {
	for _, tt := range []struct {
		name  string
		style Styles
		h     http.Header
		want  error
	}{
		{"an instant for a wait", Draft06, draft06("100", "42", "1705420800", ""), ErrMalformed},
		{"a float", Draft06, draft06("100", "42", "12.5", ""), ErrMalformed},
		{"negative remaining", Draft06, draft06("100", "-1", "18", ""), ErrMalformed},
		{"a plus sign", Draft06, draft06("+100", "42", "18", ""), ErrMalformed},
		{"a list", Draft06, draft06("100, 100;w=10", "42", "18", ""), ErrMalformed},
		{"16 digits", Draft06, draft06("1000000000000000", "42", "18", ""), ErrMalformed},
		{"30 digits", Draft06, draft06("100", "42", "999999999999999999999999999999", ""), ErrMalformed},
		{"no limit", Draft06, draft06("", "42", "18", ""), ErrAbsent},
		{"no reset", Draft06, draft06("100", "42", "", ""), ErrAbsent},
		{"nothing", Draft06, http.Header{}, ErrAbsent},
		{"an instant for an X wait", XDelta, xTrio("100", "42", "1772366418"), ErrMalformed},
		{"just too long", XDelta, xTrio("100", "42", "315360001"), ErrMalformed},
		{"no X remaining", XDelta, xTrio("100", "", "18"), ErrAbsent},
		{"nothing of X", XEpoch, http.Header{}, ErrAbsent},
		{"a wait for an instant", XEpoch, xTrio("100", "42", "18"), ErrMalformed},
		{"milliseconds for seconds", XEpoch, xTrio("100", "42", "1772366418000"), ErrMalformed},
		{"the last instant there is", XEpoch, xTrio("100", "42", "999999999999999"), ErrMalformed},
		{"a float of X", XEpoch, xTrio("100", "42", "1772366418.25"), ErrMalformed},
		{"an ISO date", XEpoch, xTrio("100", "42", "2026-03-01T12:00:18Z"), ErrMalformed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseTrio(tt.h.Get, tt.style, noon)
			if got != (Trio{}) || !errors.Is(err, tt.want) {
				t.Errorf("ParseTrio(%v, %v) = %+v, %v, want %v", tt.h, tt.style, got, err, tt.want)
			}
		})
	}
	for _, style := range []Styles{0, DraftC, Draft06 | XEpoch, 1 << 7} {
		if _, err := ParseTrio(http.Header{}.Get, style, noon); err == nil || errors.Is(err, ErrAbsent) {
			t.Errorf("ParseTrio with style %v: %v, want an error about the style", style, err)
		}
	}
}
