package config

import (
	"strings"
	"testing"
)

func TestFindGoesAsFarAsThePathExists(t *testing.T) {
	root := (&decoder{file: "f"}).parse([]byte(`# line 1
limits:
  - name: a
    tiers:
      free: 1/s
      free.trial:
        limit: 2/s
  - key:
    - ip
    - route
tiers: [free]
`))
	for path, want := range map[string]int{
		"":                                  2,
		"version":                           2,
		"limits":                            2,
		"limits[0]":                         3,
		"limits[0].name":                    3,
		"limits[0].limit":                   3,
		"limits[0].tiers":                   4,
		"limits[0].tiers.pro":               4,
		"limits[0].tiers.free":              5,
		"limits[0].tiers.free.limit":        5,
		"limits[0].tiers.freedom":           4,
		"limits[0].tiers.free.trial":        6,
		"limits[0].tiers.free.trial.limit":  7,
		"limits[0].tiers.free.trial.burst":  6,
		"limits[1].key[1]":                  10,
		"limits[1].key[2]":                  8,
		"limits[1].name":                    8,
		"limits[2]":                         2,
		"limits[-1]":                        2,
		"limits[x]":                         2,
		"tiers[0]":                          11,
		"limits[18446744073709551616].name": 2,
	} {
		if got := root.find(path).line; got != want {
			t.Errorf("find(%q) is on line %d, want %d", path, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	words := []string{"match", "max_wait", "burst", "buckets", "limit", "name"}
	for s, want := range map[string]string{
		"mtach": "match", "maxwait": "max_wait", "max-wait": "max_wait", "brust": "burst", "bursts": "burst", "Limit": "limit",
		"limits": "limit", "nam": "name", "nmae": "name", "bukets": "buckets",
		"rate": "", "window": "", "x": "", "": "",
		strings.Repeat("a", maxKey+1): "",
	} {
		if got := nearest(s, words); got != want {
			t.Errorf("nearest(%.20q) is %q, want %q", s, got, want)
		}
	}
}

func TestLongValuesAreClipped(t *testing.T) {
	long := strings.Repeat("ü", 500)
	_, err := Parse("f", []byte("version: 1\nlimits: "+long+"\n"+long+": 1\n"))
	if err == nil || len(err.Error()) > 600 || !strings.Contains(err.Error(), "ü…") {
		t.Errorf("got %v, want it short", err)
	}
}
