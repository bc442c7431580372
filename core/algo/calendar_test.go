package algo

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Zones whose days are hard: midnights that are skipped or come twice, a whole day
// that is skipped, changes by half an hour and one minute past midnight.
var hardZones = []string{
	"UTC", "America/Sao_Paulo", "Asia/Beirut", "America/Havana", "Asia/Gaza", "Pacific/Apia", "Africa/Cairo",
	"America/Asuncion", "Asia/Shanghai", "Europe/London", "Australia/Lord_Howe", "America/St_Johns", "Asia/Kathmandu", "Antarctica/Troll",
}

var (
	calendarStart = time.Date(2005, 1, 1, 12, 0, 0, 0, time.UTC).UnixMicro()
	calendarEnd   = time.Date(2035, 1, 1, 12, 0, 0, 0, time.UTC).UnixMicro()
)

func calendarOf(t testing.TB, zone string, period time.Duration) (*calendar, Spec) {
	t.Helper()
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	s := fixedOf(10, period)
	s.Zone = loc
	return newCalendar(s), s
}

// Windows follow each other without a gap or an overlap, each begins with the
// first instant of its own local date, and the instants in it belong to it.
func TestCalendarTilesTime(t *testing.T) {
	for _, zone := range hardZones {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			for _, period := range []time.Duration{Day, 2 * Day, 3 * Day, 7 * Day, 30 * Day, 365 * Day, 400 * Day, Month} {
				c, s := calendarOf(t, zone, period)
				if err := checkTiles(c, windowNumber(s)); err != nil {
					t.Errorf("windows of %v: %v", days(period), err)
				}
			}
		})
	}
}

// checkTiles walks through the windows of thirty years. number is the reference.
func checkTiles(c *calendar, number func(now int64) int64) error {
	for now := calendarStart; now < calendarEnd; {
		b := c.find(now)
		if now < b.start || b.end <= now {
			return fmt.Errorf("the window of %v is %v, which does not contain it", utc(now), b)
		}
		n := number(now)
		if first := number(b.start); first != n {
			return fmt.Errorf("%v is in window %d, its start %v in %d", utc(now), n, utc(b.start), first)
		}
		if before := number(b.start - 1); before >= n {
			return fmt.Errorf("window %d begins at %v, but the instant before is in %d", n, utc(b.start), before)
		}
		if last := number(b.end - 1); last != n {
			return fmt.Errorf("window %d ends at %v, but the instant before is in %d", n, utc(b.end), last)
		}
		for _, at := range []int64{b.start, b.start + 1, b.start + (b.end-b.start)/2, b.end - 1} {
			if again := c.find(at); again != b {
				return fmt.Errorf("the window of %v is %v, want %v", utc(at), again, b)
			}
		}
		if next := c.find(b.end); next.start != b.end {
			return fmt.Errorf("the window after %v is %v", b, next)
		}
		now = b.end
	}
	return nil
}

func utc(us int64) string { return time.UnixMicro(us).UTC().Format("2006-01-02T15:04:05.999999Z") }

// String makes a window readable.
func (b bounds) String() string { return utc(b.start) + " to " + utc(b.end) }

// Around every change of an offset, minute by minute.
func TestCalendarAroundTransitions(t *testing.T) {
	for _, zone := range hardZones {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			c, s := calendarOf(t, zone, Day)
			number := windowNumber(s)
			at := time.UnixMicro(calendarStart).In(c.zone)
			for at.UnixMicro() < calendarEnd {
				_, next := at.ZoneBounds()
				if next.IsZero() {
					break
				}
				for m := -26 * time.Hour; m < 26*time.Hour; m += time.Minute {
					now := next.Add(m).UnixMicro()
					b := c.find(now)
					if now < b.start || b.end <= now || number(b.start) != number(now) || number(b.start-1) >= number(now) {
						t.Fatalf("the day of %v is %v", utc(now), b)
					}
				}
				at = next
			}
		})
	}
}

