package headers

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A Trio is what the single-valued styles say of one policy, the tightest.
type Trio struct {
	// Limit is the policy's quota, and Remaining what is left of it. Both are
	// written within 0..999999999999999, and also when they are 0.
	Limit, Remaining int64
	// NoRemaining leaves Remaining out, for an answer given without knowing
	// it. Revision 06 allows that.
	NoRemaining bool
	// Reset is the time until more is left, rounded up to seconds. Negative: 0.
	Reset time.Duration
	// Window is told by Draft06 only, in RateLimit-Policy. Zero: not told.
	Window time.Duration
}

// MaxReset is the longest wait, and the farthest instant from now on either
// side, that [ParseTrio] believes: ten years. No quota lasts as long, and as a number
// of seconds it is less than any Unix time since 1980, so a peer that sends an
// instant where a wait belongs, or the reverse, is found out.
const MaxReset = 10 * 365 * 24 * time.Hour

// Set sets the fields of the styles in s that are trios and replaces what was
// there: these fields hold one value, and a second line makes them unreadable.
// now is the instant that Reset counts from; only [XEpoch] uses it, and rounds
// the sum up to the second. s must be valid.
//
// With [Draft06] the RateLimit-Policy lists this policy alone, or is removed if
// Window is zero. To list several, set it afterwards from
// [AppendDraft06Policies].
//
// The values share one array, which h may keep and append to.
func (t Trio) Set(h http.Header, s Styles, now time.Time) {
	v := t.text(now)
	w := fieldWriter{h: h, values: make([]string, 0, 7)}
	if s&Draft06 != 0 {
		w.set(RateLimitLimit, v.limit)
		w.set(RateLimitRemaining, v.remaining)
		w.set(RateLimitReset, v.delta)
		w.set(RateLimitPolicy, v.policy)
	}
	if s&(XEpoch|XDelta) != 0 {
		reset := v.delta
		if s&XEpoch != 0 {
			reset = v.epoch
		}
		w.set(XRateLimitLimit, v.limit)
		w.set(XRateLimitRemaining, v.remaining)
		w.set(XRateLimitReset, reset)
	}
}

// trioText holds the written numbers, "" for one that is not told.
type trioText struct{ limit, remaining, delta, epoch, policy string }

// text writes every number into one string and cuts it up: one allocation.
func (t Trio) text(now time.Time) trioText {
	var ends [4]int
	b := appendInteger(make([]byte, 0, 96), t.Limit)
	ends[0] = len(b)
	if !t.NoRemaining {
		b = appendInteger(b, t.Remaining)
	}
	ends[1] = len(b)
	b = appendInteger(b, Seconds(t.Reset))
	ends[2] = len(b)
	b = appendInteger(b, epoch(now.Add(max(0, t.Reset))))
	ends[3] = len(b)
	if t.Window > 0 {
		b = AppendDraft06Policy(b, t.Limit, t.Window)
	}
	s := string(b)
	return trioText{s[:ends[0]], s[ends[0]:ends[1]], s[ends[1]:ends[2]], s[ends[2]:ends[3]], s[ends[3]:]}
}

// epoch returns the first whole second of Unix time that is not before at.
func epoch(at time.Time) int64 {
	if at.Nanosecond() > 0 {
		return at.Unix() + 1
	}
	return at.Unix()
}

// A fieldWriter sets many fields and allocates one slice for all of them.
type fieldWriter struct {
	h      http.Header
	values []string
}

// set replaces the field at key, or removes it if value is "": an old number
// must not stay beside new ones, and an empty one says nothing.
func (w *fieldWriter) set(key, value string) {
	if value == "" {
		delete(w.h, key)
		return
	}
	n := len(w.values)
	w.values = append(w.values, value)
	// The capacity ends with the value, so that an Add by a later handler
	// copies and does not overwrite the next field.
	w.h[key] = w.values[n : n+1 : n+1]
}

