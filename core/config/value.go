package config

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// text reads text that is not empty; "" after an error.
func (d *decoder) text(n *node, want string) string {
	switch {
	case n.kind == number || n.kind == boolean:
		d.wrong(n, "%s, want %s; put it in quotes", n.describe(), want)
	case n.kind != text || n.text == "":
		d.reject(n, want)
	default:
		return n.text
	}
	return ""
}

// word reads one of several words; "" after an error.
func (d *decoder) word(n *node, words ...string) string {
	if n.kind == text && slices.Contains(words, n.text) {
		return n.text
	}
	if near := nearest(n.text, words); n.kind == text && near != "" {
		d.wrong(n, "%s, did you mean %s? want %s", n.describe(), near, alternatives(words))
		return ""
	}
	d.reject(n, alternatives(words))
	return ""
}

// named is what the names in keys of a store consist of.
var named = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,64}$`)

// boolean reads true or false.
func (d *decoder) boolean(n *node) bool {
	if n.kind != boolean {
		d.reject(n, "true or false")
		return false
	}
	return n.text[0]|0x20 == 't'
}

var integers = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)

// integer reads a whole number from low to high, written in decimal; 0 after an
// error.
func (d *decoder) integer(n *node, low, high int64) int64 {
	if n.kind == number && integers.MatchString(n.text) {
		v, err := strconv.ParseInt(n.text, 10, 64)
		if err == nil && low <= v && v <= high {
			return v
		}
	}
	if high == math.MaxInt64 {
		d.wrong(n, "%s, want a whole number of %d or more", n.describe(), low)
		return 0
	}
	d.wrong(n, "%s, want a whole number from %d to %d", n.describe(), low, high)
	return 0
}

// within returns what reads a whole number from low to high.
func within[T int | int64](d *decoder, low, high int64) func(*node) T {
	return func(n *node) T { return T(d.integer(n, low, high)) }
}

var decimals = regexp.MustCompile(`^([0-9]+(\.[0-9]*)?|\.[0-9]+)$`)

// fraction reads a share, above 0 and at most 1; 0 after an error.
func (d *decoder) fraction(n *node) float64 {
	if n.kind == number && decimals.MatchString(n.text) {
		if f, err := strconv.ParseFloat(n.text, 64); err == nil && 0 < f && f <= 1 {
			return f
		}
	}
	d.reject(n, "a number above 0 and at most 1, such as 0.2")
	return 0
}

// span reads a duration above 0 and up to most, as Go writes them; 0 after an
// error.
func (d *decoder) span(n *node, most time.Duration) time.Duration {
	v, ok := parseDuration(n.text)
	switch {
	case n.kind != text || !ok:
		d.reject(n, "a duration such as 50ms, 30s or 1h30m")
	case v <= 0:
		d.reject(n, "more than 0")
	case v > most || v == forever:
		d.reject(n, "at most "+most.String())
	default:
		return v
	}
	return 0
}

var durations = regexp.MustCompile(`^[-+]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`)

// parseDuration reads a duration as Go does, and the ones that are too long for
// Go as the longest.
func parseDuration(s string) (time.Duration, bool) {
	v, err := time.ParseDuration(s)
	switch {
	case !durations.MatchString(s): // Go also takes 0 for one
		return 0, false
	case err != nil:
		return forever, true
	}
	return v, true
}

// upTo returns what reads a duration above 0 and up to most.
func (d *decoder) upTo(most time.Duration) func(*node) time.Duration {
	return func(n *node) time.Duration { return d.span(n, most) }
}

// forever is the longest duration there is: 292 years.
const forever = time.Duration(math.MaxInt64)
