package headers

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
)

func TestParsePolicies(t *testing.T) {
	burst := Policy{Name: "burst", Quota: 100, Window: time.Minute}
	daily := Policy{Name: "daily", Quota: 1000, Window: 24 * time.Hour}
	for _, tt := range []struct {
		name  string
		lines []string
		want  []Policy
	}{
		{"two policies", []string{`"burst";q=100;w=60, "daily";q=1000;w=86400`}, []Policy{burst, daily}},
		{"no space after the comma", []string{`"burst";q=100;w=60,"daily";q=1000;w=86400`}, []Policy{burst, daily}},
		{"two lines", []string{`"burst";q=100;w=60`, `"daily";q=1000;w=86400`}, []Policy{burst, daily}},
		{"unit and partition", []string{`"peruser";q=65535;qu="content-bytes";w=10;pk=:QXBwLTk5OQ==:`},
			[]Policy{{Name: "peruser", Quota: 65535, Unit: ContentBytes, Window: 10 * time.Second, Partition: []byte("App-999")}}},
		{"concurrency", []string{`"inflight";q=10;qu="concurrent-requests"`},
			[]Policy{{Name: "inflight", Quota: 10, Unit: ConcurrentRequests}}},
		{"escapes", []string{`"a\"b\\c";q=0;w=2`}, []Policy{{Name: `a"b\c`, Window: 2 * time.Second}}},
		{"empty partition", []string{`"x";q=1;w=1;pk=::`},
			[]Policy{{Name: "x", Quota: 1, Window: time.Second, Partition: []byte{}}}},
		{"vendor parameter", []string{`"a";q=1;w=60;acme-burst=5`}, []Policy{{Name: "a", Quota: 1, Window: time.Minute}}},
		{"space after the semicolon", []string{`"burst"; q=100; w=60`}, []Policy{burst}},
		{"duplicate parameter: the last", []string{`"a";q=100;q=5`}, []Policy{{Name: "a", Quota: 5}}},
		{"leading zeros", []string{`"a";q=007`}, []Policy{{Name: "a", Quota: 7}}},
		{"the text's default unit", []string{`"a";q=1;qu="requests"`}, []Policy{{Name: "a", Quota: 1}}},
		{"the registry's default unit", []string{`"a";q=1;qu="request"`}, []Policy{{Name: "a", Quota: 1}}},
		{"unknown unit", []string{`"a";q=1;qu="acme-units"`}, []Policy{{Name: "a", Quota: 1, Unit: "acme-units"}}},
		{"empty name", []string{`"";q=1`}, []Policy{{Quota: 1}}},
		{"tabs around the comma", []string{"\"a\";q=1\t,\t\"b\";q=2"}, []Policy{{Name: "a", Quota: 1}, {Name: "b", Quota: 2}}},
		{"white space around the value", []string{"\t \"a\";q=1 \t"}, []Policy{{Name: "a", Quota: 1}}},
		{"the longest window is not negative", []string{`"a";q=999999999999999;w=999999999999999`},
			[]Policy{{Name: "a", Quota: 999999999999999, Window: math.MaxInt64}}},
		{"no line", nil, nil},
		{"a blank line", []string{" "}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParsePolicies(tt.lines)
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("ParsePolicies(%q)\n got %#v, %v\nwant %#v, nil", tt.lines, got, err, tt.want)
			}
		})
	}
}

func TestParseStatuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		line string
		want []Status
	}{
		{"one", `"default";r=50;t=30`, []Status{{Name: "default", Remaining: 50, Reset: 30 * time.Second, HasReset: true}}},
		{"two, one without reset", `"hour";r=0;t=1, "inflight";r=3`,
			[]Status{{Name: "hour", Reset: time.Second, HasReset: true}, {Name: "inflight", Remaining: 3}}},
		{"partition", `"default";r=999;pk=:dHJpYWwxMjEzMjM=:`,
			[]Status{{Name: "default", Remaining: 999, Partition: []byte("trial121323")}}},
		{"the largest number", `"big";r=999999999999999`, []Status{{Name: "big", Remaining: 999999999999999}}},
		{"reset of zero", `"a";r=0;t=0`, []Status{{Name: "a", HasReset: true}}},
		{"next generation", `"api";a=99;w=60;pk=:R0VUH2FsaWNl:`,
			[]Status{{Name: "api", Remaining: 99, Reset: time.Minute, HasReset: true, Partition: []byte("GET\x1falice")}}},
		{"next generation, no reset", `"api";a=99`, []Status{{Name: "api", Remaining: 99}}},
		{"both generations in one member", `"default";r=50;t=30;a=51;w=31`,
			[]Status{{Name: "default", Remaining: 50, Reset: 30 * time.Second, HasReset: true}}},
		{"w beside r is a comment", `"default";r=50;w=30`, []Status{{Name: "default", Remaining: 50}}},
		{"t beside a is a comment", `"default";a=50;t=30`, []Status{{Name: "default", Remaining: 50}}},
		{"an absurd reset is long, not negative", `"a";r=1;t=999999999999999`,
			[]Status{{Name: "a", Remaining: 1, Reset: math.MaxInt64, HasReset: true}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseStatuses([]string{tt.line})
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("ParseStatuses(%q)\n got %#v, %v\nwant %#v, nil", tt.line, got, err, tt.want)
			}
		})
	}
}

