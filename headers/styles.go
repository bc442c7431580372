package headers

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Styles is a set of ways to tell a client how its limits stand. The zero value
// is the empty set: no quota fields at all. Retry-After does not depend on it.
type Styles uint8

const (
	// DraftC is the RateLimit and RateLimit-Policy pair of revisions 08 to 11,
	// the newest that is in use: one member per policy. In files: "ratelimit".
	DraftC Styles = 1 << iota

	// Draft06 is the trio RateLimit-Limit, -Remaining, -Reset of revisions 04
	// to 06, with the reset as seconds to wait. It reports one policy. In
	// files: "ratelimit-draft-06".
	Draft06

	// XEpoch is the X-RateLimit trio with the reset as Unix time in seconds,
	// as GitHub sends it. Clients need a right clock. In files:
	// "x-ratelimit-epoch".
	XEpoch

	// XDelta is the X-RateLimit trio with the reset as seconds to wait. In
	// files: "x-ratelimit-delta".
	XDelta
)

const noStyle = "none"

var styleNames = []struct {
	style Styles
	name  string
}{
	{DraftC, "ratelimit"},
	{Draft06, "ratelimit-draft-06"},
	{XEpoch, "x-ratelimit-epoch"},
	{XDelta, "x-ratelimit-delta"},
}

// styleConflicts lists the pairs that use one field name for two things.
var styleConflicts = []struct {
	pair Styles
	why  string
}{
	{DraftC | Draft06, "give RateLimit-Policy different bodies"},
	{XEpoch | XDelta, "give X-RateLimit-Reset different meanings"},
}

// ParseStyles reads the names of a configuration file. "none" stands alone and
// is the empty set, as is an empty list. Unknown names, duplicates, "none"
// beside others and conflicts are errors; all are reported, and with an error
// the set is empty.
func ParseStyles(names []string) (Styles, error) {
	var s Styles
	var errs []error
	for i, name := range names {
		style, ok := styleNamed(name)
		switch {
		case !ok:
			errs = append(errs, fmt.Errorf("%q is unknown, want %s or %s", name, allStyleNames(), noStyle))
		case slices.Contains(names[:i], name):
			errs = append(errs, fmt.Errorf("%q is listed twice", name))
		}
		s |= style
	}
	if s != 0 && slices.Contains(names, noStyle) {
		errs = append(errs, fmt.Errorf("%q cannot stand beside %s", noStyle, s))
	}
	if err := errors.Join(append(errs, s.conflicts()...)...); err != nil {
		return 0, fmt.Errorf("headers: styles: %w", err)
	}
	return s, nil
}

func styleNamed(name string) (Styles, bool) {
	for _, sn := range styleNames {
		if sn.name == name {
			return sn.style, true
		}
	}
	return 0, name == noStyle
}

func allStyleNames() string {
	var all Styles
	for _, sn := range styleNames {
		all |= sn.style
	}
	return all.String()
}

// Validate reports the conflicts in s: DraftC with Draft06, XEpoch with XDelta,
// and bits that mean nothing.
func (s Styles) Validate() error {
	errs := s.conflicts()
	if extra := s &^ (DraftC | Draft06 | XEpoch | XDelta); extra != 0 {
		errs = append(errs, fmt.Errorf("unknown bits %#x", uint8(extra)))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("headers: styles: %w", err)
	}
	return nil
}

func (s Styles) conflicts() (errs []error) {
	for _, c := range styleConflicts {
		if s&c.pair == c.pair {
			n := c.pair.Names()
			errs = append(errs, fmt.Errorf("%q and %q %s: choose one", n[0], n[1], c.why))
		}
	}
	return errs
}

// Names returns the names of s as [ParseStyles] reads them, "none" for the
// empty set. The caller owns the slice.
func (s Styles) Names() []string {
	var names []string
	for _, sn := range styleNames {
		if s&sn.style != 0 {
			names = append(names, sn.name)
		}
	}
	if names == nil {
		return []string{noStyle}
	}
	return names
}

// String returns the names of s, separated by commas.
func (s Styles) String() string {
	return strings.Join(s.Names(), ", ")
}
