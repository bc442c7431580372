package config

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const small = "version: 1\nlimits:\n  - name: a\n    limit: 5/s\n"

func TestLineEndsAndMarksDoNotMatter(t *testing.T) {
	want := fmt.Sprintf("%+v", parse(t, small))
	for what, source := range map[string]string{
		"CRLF":            strings.ReplaceAll(small, "\n", "\r\n"),
		"CR":              strings.ReplaceAll(small, "\n", "\r"),
		"byte order mark": "\ufeff" + small,
		"no last newline": strings.TrimSuffix(small, "\n"),
		"document marks":  "---\n" + small + "...\n",
		"comments":        "# one\n\n" + small + "# two\n",
		"tabs behind":     strings.ReplaceAll(small, "\n", "\t# a\n"),
		"JSON":            `{"version": 1, "limits": [{"name": "a", "limit": "5\/s"}]}`,
		"JSON with tabs":  "{\n\t\"version\": 1,\n\t\"limits\": [\n\t\t{\"name\": \"a\", \"limit\": \"5/\\u0073\"}\n\t]\n}\n",
	} {
		if got := fmt.Sprintf("%+v", parse(t, source)); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", what, got, want)
		}
	}
}

func TestLinesAreCountedAsEditorsDo(t *testing.T) {
	for what, source := range map[string]string{
		"CRLF":            "version: 1\r\n\r\n# a\r\nlimits: 5\r\n",
		"CR":              "version: 1\r\r# a\rlimits: 5\r",
		"byte order mark": "\ufeffversion: 1\n\n# a\nlimits: 5\n",
		"long text":       "version: 1\ndefault_tier: \"a\n  b\"\nlimits: 5\n",
		"block text":      "version: 1\ndefault_tier: |\n  a\nlimits: 5\n",
		"flow":            "{version: 1,\n\n\nlimits: 5}\n",
		"value below":     "version: 1\n\nlimits:\n  5\n",
	} {
		_, err := Parse("f", []byte(source))
		if want := "f:4: limits: is 5, want a list"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", what, err, want)
		}
	}
}

func TestWhatIsNoTextIsRefused(t *testing.T) {
	for what, tt := range map[string]struct{ source, want string }{
		"nothing":           {"", "f:1: is empty, want version: 1 and limits"},
		"blank lines":       {"\n\n\n", "f:1: is empty, want version: 1 and limits"},
		"null":              {"~\n", "f:1: is empty, want version: 1 and limits"},
		"a word":            {"# a\nlimits\n", `f:2: is "limits", want a mapping with version and limits`},
		"a list":            {"# a\n- limits\n", "f:2: is a list, want a mapping with version and limits"},
		"a bare key":        {": a\n", "f:1: is not valid YAML: unexpected key name"},
		"other encoding":    {"version: 1\n# caf\xe9\n", "f:2: is not UTF-8, want text in that encoding"},
		"UTF-16":            {"\xff\xfev\x00e\x00", "f:1: is not UTF-8, want text in that encoding"},
		"NUL":               {"version: 1\nlimits: \x00\n", "f:2: has the control character U+0000, want text"},
		"DEL":               {"version: 1\nlimits: \x7f\n", "f:2: has the control character U+007F, want text"},
		"mark in the midst": {"version: 1\n\ufefflimits: []\n", "f:2: has the control character U+FEFF, want text"},
		"replacement rune":  {"version: 1\nlimits: \"\ufffd\"\n", "f:2: limits: is \"\ufffd\", want a list"},
	} {
		_, err := Parse("f", []byte(tt.source))
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", what, err, tt.want)
		}
	}
}

