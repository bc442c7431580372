package config

import (
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the samples have zones, and a machine may have none

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// parse reads a source that must be right.
func parse(t *testing.T, source string) *File {
	t.Helper()
	f, err := Parse("f", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got\n%+v\nwant\n%+v", what, got, want)
	}
}

func TestEveryFieldArrives(t *testing.T) {
	f, err := Load(filepath.Join("testdata", "good", "worked.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "version", f.Version, 1)
	equal(t, "client", f.Client, Client{
		TrustedProxies: []netip.Prefix{
			netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("203.0.113.7/32"),
		},
		IPHeader:   "X-Forwarded-For",
		IPv6Prefix: 56,
	})
	equal(t, "principals", f.Principals, Principals{Header: "X-API-Key", Known: map[string]core.Identity{
		"key-alice": {Principal: "alice", Tier: "free"},
		"key-acme":  {Principal: "acme", Tier: "pro"},
		"12345":     {Principal: "big", Tier: "enterprise"},
		"key-new":   {Principal: "newcomer"},
	}})
	equal(t, "headers", f.Headers, []string{"ratelimit", "x-ratelimit-delta"})
	equal(t, "store", f.Store, Store{MaxKeys: 200_000, Failure: core.FailClosed})
	equal(t, "tiers", f.Core.Tiers, []string{"free", "pro", "enterprise"})
	equal(t, "default tier", f.Core.DefaultTier, "free")
	equal(t, "failure", f.Core.Failure, core.FailClosed)
	equal(t, "prefix", f.Core.IPv6Prefix, 56)
	equal(t, "exempt", f.Core.Exempt, []core.Exemption{
		{Match: []string{"GET /healthz"}},
		{IP: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::1/128")}},
		{Principals: []string{"monitor"}},
	})
	wantLimits := workedLimits(t)
	for i, want := range wantLimits {
		equal(t, want.Name, f.Core.Limits[i], want)
	}
	equal(t, "number of limits", len(f.Core.Limits), len(wantLimits))
}

// workedLimits are the limits of worked.yaml, as a program would write them.
// TestSharedStoreArrives reads a store part with everything in it.
func TestSharedStoreArrives(t *testing.T) {
	f, err := Load(filepath.Join("testdata", "good", "redis.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "store", f.Store, Store{
		MaxKeys: 50_000, Failure: core.FailClosed, LocalAuto: true, LocalTotal: core.TokenBucket(200, time.Second), Prefetch: 0.1,
		Redis: &Redis{URL: "redis-cluster://user:secret@10.0.0.1:6379,10.0.0.2:6379", Prefix: "shop", Timeout: 20 * time.Millisecond},
	})
	equal(t, "prefetch of the table", f.Core.Prefetch, 0.1)
	equal(t, "prefetch of a limit", f.Core.Limits[0].Prefetch, 0.05)
	equal(t, "prefetch that is off", f.Core.Limits[1].Prefetch, float64(core.NoPrefetch))
}

func workedLimits(t *testing.T) []core.Limit {
	t.Helper()
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	return []core.Limit{
		{
			Name: "create-order", Match: []string{"POST /orders"}, Except: []string{"GET /orders/{id}"},
			Keys: core.Keys(core.ByPrincipal), Cost: 1, StoreFailure: core.FailLocal, Exceeded: core.Reject, Visibility: core.Visible, Prefetch: core.NoPrefetch,
			Tiers: core.Tiers{
				"free":       core.TokenBucket(10, time.Second).WithBurst(20),
				"pro":        core.TokenBucket(100, time.Second),
				"enterprise": core.Unlimited,
			},
		},
		{Name: "per-day", Tiers: core.Tiers{
			"free": core.FixedWindow(1000, core.Day).In(shanghai),
			"pro":  core.FixedWindow(50_000, core.Month).In(shanghai),
			"*":    core.FixedWindow(100, time.Hour), // begins by the epoch everywhere
		}},
		{Name: "per-ip", Keys: core.Keys(core.ByIP), Quota: core.TokenBucket(500, time.Second)},
		{Name: "everybody", Keys: core.Keys(core.Global), Quota: core.SlidingWindow(100, 90*time.Minute).WithBuckets(6)},
		{
			Name: "login", Match: []string{"POST /login"}, Keys: core.Keys(core.ByIP, core.ByHeader("X-Tenant"), core.ByRoute),
			Stage: core.Early, Quota: core.SlidingLog(5, 10*time.Second), Count: []int{401, 403},
			Penalty:      &algo.Penalty{After: 10, Within: time.Minute, Block: 15 * time.Minute},
			StoreFailure: core.FailClosed, Visibility: core.Hidden,
		},
		{Name: "meter", Quota: core.LeakyBucket(10, time.Second).WithQueue(50), Exceeded: core.Reject},
		{Name: "trial", Quota: core.FixedWindow(3, core.Day).FromFirstRequest(), Exceeded: core.Shadow},
		{Name: "products", Match: []string{"GET /products"}, Quota: core.TokenBucket(5, time.Second), Exceeded: core.Fallback},
		{Name: "ws-messages", Quota: core.TokenBucket(5, time.Second), Manual: true},
		{Name: "closed-for-now", Match: []string{"/beta/..."}, Quota: core.TokenBucket(0, time.Second)},
	}
}

func TestDefaults(t *testing.T) {
	f := parse(t, "version: 1\nlimits: []\n")
	want := &File{
		Version: 1, Client: Client{IPv6Prefix: 64}, Headers: []string{"ratelimit"}, Store: Store{Failure: core.FailOpen},
		Core: core.Config{Limits: []core.Limit{}, Failure: core.FailOpen, IPv6Prefix: 64},
	}
	equal(t, "file", f, want)
}

func TestTrustedProxiesAreBelievedAboutForwardedForUnlessTheySayElse(t *testing.T) {
	f := parse(t, "version: 1\nclient: {trusted_proxies: [10.0.0.0/8]}\nlimits: []\n")
	equal(t, "header", f.Client.IPHeader, "X-Forwarded-For")
	f = parse(t, "version: 1\nclient: {trusted_proxies: []}\nlimits: []\n")
	equal(t, "header", f.Client.IPHeader, "")
}

func TestRates(t *testing.T) {
	for text, want := range map[string]core.Quota{
		"10/s":                 core.TokenBucket(10, time.Second),
		"10/min":               core.TokenBucket(10, time.Minute),
		"10/h":                 core.TokenBucket(10, time.Hour),
		"10/day":               core.TokenBucket(10, core.Day),
		"5/10s":                core.TokenBucket(5, 10*time.Second),
		"100/1h30m":            core.TokenBucket(100, 90*time.Minute),
		"1/1.5s":               core.TokenBucket(1, 1500*time.Millisecond),
		"7/1us":                core.TokenBucket(7, time.Microsecond),
		"0/s":                  core.TokenBucket(0, time.Second),
		"0":                    core.TokenBucket(0, time.Second),
		"unlimited":            core.Unlimited,
		`"10/s"`:               core.TokenBucket(10, time.Second),
		"1/9600h":              core.TokenBucket(1, algo.MaxPeriod),
		"9007199254740992/1us": core.TokenBucket(maxUnits, time.Microsecond),
	} {
		f := parse(t, "version: 1\nlimits: [{name: a, limit: "+text+"}]\n")
		equal(t, text, f.Core.Limits[0].Quota, want)
	}
}

// A bare 0 must not make sense of less than a number would.
func TestNothingIsAllowedInEveryAlgorithm(t *testing.T) {
	for _, algorithm := range []string{"token-bucket", "leaky-bucket", "fixed-window", "sliding-window", "sliding-log"} {
		f := parse(t, "version: 1\nlimits: [{name: a, algorithm: "+algorithm+", tiers: {free: 0}}]\n")
		if spec := f.Core.Limits[0].Tiers["free"].Spec(); spec.Limit != 0 || spec.Algorithm.String() != algorithm {
			t.Errorf("%s: got %+v", algorithm, spec)
		}
	}
	f := parse(t, "version: 1\nlimits: [{name: a, algorithm: fixed-window, timezone: Europe/Berlin, limit: 0}]\n")
	equal(t, "zone", f.Core.Limits[0].Quota.Spec().Zone.String(), "Europe/Berlin")
}

// Nobody names a tier that the rest could be compared with.
func TestTheRestOfNoTiersIsEverybody(t *testing.T) {
	f := parse(t, "version: 1\nlimits: [{name: a, tiers: {\"*\": 10/s}}]\n")
	equal(t, "quota", f.Core.Limits[0].Quota, core.TokenBucket(10, time.Second))
}

// Where no tier is named anywhere, there is nothing that a caller's could be
// checked against, and a file with limits for everybody is right.
func TestCallersMayHaveTiersThatNobodyUses(t *testing.T) {
	f := parse(t, "version: 1\nprincipals: {header: X-API-Key, known: {k: {id: a, tier: pro}}}\nlimits: [{name: a, limit: 1/s}]\n")
	id, found := f.Principals.Lookup("k")
	equal(t, "identity", id, core.Identity{Principal: "a", Tier: "pro"})
	equal(t, "found", found, true)
	if id, found := f.Principals.Lookup("other"); found {
		t.Errorf("an unknown key is %+v, want nobody", id)
	}
}

func TestTrustOfEverybodyIsAWarning(t *testing.T) {
	f := parse(t, "version: 1\nclient: {trusted_proxies: [10.0.0.0/8, 0.0.0.0/0, \"::/0\"]}\nlimits: []\n")
	got := f.Warnings()
	if len(got) != 2 || !strings.Contains(got[0], "0.0.0.0/0") || !strings.Contains(got[1], "::/0") {
		t.Errorf("got %q, want one for each network of everybody", got)
	}
	if got := parse(t, "version: 1\nlimits: []\n").Warnings(); got != nil {
		t.Errorf("got %q, want none", got)
	}
}

func TestFilesThatCannotBeReadAreNoMistakesOfTheirs(t *testing.T) {
	var list *Error
	_, err := Load(filepath.Join(t.TempDir(), "none.yaml"))
	if !errors.Is(err, fs.ErrNotExist) || errors.As(err, &list) {
		t.Errorf("got %v, want that there is no file", err)
	}
	if _, err = Load(t.TempDir()); err == nil || errors.As(err, &list) {
		t.Errorf("got %v, want that it is a folder", err)
	}
}

func TestLoadNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "limits.yaml")
	if err := os.WriteFile(path, []byte("version: 1\nlimits: 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Load(path)
	if want := path + ":2: limits: is 5, want a list of limits, or [] to say none"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Keys of callers and passwords of servers end up in logs otherwise.
func TestSecretsAreNotPrinted(t *testing.T) {
	for _, source := range []string{
		"principals: {header: X-API-Key, known: {hush: {id: 5, tier: 6, foo: 7}}}",
		"principals: {header: X-API-Key, known: {hush: alice}}",
		"principals: {header: X-API-Key, known: {\"hush \": {id: a}}}",
		"principals: {header: X-API-Key, known: {hush: {id: a}, hush: {id: a}}}",
		"principals: {header: X-API-Key, known: {hush: {id: a, id: b}}}",
		"store: {redis: {url: \"redis://:hush@host:port\"}}",
		"store: {redis: {url: \"hush\"}}",
		"store: {redis: {url: [hush]}}",
	} {
		_, err := Parse("f", []byte("version: 1\n"+source+"\nlimits: []\n"))
		if err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: got %v", source, err)
		}
	}
}
