package headers

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

func golden() Problem {
	return Problem{
		Type:             TypeQuotaExceeded,
		Title:            TitleQuotaExceeded,
		Status:           429,
		Detail:           DetailRetry(100*time.Millisecond, true),
		ViolatedPolicies: []string{"create-order"},
		RetryAfter:       100 * time.Millisecond,
		HasRetryAfter:    true,
		Limits: []ProblemLimit{
			{Name: "create-order", Limit: 20, HasRemaining: true, Exceeded: true, RetryAfter: 100 * time.Millisecond, HasRetryAfter: true},
			{Name: "per-day", Limit: 1000, Remaining: 37, HasRemaining: true},
		},
	}
}

func TestProblemAppendJSON(t *testing.T) {
	for _, tt := range []struct {
		name string
		p    Problem
		want string
	}{
		{"a denial in full", golden(), `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",` +
			`"title":"Quota Exceeded","status":429,"detail":"Too many requests. Retry in 1 second.",` +
			`"violated-policies":["create-order"],"retry_after_ms":100,` +
			`"limits":{"create-order":{"limit":20,"remaining":0,"exceeded":true,"retry_after_ms":100},` +
			`"per-day":{"limit":1000,"remaining":37,"exceeded":false}}}`},
		{"a denial in short", Problem{Type: TypeQuotaExceeded, Title: TitleQuotaExceeded, Status: 429,
			Detail: DetailRetry(18*time.Second, true), ViolatedPolicies: []string{"burst"}},
			`{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":429,` +
				`"detail":"Too many requests. Retry in 18 seconds.","violated-policies":["burst"]}`},
		{"shedding", Problem{Type: TypeReducedCapacity, Title: TitleReducedCapacity, Status: 503},
			`{"type":"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",` +
				`"title":"Temporary Reduced Capacity","status":503,"violated-policies":[]}`},
		{"penalty", Problem{Type: TypeAbnormalUsage, Title: TitleAbnormalUsage, Status: 429, ViolatedPolicies: []string{"a", "b"}},
			`{"type":"https://iana.org/assignments/http-problem-types#abnormal-usage-detected",` +
				`"title":"Abnormal Usage Detected","status":429,"violated-policies":["a","b"]}`},
		{"the array is never null", Problem{}, `{"violated-policies":[]}`},
		{"a limit that was not asked", Problem{Limits: []ProblemLimit{{Name: "a", Limit: 5}}},
			`{"violated-policies":[],"limits":{"a":{"limit":5,"exceeded":false}}}`},
		{"out of range", Problem{Status: -1, RetryAfter: -1, HasRetryAfter: true,
			Limits: []ProblemLimit{{Name: "a", Limit: math.MaxInt64, Remaining: -1, HasRemaining: true, RetryAfter: math.MaxInt64, HasRetryAfter: true}}},
			`{"violated-policies":[],"retry_after_ms":0,` +
				`"limits":{"a":{"limit":999999999999999,"remaining":0,"exceeded":false,"retry_after_ms":9223372036855}}}`},
		{"characters of HTML stay", Problem{Detail: "<a> & b"}, `{"detail":"<a> & b","violated-policies":[]}`},
		{"escapes", Problem{Detail: "\"\\\n\r\t\x00\x1f\x7f/é\u2028😀"},
			`{"detail":"\"\\\n\r\t\u0000\u001f` + "\x7f/é\u2028😀" + `","violated-policies":[]}`},
		{"not UTF-8", Problem{Detail: "a\xff\xc3(\xed\xa0\x80"}, `{"detail":"a` + "\ufffd\ufffd(\ufffd\ufffd\ufffd" + `","violated-policies":[]}`},
		{"a name that ends in a brace", Problem{Title: "{", ViolatedPolicies: []string{"{"}}, `{"title":"{","violated-policies":["{"]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := string(tt.p.AppendJSON([]byte("x")))
			if got != "x"+tt.want {
				t.Errorf("AppendJSON(%+v)\n got %s\nwant x%s", tt.p, got, tt.want)
			}
			if !json.Valid([]byte(tt.want)) {
				t.Errorf("the wanted text is not JSON: %s", tt.want)
			}
		})
	}
}

func TestContentTypeHasNoCharset(t *testing.T) {
	if got, want := ContentTypeProblem, "application/problem+json"; got != want {
		t.Errorf("ContentTypeProblem = %q, want %q", got, want)
	}
}

// omitempty on a counter drops the one value that matters on a denial.
func TestZeroIsWrittenInTheBody(t *testing.T) {
	p := Problem{HasRetryAfter: true, Limits: []ProblemLimit{{Name: "a", HasRemaining: true, HasRetryAfter: true}}}
	got := string(p.AppendJSON(nil))
	want := `{"violated-policies":[],"retry_after_ms":0,"limits":{"a":{"limit":0,"remaining":0,"exceeded":false,"retry_after_ms":0}}}`
	if got != want {
		t.Errorf("AppendJSON(%+v)\n got %s\nwant %s", p, got, want)
	}
}

// A sub-second wait must not be told as "retry now", nor as a second more.
func TestMillisecondsInTheBodyAreRoundedUp(t *testing.T) {
	for _, tt := range []struct {
		wait time.Duration
		want string
	}{{200 * time.Millisecond, "200"}, {1, "1"}, {1500 * time.Microsecond, "2"}} {
		p := Problem{RetryAfter: tt.wait, HasRetryAfter: true}
		want := `{"violated-policies":[],"retry_after_ms":` + tt.want + `}`
		if got := string(p.AppendJSON(nil)); got != want {
			t.Errorf("wait of %v: %s, want %s", tt.wait, got, want)
		}
	}
}

func TestDetailRetry(t *testing.T) {
	for _, tt := range []struct {
		d    time.Duration
		want string
	}{
		{0, "Too many requests. Retry in 1 second."},
		{100 * time.Millisecond, "Too many requests. Retry in 1 second."},
		{time.Second + 1, "Too many requests. Retry in 2 seconds."},
		{18 * time.Second, "Too many requests. Retry in 18 seconds."},
	} {
		if got := DetailRetry(tt.d, true); got != tt.want {
			t.Errorf("DetailRetry(%v, true) = %q, want %q", tt.d, got, tt.want)
		}
	}
	if got := DetailRetry(time.Second, false); !strings.Contains(got, "Waiting does not help") || strings.Contains(got, "second") {
		t.Errorf("DetailRetry(1s, false) = %q, want it to say that waiting does not help", got)
	}
}

func TestParseProblem(t *testing.T) {
	got, err := ParseProblem(golden().AppendJSON(nil))
	if want := golden(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the golden body reads as\n     %+v, %v\nwant %+v", got, err, want)
	}
	for _, tt := range []struct {
		name, body string
		want       Problem
	}{
		{"nothing", `{}`, Problem{}},
		{"unknown members", `{"status":429,"instance":"/x","traceId":[1,{"a":null}]}`, Problem{Status: 429}},
		{"names are case-sensitive", `{"Status":429,"TITLE":"x"}`, Problem{}},
		{"wrong types are as if absent", `{"type":1,"title":[],"status":"429","detail":null,"violated-policies":"a","retry_after_ms":"5","limits":[1]}`, Problem{}},
		{"floats are as if absent", `{"status":429.5,"retry_after_ms":1.5}`, Problem{}},
		{"negatives are as if absent", `{"status":-1,"retry_after_ms":-1,"limits":{"a":{"limit":-1,"remaining":-1}}}`,
			Problem{Limits: []ProblemLimit{{Name: "a"}}}},
		{"overflow is long, not negative", `{"retry_after_ms":9223372036854775807}`, Problem{RetryAfter: math.MaxInt64, HasRetryAfter: true}},
		{"more digits than an integer holds", `{"retry_after_ms":999999999999999999999999999999}`, Problem{}},
		{"counters are bounded", `{"limits":{"a":{"limit":1000000000000000}}}`, Problem{Limits: []ProblemLimit{{Name: "a", Limit: 999999999999999}}}},
		{"zeros are read", `{"retry_after_ms":0,"limits":{"a":{"limit":1,"remaining":0,"exceeded":true,"retry_after_ms":0}}}`,
			Problem{HasRetryAfter: true, Limits: []ProblemLimit{{Name: "a", Limit: 1, HasRemaining: true, Exceeded: true, HasRetryAfter: true}}}},
		{"limits keep their order", `{"limits":{"z":{"limit":1},"bad":7,"a":{"limit":2},"none":null}}`,
			Problem{Limits: []ProblemLimit{{Name: "z", Limit: 1}, {Name: "a", Limit: 2}}}},
		{"an empty array", `{"violated-policies":[]}`, Problem{ViolatedPolicies: []string{}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseProblem([]byte(tt.body))
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("ParseProblem(%s)\n got %+v, %v\nwant %+v", tt.body, got, err, tt.want)
			}
		})
	}
	for _, body := range []string{``, `null`, `[]`, `"x"`, `{"a":1`, `{}{}`, `<html>`} {
		if got, err := ParseProblem([]byte(body)); !errors.Is(err, ErrMalformed) || !reflect.DeepEqual(got, Problem{}) {
			t.Errorf("ParseProblem(%s) = %+v, %v, want ErrMalformed", body, got, err)
		}
	}
}