// What the parser says of tabs and indentation has nothing to do with quotes.
func TestHintsFitTheMistake(t *testing.T) {
	const deeper = "begin in one column"
	for source, want := range map[string]string{
		"limits:\n\t- name: a\n":                   "f:2: is not valid YAML: found character '\\t' that cannot start any token (indent with spaces)",
		"limits:\n  - name: a\n\tlimit: 5/s\n":     "(indent with spaces)",
		"limits:\n  - name: a\n  limit: 5/s\n":     deeper,
		"limits:\n  - name: a\n   limit: 5/s\n":    deeper,
		"limits:\n  - name: a\n - name: b\n":       deeper,
		"limits:\n  - name: a\n      limit: 5/s\n": "a key begins in the column of its neighbours",
		"limits:\n  - name: a: b\n":                "text with \": \" in it wants quotes",
		"version: 1\nlimits\n":                     "want key: value",
		"limits:\n  - name a\n    limit: 5/s\n":    "want key: value",
		"limits:\n  - match: [GET /{id}]\n":        "text with : { } [ ] , * or # in it wants quotes",
		"limits:\n  - name: @a\n":                  "text with : { } [ ] , * or # in it wants quotes",
		"limits:\n  - name: \"a\n":                 "could not find end character of double-quoted text",
	} {
		_, err := Parse("f", []byte(source))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "(") > 1 {
			t.Errorf("%q: got %v, want %s", source, err, want)
		}
	}
}

// Each of these would take the parser seconds, gigabytes or the stack.
func TestSizesAreBounded(t *testing.T) {
	var tiers, list strings.Builder
	for i := range maxTiers + 1 {
		fmt.Fprintf(&tiers, "t%d: 1/s, ", i)
		fmt.Fprintf(&list, "t%d, ", i)
	}
	holes := strings.Repeat("- a:\n", maxHoles+2)
	for what, tt := range map[string]struct{ source, want string }{
		"a large file":        {strings.Repeat("#", MaxBytes+1), "f:1: is larger than 1048576 bytes"},
		"open brackets":       {strings.Repeat("[", maxSigns), "f:1: is nested too deeply"},
		"more brackets":       {strings.Repeat("[", MaxBytes), "f:1: has more than 200000 of the signs , [ ]"},
		"blank lines in text": {"a: |\n x" + strings.Repeat("\n", MaxBytes-10), "f:204: has more than 200 blank lines in a row"},
		"tabs in quotes":      {"a: \"" + strings.Repeat("\t", MaxBytes-10), "f:1: has more than 100 tabs in a line"},
		"merge keys":          {strings.Repeat("<", MaxBytes), "f:1: has more than 100 times < in a row"},
		"dashes in brackets":  {"a: [" + strings.Repeat("- ", MaxBytes/3), "f:1: has a - inside brackets"},
		"colons in brackets":  {"a: [" + strings.Repeat("\na: ", MaxBytes/5), "f:3: has a second : in one entry between brackets"},
		"closed brackets":     {"a: " + strings.Repeat("[", 40) + strings.Repeat("]", 40), "f:1: is nested too deeply"},
		"braces":              {strings.Repeat("{a: ", 1000), "f:1: is nested too deeply"},
		"dashes":              {strings.Repeat("- ", MaxBytes/2), "f:1: is nested too deeply"},
		"indented keys":       {indented(maxDepth + 1), "f:33: is nested too deeply"},
		"complex keys":        {strings.Repeat("? ", 100), "f:1: has a complex key"},
		"a long mapping":      {strings.Repeat("a: 1\n", maxEntries+1), "f:10001: is the entry after 10000"},
		"a long list":         {strings.Repeat("- a\n", maxEntries+1), "f:10001: is the entry after 10000"},
		"a long key":          {strings.Repeat("a", maxKey+1) + ": 1", "f:1: has a key of 1025 bytes"},
		"empty values":        {holes, "f:1002: has more than 1000 entries without a value"},
		"empty items":         {strings.Repeat("-\n", maxHoles+2), "f:1002: has more than 1000 entries without a value"},
		"empty flow values":   {"a: {" + strings.Repeat("a:,\n", maxHoles+1) + "}", "f:1001: has more than 1000 entries without a value"},
		"bare flow keys":      {"a: {" + strings.Repeat("a,\n", maxHoles+1) + "}", "f:1001: has more than 1000 entries without a value"},
		"an alias bomb":       {"a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", "f:1: has an anchor"},
		"tiers of a limit":    {"version: 1\nlimits: [{name: a, tiers: {" + tiers.String() + "}}]", "f:2: limits[0].tiers.t100: makes more than 100 tiers"},
		"a list of tiers":     {"version: 1\nlimits: []\ntiers: [" + list.String() + "]", "f:3: tiers: makes more than 100 tiers"},
		"a stray end bracket": {"a: 1\nb: ]\n", "f:2: is not valid YAML"},
	} {
		_, err := Parse("f", []byte(tt.source))
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: got %.200v, want %s", what, err, tt.want)
		}
	}
}

