package core_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// Every mistake in a table is an error that says where it is, what is wrong and
// what was expected.
func TestMistakesInATable(t *testing.T) {
	ok := core.TokenBucket(1, time.Second)
	limit := func(change func(*core.Limit)) core.Config {
		l := core.Limit{Name: "a", Quota: ok}
		change(&l)
		return core.Config{Limits: []core.Limit{l}}
	}
	quota := func(q core.Quota) core.Config { return limit(func(l *core.Limit) { l.Quota = q }) }
	mixed := func(a, b core.Quota) core.Config {
		return core.Config{Limits: []core.Limit{{Name: "a", Tiers: core.Tiers{"a": a, "b": b}}}}
	}
	for _, tt := range []struct {
		path, text string
		config     core.Config
	}{
		{"limits", "missing", core.Config{}},
		{"tiers[0]", "want a name", core.Config{Tiers: []string{"*"}, Limits: []core.Limit{}}},
		{"tiers[1]", "repeats", core.Config{Tiers: []string{"a", "a"}, Limits: []core.Limit{}}},
		{"default_tier", "want one of the tiers (a)", core.Config{Tiers: []string{"a"}, DefaultTier: "b", Limits: []core.Limit{}}},
		{"client.ipv6_prefix", "want 32 to 128", core.Config{IPv6Prefix: 20, Limits: []core.Limit{}}},
		{"exempt[0]", "is empty", core.Config{Exempt: []core.Exemption{{}}, Limits: []core.Limit{}}},
		{"exempt[0].principal[0]", "is empty", core.Config{Exempt: []core.Exemption{{Principals: []string{""}}}, Limits: []core.Limit{}}},
		{"exempt[0].ip[0]", "not an address prefix", core.Config{Exempt: []core.Exemption{{IP: []netip.Prefix{{}}}}, Limits: []core.Limit{}}},
		{"exempt[0].match[0]", "begins with /", core.Config{Exempt: []core.Exemption{{Match: []string{"x"}}}, Limits: []core.Limit{}}},
		{"limits[0].name", "is missing", limit(func(l *core.Limit) { l.Name = "" })},
		{"limits[0].name", "at most 64", limit(func(l *core.Limit) { l.Name = strings.Repeat("a", 65) })},
		{"limits[0].name", "want only", limit(func(l *core.Limit) { l.Name = "a b\r\n" })},
		{"limits[1].name", "limits[0] is called too", core.Config{Limits: []core.Limit{{Name: "a", Quota: ok}, {Name: "a", Quota: ok}}}},
		{"limits[0].match[0]", "begins with", limit(func(l *core.Limit) { l.Match = []string{"get /x"} })},
		{"limits[0].except[0]", "{ without }", limit(func(l *core.Limit) { l.Except = []string{"/{x"} })},
		{"limits[0].key", "set twice", limit(func(l *core.Limit) { l.Key, l.Keys = core.ByIP, core.Keys(core.ByIP) })},
		{"limits[0].key[1]", "repeats", limit(func(l *core.Limit) { l.Keys = core.Keys(core.ByHeader("x"), core.ByHeader("X")) })},
		{"limits[0].key[0]", "global beside other parts", limit(func(l *core.Limit) { l.Keys = core.Keys(core.Global, core.ByIP) })},
		{"limits[0].key[0]", "is empty", limit(func(l *core.Limit) { l.Keys = core.Keys(core.KeyPart{}, core.ByIP) })},
		{"limits[0].key", "names the header", limit(func(l *core.Limit) { l.Key = core.ByHeader("a b") })},
		{"limits[0].key", "names the header host, which Go takes out", limit(func(l *core.Limit) { l.Key = core.ByHeader("host") })},
		{"limits[0].key[1]", "want another header, or in Go code core.ByValue", limit(func(l *core.Limit) { l.Keys = core.Keys(core.ByIP, core.ByHeader("Trailer")) })},
		{"limits[0].key", "names no value", limit(func(l *core.Limit) { l.Key = core.ByValue("") })},
		{"limits[0].key", "nobody is authenticated yet", limit(func(l *core.Limit) { l.Stage = core.Early })},
		{"limits[0].key", "at most 8", limit(func(l *core.Limit) {
			for _, name := range strings.Split("abcdefghi", "") {
				l.Keys = append(l.Keys, core.ByHeader(name))
			}
		})},
		{"limits[0].cost", "is -1", limit(func(l *core.Limit) { l.Cost = -1 })},
		{"limits[0].limit", "no request could ever pass", limit(func(l *core.Limit) { l.Cost = 2 })},
		{"limits[0].store_failure", "want open, closed or local", limit(func(l *core.Limit) { l.StoreFailure = 9 })},
		{"limits[0].exceeded", "want reject", limit(func(l *core.Limit) { l.Exceeded = 9 })},
		{"limits[0].stage", "want main or early", limit(func(l *core.Limit) { l.Stage = 9 })},
		{"limits[0].exceeded", "not supported yet", limit(func(l *core.Limit) { l.Exceeded = core.Wait })},
		{"limits[0].exceeded", "token-bucket only", limit(func(l *core.Limit) { l.Exceeded, l.Quota = core.Wait, core.FixedWindow(1, time.Second) })},
		{"limits[0].max_wait", "without exceeded: wait", limit(func(l *core.Limit) { l.MaxWait = time.Second })},
		{"limits[0].max_wait", "want more than 0", limit(func(l *core.Limit) { l.MaxWait, l.Exceeded = -1, core.Wait })},
		{"limits[0].count.status[0]", "final status", limit(func(l *core.Limit) { l.Count = []int{101} })},
		{"limits[0].count.status[1]", "repeats 401", limit(func(l *core.Limit) { l.Count = []int{401, 401} })},
		{"limits[0].penalty.after", "is 0", limit(func(l *core.Limit) { l.Penalty = &algo.Penalty{} })},
		{"limits[0].limit", "want the field Quota, such as core.TokenBucket(10, time.Second), or Tiers", core.Config{Limits: []core.Limit{{Name: "a"}}}},
		{"limits[0].limit", "beside tiers", limit(func(l *core.Limit) { l.Tiers = core.Tiers{"x": ok} })},
		{"limits[0].tiers", "no quota for the tier \"b\"", core.Config{Tiers: []string{"a", "b"}, Limits: []core.Limit{{Name: "a", Tiers: core.Tiers{"a": ok}}}}},
		{"limits[0].tiers.c", "not in the list of tiers (a)", core.Config{Tiers: []string{"a"}, Limits: []core.Limit{{Name: "a", Tiers: core.Tiers{"a": ok, "c": ok}}}}},
		{"limits[0].tiers.*", "is missing", core.Config{Tiers: []string{"a"}, Limits: []core.Limit{{Name: "a", Tiers: core.Tiers{"*": {}}}}}},
		{"limits[0].tiers.*.limit", "whole microseconds", core.Config{Limits: []core.Limit{{Name: "a", Tiers: core.Tiers{"*": core.TokenBucket(1, 3*time.Nanosecond)}}}}},
		{"limits[0].tiers.b", "one algorithm", core.Config{Tiers: []string{"a", "b"}, Limits: []core.Limit{{Name: "a", Tiers: core.Tiers{"a": core.SlidingLog(1, time.Second), "b": core.FixedWindow(1, time.Second)}}}}},
		{"limits[0].tiers.b", "has buckets and the tier \"a\" has none", mixed(core.SlidingWindow(1, time.Second), core.SlidingWindow(2, time.Second).WithBuckets(4))},
		{"limits[0].tiers.b", "has no buckets and the tier \"a\" has some", mixed(core.SlidingWindow(1, time.Second).WithBuckets(4), core.SlidingWindow(2, time.Second))},
		{"limits[0].count", "concurrency counts who is there", core.Config{Limits: []core.Limit{{Name: "a", Quota: core.Concurrency(3), Count: []int{401}}}}},
		{"limits[0].queue", "not supported yet", quota(core.LeakyBucket(1, time.Second).WithQueue(4))},
		{"limits[0].burst", "token-bucket only", quota(core.SlidingWindow(1, time.Second).WithBurst(4))},
		{"limits[0].buckets", "want 2 to 60", quota(core.SlidingWindow(1, time.Second).WithBuckets(1))},
		{"limits[0].timezone", "day or more", quota(core.FixedWindow(1, time.Hour).In(time.FixedZone("x", 3600)))},
		{"limits[0].limit", "period of -1s", quota(core.TokenBucket(1, -time.Second))},
		{"limits[0].limit", "want whole microseconds", quota(core.TokenBucket(1, 1500*time.Nanosecond))},
		{"limits[0].limit", "counts by the month", quota(core.TokenBucket(1, core.Month))},
	} {
		err := tt.config.Validate()
		found := false
		for _, e := range core.FieldErrors(err) {
			found = found || e.Path == tt.path && strings.Contains(e.Problem, tt.text)
		}
		if !found {
			t.Errorf("want %s: …%s…, got %v", tt.path, tt.text, err)
		}
	}
}

