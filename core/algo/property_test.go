package algo

import (
	"math/rand/v2"
	"testing"
	"time"
	_ "time/tzdata" // the zones' rules, wherever the tests run
)

// Numbers that quotas are made of: common ones, primes, and the far ends.
var (
	someLimits = []int64{1, 1, 2, 3, 5, 7, 10, 10, 97, 100, 700, 1000, 4999, 65_521, 65_535, 1_000_003, 999_999_937, 1e9, 1e11, 1e15}
	somePeriod = []time.Duration{
		time.Microsecond, 7 * time.Microsecond, 9973 * time.Microsecond, time.Millisecond, 100 * time.Millisecond,
		time.Second, time.Second, time.Second, 3 * time.Second, 9 * time.Second, 9973 * time.Millisecond, time.Minute, time.Minute,
		time.Hour, 90 * time.Minute, 97 * time.Hour, Day, 7 * Day, 30 * Day, 400 * Day,
	}
	someZones = []string{"", "UTC", "Asia/Shanghai", "Europe/London", "America/Sao_Paulo", "Asia/Beirut", "America/Havana", "Australia/Lord_Howe", "Pacific/Auckland"}
)

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }

// aLimit returns a number of units, at most most.
func aLimit(rng *rand.Rand, most int64) int64 {
	for {
		n := pick(rng, someLimits)
		if rng.IntN(3) == 0 {
			n = 1 + rng.Int64N(1<<rng.IntN(50))
		}
		if n <= most {
			return n
		}
	}
}

func aPeriod(rng *rand.Rand) time.Duration {
	if rng.IntN(3) == 0 {
		return time.Duration(1+rng.Int64N(1<<rng.IntN(45))) * time.Microsecond
	}
	return pick(rng, somePeriod)
}

// aQuota returns the first random quota of a kind that compiles.
func aQuota(rng *rand.Rand, kind func(rng *rand.Rand) Spec) *Quota {
	for {
		if q, err := Compile(kind(rng)); err == nil {
			return q
		}
	}
}

func aBucket(rng *rand.Rand) Spec {
	s := bucketOf(aLimit(rng, 1<<53), aPeriod(rng), 0)
	switch rng.IntN(4) {
	case 0:
		s.Burst = 1
	case 1:
		s.Burst = aLimit(rng, 1<<53)
	case 2:
		s.Burst = 1 + rng.Int64N(2*s.Limit)
	}
	return s
}

func aMeter(rng *rand.Rand) Spec {
	s := aBucket(rng)
	return meterOf(s.Limit, s.Period, max(s.Burst, 1)-1)
}

func aShaper(rng *rand.Rand) Spec {
	s := aMeter(rng)
	s.Shaper = true
	return s
}

func anAligned(rng *rand.Rand) Spec {
	p := aPeriod(rng) % Day
	if p == 0 {
		p = 250 * time.Millisecond
	}
	return fixedOf(aLimit(rng, 1<<53), p)
}

func aFirst(rng *rand.Rand) Spec { return firstOf(aLimit(rng, 1<<53), aPeriod(rng)) }

func aDay(rng *rand.Rand) Spec {
	s := fixedOf(aLimit(rng, 1e9), Day*time.Duration(pick(rng, []int{1, 1, 2, 3, 7, 30, 400})))
	zone, err := time.LoadLocation(pick(rng, someZones))
	if err != nil {
		panic(err)
	}
	s.Zone = zone
	return s
}

func aMonth(rng *rand.Rand) Spec {
	s := aDay(rng)
	s.Period = Month
	return s
}

func aSliding(rng *rand.Rand) Spec { return slidingOf(aLimit(rng, MaxSliding), aPeriod(rng)) }

func aCells(rng *rand.Rand) Spec {
	return cellsOf(aLimit(rng, 1<<50), aPeriod(rng), MinCells+rng.IntN(MaxCells-MinCells+1))
}

func aLog(rng *rand.Rand) Spec { return logOf(aLimit(rng, MaxLog), aPeriod(rng)) }

// The promises of every algorithm, over random quotas, costs and clocks: decisions
// are the definition's, every number can be relied on to the microsecond, and no
// span holds more than doc.go says.
func testPromise(t *testing.T, kind func(rng *rand.Rand) Spec) {
	t.Parallel()
	eachTrace(t, manySteps(), func(rng *rand.Rand) error {
		return newWalk(rng, aQuota(rng, kind)).run(traceSteps)
	})
}

func TestPromiseOfTokenBucket(t *testing.T)   { testPromise(t, aBucket) }
func TestPromiseOfMeter(t *testing.T)         { testPromise(t, aMeter) }
func TestPromiseOfQueue(t *testing.T)         { testPromise(t, aShaper) }
func TestPromiseOfFixedWindow(t *testing.T)   { testPromise(t, anAligned) }
func TestPromiseOfFirstRequest(t *testing.T)  { testPromise(t, aFirst) }
func TestPromiseOfDays(t *testing.T)          { testPromise(t, aDay) }
func TestPromiseOfMonths(t *testing.T)        { testPromise(t, aMonth) }
func TestPromiseOfSlidingWindow(t *testing.T) { testPromise(t, aSliding) }
func TestPromiseOfCells(t *testing.T)         { testPromise(t, aCells) }
func TestPromiseOfLog(t *testing.T)           { testPromise(t, aLog) }
