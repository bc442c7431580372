package headers

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseStyles(t *testing.T) {
	for _, tt := range []struct {
		names []string
		want  Styles
	}{
		{[]string{"ratelimit"}, DraftC},
		{[]string{"ratelimit-draft-06"}, Draft06},
		{[]string{"x-ratelimit-epoch"}, XEpoch},
		{[]string{"x-ratelimit-delta"}, XDelta},
		{[]string{"x-ratelimit-delta", "ratelimit"}, DraftC | XDelta},
		{[]string{"ratelimit-draft-06", "x-ratelimit-epoch"}, Draft06 | XEpoch},
		{[]string{"none"}, 0},
		{nil, 0},
	} {
		got, err := ParseStyles(tt.names)
		if err != nil || got != tt.want {
			t.Errorf("ParseStyles(%q) = %v, %v, want %v", tt.names, got, err, tt.want)
		}
		if err := got.Validate(); err != nil {
			t.Errorf("ParseStyles(%q).Validate() = %v", tt.names, err)
		}
	}
}

// The generations share a field name with two bodies, so one file may not ask
// for both; the message names both, because either may be the mistake.
func TestParseStylesNamesTheConflict(t *testing.T) {
	for _, tt := range []struct {
		names []string
		want  []string
	}{
		{[]string{"ratelimit", "ratelimit-draft-06"}, []string{`"ratelimit" and "ratelimit-draft-06"`, "RateLimit-Policy"}},
		{[]string{"x-ratelimit-delta", "x-ratelimit-epoch"}, []string{`"x-ratelimit-epoch" and "x-ratelimit-delta"`, "X-RateLimit-Reset"}},
		{[]string{"ratelimit", "ratelimit"}, []string{`"ratelimit" is listed twice`}},
		{[]string{"none", "none"}, []string{`"none" is listed twice`}},
		{[]string{"none", "ratelimit", "x-ratelimit-epoch"}, []string{`"none" cannot stand beside ratelimit, x-ratelimit-epoch`}},
		{[]string{"RateLimit"}, []string{`"RateLimit" is unknown`, "x-ratelimit-delta or none"}},
		{[]string{""}, []string{`"" is unknown`}},
		{[]string{"ratelimit", "oops", "ratelimit-draft-06", "none"}, []string{`"oops" is unknown`, "different bodies", `"none" cannot`}},
	} {
		s, err := ParseStyles(tt.names)
		if s != 0 || err == nil {
			t.Errorf("ParseStyles(%q) = %v, %v, want no styles and an error", tt.names, s, err)
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("ParseStyles(%q): %v, want it to say %s", tt.names, err, want)
			}
		}
	}
}

func TestStylesValidate(t *testing.T) {
	for _, tt := range []struct {
		s    Styles
		want []string // nil: valid
	}{
		{0, nil},
		{DraftC | XEpoch, nil},
		{Draft06 | XDelta, nil},
		{DraftC | Draft06, []string{"ratelimit-draft-06"}},
		{XEpoch | XDelta, []string{"x-ratelimit-epoch"}},
		{DraftC | Draft06 | XEpoch | XDelta, []string{"different bodies", "different meanings"}},
		{1 << 6, []string{"0x40"}},
	} {
		err := tt.s.Validate()
		if (err == nil) != (tt.want == nil) {
			t.Errorf("Styles(%#x).Validate() = %v, want an error with %q", uint8(tt.s), err, tt.want)
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("Styles(%#x).Validate() = %v, want it to say %s", uint8(tt.s), err, want)
			}
		}
	}
}

func TestStylesNames(t *testing.T) {
	for s := Styles(0); s < 1<<4; s++ {
		if s.Validate() != nil {
			continue
		}
		if got, err := ParseStyles(s.Names()); err != nil || got != s {
			t.Errorf("ParseStyles(%q) = %v, %v, want %v back", s.Names(), got, err, s)
		}
	}
	if got, want := (DraftC | XDelta).String(), "ratelimit, x-ratelimit-delta"; got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
	if got, want := Styles(0).Names(), []string{"none"}; !reflect.DeepEqual(got, want) {
		t.Errorf("Names() of the empty set = %q, want %q", got, want)
	}
}