func TestCalendarDaysOnTheClock(t *testing.T) {
	for _, c := range []struct {
		zone       string
		period     time.Duration
		now        string
		start, end string
		why        string
	}{
		{"UTC", Day, "2024-02-29T13:00:00Z", "2024-02-29T00:00:00Z", "2024-03-01T00:00:00Z", "a day"},
		{"UTC", Month, "2024-02-29T13:00:00Z", "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z", "a month of a leap year"},
		{"UTC", 7 * Day, "2024-01-01T00:00:00Z", "2023-12-28T00:00:00Z", "2024-01-04T00:00:00Z", "1970-01-01 was a Thursday, and so are all multiples of seven days"},
		{"UTC", 30 * Day, "1970-01-31T00:00:00Z", "1970-01-31T00:00:00Z", "1970-03-02T00:00:00Z", "day 30"},
		{"Asia/Shanghai", Day, "2024-01-01T15:59:59Z", "2023-12-31T16:00:00Z", "2024-01-01T16:00:00Z", "the first of January ends at 16:00 UTC"},
		{"Asia/Shanghai", 2 * Day, "2024-01-01T12:00:00Z", "2023-12-30T16:00:00Z", "2024-01-01T16:00:00Z", "the first of January is day 19723, the second of its window"},
		{"Europe/London", Day, "2024-03-31T12:00:00Z", "2024-03-31T00:00:00Z", "2024-03-31T23:00:00Z", "a day of 23 hours"},
		{"Europe/London", Day, "2024-10-27T12:00:00Z", "2024-10-26T23:00:00Z", "2024-10-28T00:00:00Z", "a day of 25 hours"},
		{"Europe/London", Month, "2024-07-15T12:00:00Z", "2024-06-30T23:00:00Z", "2024-07-31T23:00:00Z", "a month in summer"},
		{"America/Sao_Paulo", Day, "2018-11-04T12:00:00Z", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z", "midnight is skipped: the day begins at 01:00"},
		{"America/Sao_Paulo", Day, "2018-02-18T02:30:00Z", "2018-02-17T02:00:00Z", "2018-02-18T03:00:00Z", "23:00 to 24:00 comes twice, both on the 17th"},
		{"America/Havana", Day, "2024-11-03T05:30:00Z", "2024-11-03T04:00:00Z", "2024-11-04T05:00:00Z", "00:00 to 01:00 comes twice: the day begins with the first"},
		{"Pacific/Apia", Day, "2011-12-30T09:00:00Z", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z", "the 29th, before the day that never was"},
		{"Pacific/Apia", Day, "2011-12-30T11:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z", "the 31st follows it at once"},
		{"Pacific/Apia", Month, "2011-12-30T11:00:00Z", "2011-12-01T10:00:00Z", "2011-12-31T10:00:00Z", "a December of thirty days"},
		{"America/New_York", Day, "1970-01-01T03:00:00Z", "1969-12-31T05:00:00Z", "1970-01-01T05:00:00Z", "still 1969 there"},
		{"America/New_York", 7 * Day, "1970-01-01T03:00:00Z", "1969-12-25T05:00:00Z", "1970-01-01T05:00:00Z", "day −1 is in the seven days before day 0"},
	} {
		cal, _ := calendarOf(t, c.zone, c.period)
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		got := cal.find(now.UnixMicro())
		if utc(got.start) != c.start || utc(got.end) != c.end {
			t.Errorf("%s, %v: the window of %s is %v, want %s to %s: %s", c.zone, c.period, c.now, got, c.start, c.end, c.why)
		}
	}
}

// oddZone makes a zone of a rule as POSIX writes them, in the form of a zone file
// without any past.
func oddZone(t *testing.T, rule string) *time.Location {
	t.Helper()
	// A header of version 2 twice, each for one kind of local time ("S", UTC−3) and
	// nothing else; what follows them, and the rule.
	header := "TZif2" + strings.Repeat("\x00", 15+16) + "\x00\x00\x00\x01" + "\x00\x00\x00\x02"
	kind := "\xff\xff\xd5\xd0" + "\x00\x00" + "S\x00"
	zone, err := time.LoadLocationFromTZData("Odd", []byte(header+kind+header+kind+"\n"+rule+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// A rule may skip from before midnight to after it, which no zone does today.
func TestCalendarWhereTheClockJumpsOverMidnight(t *testing.T) {
	s := fixedOf(10, Day)
	s.Zone = oddZone(t, "SSS3DDD2,M3.2.0/23:30,M11.1.0/0:30")
	c := newCalendar(s)
	if err := checkTiles(c, windowNumber(s)); err != nil {
		t.Error(err)
	}
	jump := time.Date(2024, 3, 11, 2, 30, 0, 0, time.UTC)
	if got := c.find(jump.UnixMicro()); got.start != jump.UnixMicro() {
		t.Errorf("the day in which the clock jumps to 00:30 is %v, want it to start there, at %v", got, jump)
	}
}

// The last answer is kept, and used only where it holds.
func TestCalendarRemembersTheLastWindow(t *testing.T) {
	c, _ := calendarOf(t, "Europe/London", Day)
	for _, d := range []time.Duration{0, Day, 0, time.Hour, -time.Microsecond, 0, 3 * Day} {
		start, end := c.bounds(at(d))
		if want := c.find(at(d)); want != (bounds{start, end}) {
			t.Errorf("bounds at %v: %v, want %v", d, bounds{start, end}, want)
		}
	}
	if got := testing.AllocsPerRun(100, func() { c.bounds(at(0)) }); got != 0 {
		t.Errorf("bounds of a window already known: %v allocations, want 0", got)
	}
}

// Quotas in the same zone are the same, in another one are not, whatever the zones
// are called.
func TestZonesAreToldApart(t *testing.T) {
	in := func(zone *time.Location) Spec {
		s := fixedOf(10, Day)
		s.Zone = zone
		return s
	}
	load := func() *time.Location {
		zone, err := time.LoadLocation("Asia/Shanghai")
		if err != nil {
			t.Fatal(err)
		}
		return zone
	}
	shanghai := mustCompile(t, in(load()))
	if got := mustCompile(t, in(load())); got != shanghai {
		t.Errorf("the same zone, loaded twice, made two quotas")
	}
	if mustCompile(t, in(time.UTC)) != mustCompile(t, in(nil)) {
		t.Errorf("UTC and no zone made two quotas")
	}
	east, west := time.FixedZone("X", 3600), time.FixedZone("X", -3600)
	if mustCompile(t, in(east)) == mustCompile(t, in(west)) {
		t.Errorf("two zones of the same name are one quota")
	}
	if got := shanghai.Spec().Zone.String(); got != "Asia/Shanghai" {
		t.Errorf("Spec().Zone = %s, want Asia/Shanghai", got)
	}
}

func FuzzCalendar(f *testing.F) {
	for i := range hardZones {
		f.Add(uint8(i), uint16(1), calendarStart)
		f.Add(uint8(i), uint16(0), calendarEnd)
		f.Add(uint8(i), uint16(7), time.Date(2011, 12, 30, 11, 0, 0, 0, time.UTC).UnixMicro())
		f.Add(uint8(i), uint16(7), int64(0))
	}
	f.Fuzz(func(t *testing.T, zone uint8, days uint16, now int64) {
		if now < 0 || now > lateEnough {
			t.Skip("no instant of this package")
		}
		period := time.Duration(days%401) * Day
		if period == 0 {
			period = Month
		}
		c, s := calendarOf(t, hardZones[int(zone)%len(hardZones)], period)
		b, number := c.find(now), windowNumber(s)
		if now < b.start || b.end <= now {
			t.Fatalf("%v, %v: the window of %v is %v", c.zone, period, utc(now), b)
		}
		if c.find(b.start) != b || c.find(b.end-1) != b || c.find(b.end).start != b.end {
			t.Fatalf("%v, %v: %v is not what its own ends are in", c.zone, period, b)
		}
		if n := number(now); number(b.start) != n || number(b.end-1) != n || number(b.start-1) >= n || number(b.end) <= n {
			t.Fatalf("%v, %v: the window of %v is %v", c.zone, period, utc(now), b)
		}
	})
}