// Whatever a file of the largest size consists of, it is answered while somebody
// waits for it. The time is generous, for slow machines and race detectors: what
// the bounds are for takes minutes.
func TestLargeFilesAreAnsweredSoon(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, tt := range []struct{ head, unit string }{
		{"limits: [", ","}, {"a: [", "a,"}, {"a: [", "a"}, {"a: [", "a\n"}, {"a: {", "a: b,"}, {"a: [", "['']"}, {"a: [", "- "},
		{"a: [", "\na: "}, {"", "a: "}, {"a: \"", "\ta\n"}, {"a: |\n ", "\n"}, {"a: >-\n  ", "a\n  "}, {"a: x\n ", "y\n "}, {"", "<"}, {"a: ", "& "}, {"a:\n- ", "'' "},
	} {
		source := tt.head + strings.Repeat(tt.unit, (MaxBytes-len(tt.head))/max(1, len(tt.unit)))
		start := time.Now()
		_, err := Parse("f", []byte(source))
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%q and then %q: took %v, with %.100v", tt.head, tt.unit, took, err)
		}
	}
}

// indented is a mapping in a mapping, and so on.
func indented(depth int) string {
	var b strings.Builder
	for i := range depth {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

// The bounds leave room for what is long and right.
func TestLongFilesAreRead(t *testing.T) {
	var b strings.Builder
	b.WriteString("version: 1\nprincipals:\n  header: X-API-Key\n  known:\n")
	for i := range 5000 {
		fmt.Fprintf(&b, "    key-%d:\n      id: caller-%d\n", i, i)
	}
	b.WriteString("limits:\n")
	for i := range 5000 {
		fmt.Fprintf(&b, "- name: limit-%d\n  match:\n  - GET /route-%d/{id}\n  limit: 5/s\n", i, i)
	}
	f := parse(t, b.String())
	equal(t, "limits", len(f.Core.Limits), 5000)
	equal(t, "callers", len(f.Principals.Known), 5000)
}

func TestScalarsAreWhatTheyLookLike(t *testing.T) {
	for source, want := range map[string]kind{
		"1": number, "-1": number, "+1": number, "1.5": number, ".5": number, "1.": number, "1e3": number, "1E-400": number,
		"0x1F": number, "0o17": number, "0b1": number, "007": number, "1_000": number, ".inf": number, "-.INF": number, ".NaN": number,
		"99999999999999999999999": number,
		"true":                    boolean, "False": boolean,
		"~": null, "null": null, "Null": null,
		"yes": text, "off": text, "NaN": text, "1/s": text, "1.2.3": text, "-": list, "'1'": text, `"true"`: text, "1h": text, "::1": text,
		`""`: text, "''": text, ">\n  5\n": text, "|\n  5\n": text, "[]": list, "{}": mapping,
	} {
		n := (&decoder{file: "f"}).parse([]byte("a:\n  " + source + "\n"))
		if n == nil || n.items[0].kind != want {
			t.Errorf("%s: got %+v, want kind %d", source, n, want)
		}
	}
}
