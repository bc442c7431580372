package headers

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
)

// written is what a reader gets back for a name or unit that was given.
func written(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c < ' ' || c > '~' {
			b[i] = '_'
		}
	}
	return string(b)
}

// wholeSeconds is what a reader gets back for a duration that was written.
func wholeSeconds(d time.Duration) time.Duration {
	return scaled(Seconds(d), time.Second)
}

// independently reads value with a parser that is not ours and checks that it
// is one Item with the name and parameters that we meant.
func independently(t *testing.T, value, name string, params map[string]any) {
	t.Helper()
	list, err := httpsfv.UnmarshalList([]string{value})
	if err != nil || len(list) != 1 {
		t.Fatalf("%q is not a list of one: %v, %v", value, list, err)
	}
	item := list[0].(httpsfv.Item)
	if item.Value != name || len(item.Params.Names()) != len(params) {
		t.Errorf("%q: name %q with %d parameters, want %q with %d", value, item.Value, len(item.Params.Names()), name, len(params))
	}
	for key, want := range params {
		if got, _ := item.Params.Get(key); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %s = %v, want %v", value, key, got, want)
		}
	}
}

func FuzzPolicyRoundTrip(f *testing.F) {
	f.Add("burst", int64(100), "", int64(time.Minute), []byte(nil), false)
	f.Add(`a"b\c`, int64(-1), "content-bytes", int64(1500*time.Millisecond), []byte{}, true)
	f.Add("é\r\n", int64(1)<<62, "requests", int64(1)<<62, []byte("App-999"), true)
	f.Add("", int64(0), "request", int64(-1), []byte{0xff, 0xfe}, true)
	f.Fuzz(func(t *testing.T, name string, quota int64, unit string, window int64, key []byte, hasKey bool) {
		p := Policy{Name: name, Quota: quota, Unit: Unit(unit), Window: time.Duration(window)}
		want := Policy{Name: written(name), Quota: clamp(quota), Window: wholeSeconds(p.Window)}
		params := map[string]any{"q": want.Quota}
		if unit != "" && unit != "requests" {
			params["qu"] = written(unit)
			want.Unit = Unit(written(unit))
		}
		if want.Unit == "request" {
			want.Unit = "" // the registry's spelling of the default
		}
		if window > 0 {
			params["w"] = Seconds(p.Window)
		}
		if hasKey {
			p.Partition = append([]byte{}, key...)
			want.Partition, params["pk"] = p.Partition, p.Partition
		}

		value := string(AppendPolicy(nil, p))
		independently(t, value, want.Name, params)
		got, err := ParsePolicies([]string{value, value})
		if err != nil || !reflect.DeepEqual(got, []Policy{want, want}) {
			t.Errorf("%+v, written as %s, reads as\n     %+v, %v\nwant %+v", p, value, got, err, want)
		}
	})
}

func FuzzStatusRoundTrip(f *testing.F) {
	f.Add("default", int64(50), int64(29100*time.Millisecond), true, []byte(nil), false)
	f.Add(`a"b\c`, int64(-3), int64(1), true, []byte{}, true)
	f.Add("\x7f", int64(1)<<62, int64(-1), false, []byte("GET\x1falice"), true)
	f.Fuzz(func(t *testing.T, name string, remaining, reset int64, hasReset bool, key []byte, hasKey bool) {
		s := Status{Name: name, Remaining: remaining, Reset: time.Duration(reset), HasReset: hasReset}
		want := Status{Name: written(name), Remaining: clamp(remaining), HasReset: hasReset}
		params := map[string]any{"r": want.Remaining}
		if hasReset {
			want.Reset = wholeSeconds(s.Reset)
			params["t"] = Seconds(s.Reset)
		}
		if hasKey {
			s.Partition = append([]byte{}, key...)
			want.Partition, params["pk"] = s.Partition, s.Partition
		}

		value := string(AppendStatus(nil, s))
		independently(t, value, want.Name, params)
		got, err := ParseStatuses([]string{string(AppendStatuses(nil, []Status{s, s}))})
		if err != nil || !reflect.DeepEqual(got, []Status{want, want}) {
			t.Errorf("%+v, written as %s, reads as\n     %+v, %v\nwant %+v", s, value, got, err, want)
		}
	})
}

var fieldSeeds = []string{
	`"burst";q=100;w=60, "daily";q=1000;w=86400`,
	`"peruser";q=65535;qu="content-bytes";w=10;pk=:QXBwLTk5OQ==:`,
	`"default";r=50;t=30;a=50;w=30`,
	`"api";a=99;w=60;pk=:R0VUH2FsaWNl:`,
	`"a";r=1;pk=:QQ:, burst;r=1, ("a" "b");r=1`,
	`100;w=60, 10;w=1`,
	`limit=100, remaining=50, reset=5`,
	`"a";q=1.5;x=@1;y=%"%c3%a9";z=?0;b=*t:o/k`,
	`"unterminated;r=1`,
	`"a";w=999999999999999;q=-0`,
}

// checkParsed holds what every parser of lists promises for any lines: either
// nothing and ErrMalformed, or members that are written and read unchanged.
func checkParsed[T any](t *testing.T, lines []string, parse func([]string) ([]T, error), write func([]byte, []T) []byte) {
	t.Helper()
	got, err := parse(lines)
	if err != nil && errors.Is(err, ErrMalformed) == errors.Is(err, ErrDropped) {
		t.Fatalf("%q: %v, want either ErrMalformed or ErrDropped", lines, err)
	}
	if errors.Is(err, ErrMalformed) && got != nil {
		t.Fatalf("%q: %+v beside %v", lines, got, err)
	}
	value := string(write(nil, got))
	again, err := parse([]string{value})
	if err != nil || !reflect.DeepEqual(again, got) {
		t.Errorf("%q reads as %+v,\nwritten as %q, reads as %+v, %v", lines, got, value, again, err)
	}
}

