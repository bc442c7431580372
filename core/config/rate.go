package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// maxUnits is the largest number of units that package algo counts exactly.
const maxUnits = 1 << 53

// periods are the words for the period of a rate.
var periods = map[string]time.Duration{
	"s":     time.Second,
	"min":   time.Minute,
	"h":     time.Hour,
	"day":   algo.Day,
	"month": algo.Month,
}

// otherPeriods are what people write instead.
var otherPeriods = map[string]string{
	"sec": "s", "secs": "s", "second": "s", "seconds": "s",
	"m": "min", "mins": "min", "minute": "min", "minutes": "min",
	"hr": "h", "hrs": "h", "hour": "h", "hours": "h",
	"d": "day", "days": "day", "mo": "month", "months": "month",
	"w": "168h", "week": "168h", "weeks": "168h",
	"ms": "1ms", "us": "1us", "µs": "1us", "M": "min", "S": "s", "H": "h", "D": "day",
}

// parseRate reads N/period. The error says what is wrong after the text itself
// has been quoted.
func parseRate(s string) (units int64, period time.Duration, err error) {
	n, per, found := strings.Cut(s, "/")
	if !found {
		return 0, 0, errors.New("want N/period such as 10/s, or unlimited")
	}
	if !integers.MatchString(n) {
		return 0, 0, errors.New("want a whole number in decimal before the /, such as 10/s")
	}
	units, err = strconv.ParseInt(n, 10, 64)
	switch {
	case strings.HasPrefix(n, "-"):
		return 0, 0, errors.New("want 0 or more before the /")
	case err != nil || units > maxUnits:
		return 0, 0, fmt.Errorf("want at most %d before the /", int64(maxUnits))
	}
	if word, found := otherPeriods[per]; found {
		return 0, 0, fmt.Errorf("did you mean %s/%s?", n, word)
	}
	period, err = parsePeriod(per)
	return units, period, err
}

func parsePeriod(s string) (time.Duration, error) {
	if period, found := periods[s]; found {
		return period, nil
	}
	period, ok := parseDuration(s)
	switch {
	case !ok:
		return 0, errors.New("want s, min, h, day, month or a duration such as 10s after the /")
	case period <= 0:
		return 0, errors.New("want a period above 0")
	case period > algo.MaxPeriod:
		return 0, fmt.Errorf("want a period of at most %d days", algo.MaxPeriod/algo.Day)
	}
	return period, nil
}

// rate reads a rate that is no limit of anybody's quota.
func (d *decoder) rate(n *node) core.Quota {
	if n.kind != text {
		d.reject(n, "N/period such as 200/s")
		return core.Quota{}
	}
	units, period, err := parseRate(n.text)
	switch {
	case err != nil:
		d.wrong(n, "%s, %v", n.describe(), err)
	case units == 0 || period == algo.Month:
		d.reject(n, "at least 1, and no calendar month")
	default:
		return core.TokenBucket(units, period)
	}
	return core.Quota{}
}