func TestAllMistakesAtOnce(t *testing.T) {
	err := core.Config{Limits: []core.Limit{
		{Name: "", Cost: -1}, {Name: "b", Quota: core.TokenBucket(-1, 0).WithBurst(-1), Count: []int{0}},
	}}.Validate()
	var paths []string
	for _, e := range core.FieldErrors(err) {
		paths = append(paths, e.Path)
	}
	want := []string{"limits[0].name", "limits[0].cost", "limits[0].limit", "limits[1].count.status[0]", "limits[1].limit", "limits[1].burst", "limits[1].limit"}
	if !slices.Equal(paths, want) {
		t.Errorf("got %q, want %q", paths, want)
	}
	if core.FieldErrors(nil) != nil {
		t.Error("no error has field errors")
	}
}

// A number that nobody set is not complained of.
func TestOneMistakeOfAQuotaIsOneProblem(t *testing.T) {
	for _, q := range []core.Quota{
		core.TokenBucket(-1, time.Second), core.TokenBucket(1<<60, time.Second), core.TokenBucket(-1, time.Second).WithBurst(5),
		core.TokenBucket(1, -1), core.TokenBucket(1<<52, 7*time.Second+time.Microsecond), core.FixedWindow(-1, time.Second),
	} {
		err := core.Config{Limits: []core.Limit{{Name: "a", Quota: q}}}.Validate()
		if list := core.FieldErrors(err); len(list) != 1 || list[0].Path != "limits[0].limit" {
			t.Errorf("%+v: got %v, want one problem of the limit", q.Spec(), err)
		}
	}
}