// ParseTrio reads the trio of style, which must be one of [Draft06], [XEpoch]
// and [XDelta]. get returns a field's value or "", as the Get of http.Header
// does; it is called with this package's constants.
//
// Limit and Reset are required, and Remaining too unless style is Draft06: an
// error matches [ErrAbsent] if one was not sent, and [ErrMalformed] if one is
// not a whole number of 0 to 999999999999999 or if Reset is farther off than
// [MaxReset]. An instant in the past gives a Reset of 0. Window is set if
// RateLimit-Policy tells it; that field being malformed is no error, as only
// itself is to be ignored then.
func ParseTrio(get func(string) string, style Styles, now time.Time) (Trio, error) {
	r := trioReader{get: get}
	switch style {
	case Draft06:
		return r.draft06()
	case XEpoch:
		return r.xTrio(func(n int64) (time.Duration, bool) { return sinceEpoch(n, now) })
	case XDelta:
		return r.xTrio(delta)
	}
	return Trio{}, fmt.Errorf("headers: style is %s, want one that is a trio", style)
}

// A trioReader reads numbers and remembers the first error.
type trioReader struct {
	get func(string) string
	err error
}

func (r *trioReader) draft06() (Trio, error) {
	var t Trio
	t.NoRemaining = strings.Trim(r.get(RateLimitRemaining), " \t") == ""
	t.Limit = r.number(RateLimitLimit)
	if !t.NoRemaining {
		t.Remaining = r.number(RateLimitRemaining)
	}
	t.Reset = r.reset(RateLimitReset, delta)
	if r.err != nil {
		return Trio{}, r.err
	}
	t.Window = r.window(t.Limit)
	return t, nil
}

func (r *trioReader) xTrio(convert func(int64) (time.Duration, bool)) (Trio, error) {
	t := Trio{
		Limit:     r.number(XRateLimitLimit),
		Remaining: r.number(XRateLimitRemaining),
		Reset:     r.reset(XRateLimitReset, convert),
	}
	if r.err != nil {
		return Trio{}, r.err
	}
	return t, nil
}

// maxDigits is how many digits a structured Integer may have.
const maxDigits = 15

func (r *trioReader) number(field string) int64 {
	text := strings.Trim(r.get(field), " \t")
	if text == "" {
		r.fail(field, ErrAbsent, "want a number")
		return 0
	}
	n, ok := digits(text)
	if !ok || len(text) > maxDigits {
		r.fail(field, ErrMalformed, "want 1 to "+strconv.Itoa(maxDigits)+" digits")
		return 0
	}
	return n
}

func (r *trioReader) reset(field string, convert func(int64) (time.Duration, bool)) time.Duration {
	d, ok := convert(r.number(field))
	if !ok {
		r.fail(field, ErrMalformed, "farther off than any quota lasts")
	}
	return d
}

func (r *trioReader) fail(field string, kind error, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("headers: %s is %w: %s", field, kind, want)
	}
}

// window finds the policy that limit belongs to. Quotas are unique there.
func (r *trioReader) window(limit int64) time.Duration {
	ps, _ := ParseDraft06Policies([]string{r.get(RateLimitPolicy)}) // what is dropped is not the one we seek
	for _, p := range ps {
		if p.Quota == limit {
			return p.Window
		}
	}
	return 0
}

func delta(n int64) (time.Duration, bool) {
	d := scaled(n, time.Second)
	return d, d <= MaxReset
}

func sinceEpoch(n int64, now time.Time) (time.Duration, bool) {
	d := time.Unix(n, 0).Sub(now) // saturates
	return max(0, d), -MaxReset <= d && d <= MaxReset
}

// digits reads 1*DIGIT and nothing else: no sign, no space, no point. A number
// above maxInteger is maxInteger.
func digits(s string) (n int64, ok bool) {
	for i := range len(s) {
		c := s[i]
		if c < '0' || c > '9' {
			return 0, false
		}
		n = min(n*10+int64(c-'0'), maxInteger)
	}
	return n, s != ""
}