// The drafts' own examples have Byte Sequences with pad bits set, and some
// senders leave the padding out.
func TestPartitionEncodingIsTolerated(t *testing.T) {
	for _, tt := range []struct {
		name, pk string
		want     []byte
	}{
		{"pad bits set, from the draft", ":cHsdsRa894==:", []byte{0x70, 0x7b, 0x1d, 0xb1, 0x16, 0xbc, 0xf7}},
		{"pad bits set, from the draft too", ":sdfjLJUOUH==:", []byte{0xb1, 0xd7, 0xe3, 0x2c, 0x95, 0x0e, 0x50}},
		{"no padding, two missing", ":QXBwLTk5OQ:", []byte("App-999")},
		{"no padding, one missing", ":dHJpYWwxMjEzMjM:", []byte("trial121323")},
		{"no padding and pad bits set", ":QR:", []byte("A")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			line := `"a:b:c";q=1;v=%"\";pk=` + tt.pk + `;x=tok:QQ:en;y=%"\";z=*:QQ:`
			ps, err := ParsePolicies([]string{line})
			if err != nil || len(ps) != 1 || !reflect.DeepEqual(ps[0].Partition, tt.want) {
				t.Fatalf("ParsePolicies(%q) = %#v, %v, want partition %x", line, ps, err, tt.want)
			}
			if ps[0].Name != "a:b:c" {
				t.Errorf("name = %q, want the colons of a String untouched", ps[0].Name)
			}
			ss, err := ParseStatuses([]string{`"a";r=1;pk=` + tt.pk})
			if err != nil || len(ss) != 1 || !reflect.DeepEqual(ss[0].Partition, tt.want) {
				t.Errorf("ParseStatuses with pk=%s = %#v, %v, want partition %x", tt.pk, ss, err, tt.want)
			}
		})
	}
}

// What is not one List is ignored as a whole, however good its beginning.
func TestMalformedFieldsAreRejectedWhole(t *testing.T) {
	for _, tt := range []struct {
		name string
		line string
	}{
		{"space before the semicolon", `"burst" ;q=100`},
		{"space around the equals sign", `"burst";q = 100`},
		{"upper-case key", `"burst";Q=100`},
		{"trailing comma", `"a";q=100,`},
		{"empty member", `"a";q=1,,"b";q=1`},
		{"16 digits", `"a";q=1000000000000000`},
		{"escape that is none", `"a\n";q=1`},
		{"a real line feed", "\"a\n\";q=1"},
		{"not ASCII", `"naïve";q=1`},
		{"url-safe base64", `"a";q=1;pk=:AQ_-:`},
		{"url-safe base64 without padding", `"a";q=1;pk=:A_:`},
		{"part of the padding", `"a";q=1;pk=:AQ=:`},
		{"base64 of impossible length", `"a";q=1;pk=:A:`},
		{"padding amid the bytes", `"a";q=1;pk=:A=QA:`},
		{"Byte Sequence without colons", `"a";q=1;pk=dXNlcg==`},
		{"Byte Sequence without an end", `"a";q=1;pk=:AQ`},
		{"Byte Sequence of one colon", `"a";q=1;pk=:`},
		{"single quotes", `'a';q=1`},
		{"unterminated String", `"unterminated;r=1`},
		{"unterminated escape", `"a\`},
		{"unterminated String before a colon", `"a\":`},
		{"no value", `"a";r=`},
		{"key that starts with a digit", `"a";1r=5`},
		{"missing comma", `"a" "b"`},
		{"revision 07's Dictionary", `limit=100, remaining=50, reset=5`},
		{"unterminated Display String", `"a";q=1;x=%":`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines := []string{`"good";q=1;r=1, ` + tt.line}
			if ps, err := ParsePolicies(lines); ps != nil || !errors.Is(err, ErrMalformed) || errors.Is(err, ErrDropped) {
				t.Errorf("ParsePolicies(%q) = %+v, %v, want none and ErrMalformed", lines, ps, err)
			}
			if ss, err := ParseStatuses(lines); ss != nil || !errors.Is(err, ErrMalformed) || errors.Is(err, ErrDropped) {
				t.Errorf("ParseStatuses(%q) = %+v, %v, want none and ErrMalformed", lines, ss, err)
			}
		})
	}
}