func FuzzParseStatuses(f *testing.F) {
	for _, s := range fieldSeeds {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		checkParsed(t, []string{a}, ParseStatuses, AppendStatuses)
		checkParsed(t, []string{a, b}, ParseStatuses, AppendStatuses)
	})
}

func FuzzParsePolicies(f *testing.F) {
	for _, s := range fieldSeeds {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		checkParsed(t, []string{a}, ParsePolicies, AppendPolicies)
		checkParsed(t, []string{a, b}, ParsePolicies, AppendPolicies)
	})
}

func FuzzParseDraft06Policies(f *testing.F) {
	for _, s := range fieldSeeds {
		f.Add(s)
	}
	// Quotas may repeat in what we read and may not in what we write, so each
	// member is written by itself.
	write := func(dst []byte, ps []Policy) []byte {
		for i, p := range ps {
			if i > 0 {
				dst = append(dst, separator...)
			}
			dst = AppendDraft06Policy(dst, p.Quota, p.Window)
		}
		return dst
	}
	f.Fuzz(func(t *testing.T, line string) {
		checkParsed(t, []string{line}, ParseDraft06Policies, write)
	})
}

func FuzzParseTrio(f *testing.F) {
	f.Add("100", "42", "18", "100;w=60")
	f.Add("100", "", "1772366418", "x")
	f.Add("-1", "1.5", "999999999999999999999", "")
	f.Fuzz(func(t *testing.T, limit, remaining, reset, policy string) {
		in := draft06(limit, remaining, reset, policy)
		for k, v := range xTrio(limit, remaining, reset) {
			in[k] = v
		}
		for _, style := range []Styles{Draft06, XEpoch, XDelta} {
			trio, err := ParseTrio(in.Get, style, noon)
			if err != nil {
				continue
			}
			if trio.Limit < 0 || trio.Remaining < 0 || trio.Reset < 0 || trio.Reset > MaxReset {
				t.Fatalf("%v of %v: %+v", style, in, trio)
			}
			out := http.Header{}
			trio.Set(out, style, noon)
			if again, err := ParseTrio(out.Get, style, noon); err != nil || again != trio {
				t.Errorf("%v: %+v, written as %v, reads as %+v, %v", style, trio, out, again, err)
			}
		}
	})
}

// valid is what a reader of JSON gets back for a string that was given.
func valid(s string) string {
	return string([]rune(s)) // each byte that is not UTF-8 becomes U+FFFD
}

func FuzzProblem(f *testing.F) {
	f.Add(TypeQuotaExceeded, TitleQuotaExceeded, 429, "Retry.", "burst", int64(100), int64(20), []byte(`{"limits":{"a":{"limit":1}}}`))
	f.Add("\xff", "<&>\u2028", -1, "\x00\x1f\"\\\n", "é\xc3", int64(-1), int64(-1), []byte(`{"status":1e2,"limits":{"a":1,"a":{}}}`))
	f.Add("", "{", 0, "}", "", int64(1)<<62, int64(1)<<62, []byte(`{"type":"\ud800","violated-policies":[null]}`))
	f.Fuzz(func(t *testing.T, typ, title string, status int, detail, name string, wait, n int64, body []byte) {
		p := Problem{
			Type: typ, Title: title, Status: status, Detail: detail, ViolatedPolicies: []string{name},
			RetryAfter: time.Duration(wait), HasRetryAfter: true,
			Limits: []ProblemLimit{{Name: name, Limit: n, Remaining: n, HasRemaining: true}},
		}
		wire := p.AppendJSON(nil)
		var m map[string]any
		if err := json.Unmarshal(wire, &m); err != nil {
			t.Fatalf("%+v is written as %s: %v", p, wire, err)
		}
		if got, _ := m["detail"].(string); got != valid(detail) {
			t.Errorf("detail %q reads as %q", detail, got)
		}
		want := Problem{
			Type: valid(typ), Title: valid(title), Status: max(0, status), Detail: valid(detail), ViolatedPolicies: []string{valid(name)},
			RetryAfter: scaled(Millis(p.RetryAfter), time.Millisecond), HasRetryAfter: true,
			Limits: []ProblemLimit{{Name: valid(name), Limit: clamp(n), Remaining: clamp(n), HasRemaining: true}},
		}
		if got, err := ParseProblem(wire); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s reads as\n     %+v, %v\nwant %+v", wire, got, err, want)
		}
		checkProblem(t, body)
	})
}

func FuzzParseProblem(f *testing.F) {
	f.Add(golden().AppendJSON(nil))
	f.Add([]byte(`{"limits":{"a":{"limit":1,"remaining":null}},"violated-policies":["a",2]}`))
	f.Fuzz(checkProblem)
}

// checkProblem holds what ParseProblem promises for any body.
func checkProblem(t *testing.T, body []byte) {
	p, err := ParseProblem(body)
	if err != nil {
		if !errors.Is(err, ErrMalformed) {
			t.Errorf("ParseProblem(%q): %v, want ErrMalformed", body, err)
		}
		return
	}
	wire := p.AppendJSON(nil)
	if p.ViolatedPolicies == nil {
		p.ViolatedPolicies = []string{}
	}
	if again, err := ParseProblem(wire); err != nil || !reflect.DeepEqual(again, p) {
		t.Errorf("%q reads as %+v,\nwritten as %s, reads as %+v, %v", body, p, wire, again, err)
	}
}
