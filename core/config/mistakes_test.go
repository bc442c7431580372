package config

import (
	"errors"
	"strings"
	"testing"
)

// A mistake is a file with one thing wrong.
type mistake struct {
	name   string
	source string // from line 2; see file
	want   string // the error, without the name of the file

	// blind says why a JSON Schema cannot see it. Empty: it does.
	blind string
}

// file returns the whole file: a version, and no limits unless there are some.
// Sources with an @ are whole.
func (m mistake) file() string {
	whole, found := strings.CutPrefix(m.source, "@")
	switch {
	case found:
		return whole
	case strings.Contains(m.source, "limits:"):
		return "version: 1\n" + m.source + "\n"
	}
	return "version: 1\n" + m.source + "\nlimits: []\n"
}

func TestEveryMistakeIsNamedWithItsLine(t *testing.T) {
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			f, err := Parse("f", []byte(m.file()))
			if err == nil {
				t.Fatalf("%s\nis accepted: %+v", m.file(), f)
			}
			var list *Error
			if !errors.As(err, &list) {
				t.Fatalf("error is a %T, want an *Error", err)
			}
			if got := strings.ReplaceAll("\n"+err.Error(), "\nf:", "\n")[1:]; got != m.want {
				t.Errorf("%s\ngot\n%s\nwant\n%s", m.file(), got, m.want)
			}
		})
	}
}

// What could not be read must not be missed, nor be judged by what it became.
func TestOneMistakeIsOneProblem(t *testing.T) {
	for _, source := range []string{
		"limits: [{name: a, limit: 5/s, exceeded: wiat, max_wait: 2s}]",
		"limits: [{name: a, limit: 5/s, algorithm: leaky-bucket, queue: 5, exceeded: rejcet}]",
		"limits: [{name: a, limit: 5/x, cost: 6}]",
		"limits: [{name: a, limit: 5/s, burst: many, cost: 6}]",
		"limits: [{name: a, limit: five, burst: 6}]",
		"limits: [{name: a, limit: 5/month, algorithm: fixed, timezone: UTC}]",
		"limits: [{name: a, limit: 5/day, algorithm: fixed, align: first-request}]",
		"limits: [{name: a, limit: 5, algorithm: concurency, hold: 30s}]",
		"limits: [{name: a, limit: 5/s, algorithm: sliding, buckets: 5}]",
		"limits: [{name: a, limit: 5/x, algorithm: fixed-window, timezone: UTC}]",
		"limits: [{name: a, tiers: free}]",
		"limits: [{name: a, tiers: {free: }}]",
		"limits: [{name: a, tiers: {free: 5/s, pro: 5/x}}]\ntiers: [free, pro]",
		"limits: [{name: a, tiers: {free: 5/s}}]\ntiers: free\ndefault_tier: free",
		"limits: [{name: 5, limit: 5/s}, {name: 5/s, limit: 5/s}]",
		"limits: [{name: a, limit: 5/s}, a, {name: b, limit: 5/s}]",
		"limits: [{name: a, limit: 5/s, match: [5, /a, /b]}]",
		"limits: [{name: a, limit: 5/s, key: [usr, ip]}]",
		"limits: [{name: a, limit: 5/s, key: usr, stage: early}]",
		"limits: [{name: a, limit: 5/s, count: [401]}]",
		"limits: [{name: a, limit: 5/s, penalty: {after: 5, within: 1m, blokc: 15m, block: 1m}}]",
		"exempt: [/healthz, {match: [/healthz]}]",
		"exempt: [{ip: [localhost]}]",
		"exempt: [{principal: [5, monitor]}]",
		"client: {trusted_proxies: [proxy], ip_header: X-Real-IP}",
		"client: {trusted_proxies: proxy, ip_header: X-Real-IP}",
	} {
		_, err := Parse("f", []byte(mistake{source: source}.file()))
		var list *Error
		if !errors.As(err, &list) || len(list.Problems) != 1 {
			t.Errorf("%s: got\n%v\nwant one problem", source, err)
		}
	}
}