// A String that runs on into the next line would hide the limits between.
func TestMembersMayNotBeSplitOverLines(t *testing.T) {
	for _, lines := range [][]string{
		{`"a`, `b";q=1`},
		{`"a";q=1`, `;w=2`},
		{`"a";q=1,`, `"b";q=2`},
		{`"a";q=1`, ``},
		{``, `"a";q=1`},
		{``, ``},
	} {
		if ps, err := ParsePolicies(lines); ps != nil || !errors.Is(err, ErrMalformed) {
			t.Errorf("ParsePolicies(%q) = %+v, %v, want none and ErrMalformed", lines, ps, err)
		}
	}
}

// A member that breaks the draft's rules spoils itself and nothing else.
func TestBadMembersAreDroppedAlone(t *testing.T) {
	for _, tt := range []struct {
		name         string
		member, want string
	}{
		{"Token for a name", `burst;q=100`, "name is a Token"},
		{"String for q", `"a";q="100"`, "q is a String"},
		{"Decimal for q", `"a";q=100.0`, "q is a Decimal"},
		{"negative q", `"a";q=-1`, "q is -1, want 0 or more"},
		{"q without value", `"a";q`, "q is a Boolean"},
		{"Byte Sequence for q", `"a";q=:AQ==:`, "q is a Byte Sequence"},
		{"Date for q", `"a";q=@1`, "q is a Date"},
		{"Display String for q", `"a";q=%"x"`, "q is a Display String"},
		{"no q", `"a";w=60`, "q is missing"},
		{"w of zero", `"a";q=1;w=0`, "w is 0, want 1 or more"},
		{"Decimal for w", `"a";q=1;w=1.5`, "w is a Decimal"},
		{"Token for qu", `"a";q=1;qu=requests`, "qu is a Token"},
		{"String for pk", `"a";q=1;pk="x"`, "pk is a String"},
		{"Inner List", `("a" "b");q=1`, "Inner List"},
		{"revision 06's policy", `100;w=60`, "name is an Integer"},
		{"partition field of the next generation", `"api";user_id;method`, "q is missing"},
		{"partition field with a fixed value", `"reads";user_id;method=GET`, "q is missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParsePolicies([]string{`"good";q=1, ` + tt.member + `, "fine";q=2`})
			want := []Policy{{Name: "good", Quota: 1}, {Name: "fine", Quota: 2}}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("ParsePolicies with %s kept %+v, want %+v", tt.member, got, want)
			}
			checkDropped(t, tt.member, err, "member 1: ", tt.want)
		})
	}
}

func TestBadStatusesAreDroppedAlone(t *testing.T) {
	for _, tt := range []struct {
		name         string
		member, want string
	}{
		{"Token for a name", `burst;r=1`, "name is a Token"},
		{"no r", `"a";t=5`, "r is missing"},
		{"negative r", `"a";r=-1`, "r is -1"},
		{"Decimal for t", `"a";r=5;t=1.5`, "t is a Decimal"},
		{"negative t", `"a";r=5;t=-1`, "t is -1"},
		{"negative a", `"a";a=-1`, "a is -1"},
		{"bad r beside a good a", `"a";r=1.5;a=1`, "r is a Decimal"},
		{"Inner List", `("a");r=1`, "Inner List"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseStatuses([]string{tt.member, `"fine";r=2`})
			if want := []Status{{Name: "fine", Remaining: 2}}; !reflect.DeepEqual(got, want) {
				t.Errorf("ParseStatuses with %s kept %+v, want %+v", tt.member, got, want)
			}
			checkDropped(t, tt.member, err, "member 0: ", tt.want)
		})
	}
}

func checkDropped(t *testing.T, member string, err error, want ...string) {
	t.Helper()
	if !errors.Is(err, ErrDropped) || errors.Is(err, ErrMalformed) {
		t.Fatalf("parsing %s: %v, want ErrDropped", member, err)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("parsing %s: %v, want it to say %q", member, err, w)
		}
	}
}

func TestAPeerCannotMakeAnEndlessError(t *testing.T) {
	line := strings.Repeat("a, ", 5000) + "a"
	ps, err := ParsePolicies([]string{line})
	checkDropped(t, "5001 Tokens", err, "5001 members dropped", "member 7: ")
	if len(ps) != 0 || len(err.Error()) > 1000 {
		t.Errorf("kept %d policies with an error of %d bytes, want 0 and at most 1000", len(ps), len(err.Error()))
	}
}

// Adding padding must change nothing but Byte Sequences that lack it.
func FuzzPadding(f *testing.F) {
	for _, s := range []string{
		`"a:b:";q=1;pk=:QQ==:`, `tok:QQ:en;x=:QQ==:`, `%"a:QQ:b", ("x" :QQ==:);y=*:QQ:`, `"\":QQ:";q`, `1;a=*:QQ:`,
		`%"\", ":QQ:", tok`, `1:QQ:`, `:QQ:`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		want, err := httpsfv.UnmarshalList([]string{line})
		if err != nil {
			return
		}
		got, err := httpsfv.UnmarshalList([]string{padByteSequences(line)})
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q padded to %q reads as %+v, %v, want %+v", line, padByteSequences(line), got, err, want)
		}
	})
}