func TestGoodTables(t *testing.T) {
	for name, c := range map[string]core.Config{
		"nothing is allowed, whatever it costs": {Limits: []core.Limit{{Name: "a", Cost: 5, Quota: core.TokenBucket(0, time.Second)}}},
		"the meter":                             {Limits: []core.Limit{{Name: "a", Exceeded: core.Reject, Quota: core.LeakyBucket(1, time.Second).WithQueue(9)}}},
		"a star for the rest":                   {Tiers: []string{"a", "b"}, Limits: []core.Limit{{Name: "a", Tiers: core.Tiers{"a": core.Unlimited, "*": core.TokenBucket(1, core.Day)}}}},
		"a month in a zone":                     {Limits: []core.Limit{{Name: "a", Quota: core.FixedWindow(1, core.Month).In(time.FixedZone("x", 3600))}}},
		"every character of a name":             {Limits: []core.Limit{{Name: "Az09_.:/-", Quota: core.Unlimited}}},
		"buckets for all": {Limits: []core.Limit{{Name: "a", Tiers: core.Tiers{
			"a": core.SlidingWindow(1, time.Second).WithBuckets(4), "b": core.SlidingWindow(2, time.Second).WithBuckets(9),
			"c": core.Unlimited, "d": core.SlidingWindow(0, time.Second),
		}}}},
		"none on purpose": {Limits: []core.Limit{}},
	} {
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWordsOfTheFile(t *testing.T) {
	for _, text := range []string{"open", "closed", "local"} {
		if p, err := core.ParseFailurePolicy(text); err != nil || p.String() != text {
			t.Errorf("%s is read as %v, %v", text, p, err)
		}
	}
	for _, text := range []string{"reject", "wait", "shadow", "fallback"} {
		if e, err := core.ParseExceeded(text); err != nil || e.String() != text {
			t.Errorf("%s is read as %v, %v", text, e, err)
		}
	}
	for _, text := range []string{"main", "early"} {
		if s, err := core.ParseStage(text); err != nil || s.String() != text {
			t.Errorf("%s is read as %v, %v", text, s, err)
		}
	}
	for _, text := range []string{"principal", "ip", "route", "global", "header:X-A"} {
		if p, err := core.ParseKeyPart(text); err != nil || p.String() != text {
			t.Errorf("%s is read as %v, %v", text, p, err)
		}
	}
	if got := core.ByValue("org").String() + core.FailurePolicy(77).String() + (core.KeyPart{}).String(); got != "value:orgunknown(77)none" {
		t.Errorf("got %s", got)
	}
	_, a := core.ParseFailurePolicy("ajar")
	_, b := core.ParseExceeded("")
	_, c := core.ParseStage("late")
	_, d := core.ParseKeyPart("header:a b")
	_, e := core.ParseKeyPart("user")
	for i, err := range []error{a, b, c, d, e} {
		if err == nil || !strings.Contains(err.Error(), "want") {
			t.Errorf("%d: %v, want an error that says what was expected", i, err)
		}
	}
	if got := core.Denied.String() + core.Outcome(9).String(); got != "deniedunknown(9)" {
		t.Errorf("got %s", got)
	}
}

// The words for what a limit does to whom.
func TestVisibility(t *testing.T) {
	global := core.Limit{Name: "global", Key: core.Global, Quota: core.TokenBucket(9, time.Hour)}
	shown := global
	shown.Name, shown.Visibility = "shown", core.Visible
	secret := core.Limit{Name: "secret", Quota: core.TokenBucket(9, time.Hour), Visibility: core.Hidden}
	d := newDesk(t, core.Config{Limits: []core.Limit{global, shown, secret, {Name: "plain", Quota: core.TokenBucket(9, time.Hour)}}})
	got := d.decide(by("a"))
	for i, want := range []bool{true, false, true, false} {
		if r := got.Limit(i); r.Hidden != want {
			t.Errorf("%s hidden: %v, want %v", r.Limit, r.Hidden, want)
		}
	}
}
