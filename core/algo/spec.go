package algo

import (
	"fmt"
	"time"
)

// Algorithm names how a quota is counted. The zero value is [TokenBucket].
type Algorithm uint8

// The algorithms. Their texts are the words of the limits file.
const (
	TokenBucket   Algorithm = iota // refills evenly up to a burst
	LeakyBucket                    // drains evenly; as a queue it delays, as a meter it denies
	FixedWindow                    // counts from one edge to the next
	SlidingWindow                  // two weighted counters, or n cells
	SlidingLog                     // remembers every charge
	Concurrency                    // how many at once
)

var algorithmNames = [...]string{
	"token-bucket", "leaky-bucket", "fixed-window", "sliding-window", "sliding-log", "concurrency",
}

// String returns the algorithm's name in the limits file.
func (a Algorithm) String() string {
	if int(a) < len(algorithmNames) {
		return algorithmNames[a]
	}
	return fmt.Sprintf("algorithm(%d)", uint8(a))
}

// ParseAlgorithm is the inverse of [Algorithm.String].
func ParseAlgorithm(name string) (Algorithm, error) {
	for i, n := range algorithmNames {
		if n == name {
			return Algorithm(i), nil
		}
	}
	return 0, fmt.Errorf("unknown algorithm %q, want one of token-bucket, leaky-bucket, fixed-window, sliding-window, sliding-log, concurrency", name)
}

// Month is the [Spec.Period] that stands for one calendar month. Only
// [FixedWindow] takes it.
const Month time.Duration = -1

// Day is 24 hours, the shortest period that is counted from local midnight.
const Day = 24 * time.Hour

// The bounds that [Compile] holds a Spec to.
const (
	MaxPeriod   = 400 * Day // longer windows are error-prone: nobody waits a year for a refill
	MaxLog      = 10_000    // a log's memory grows with its limit
	MaxSliding  = 1<<31 - 1 // two counters share one word of state
	MaxCells    = 60
	MinCells    = 2
	maxFillTime = 100 * 365 * Day
)

// A Spec is a quota as a person writes it. [Compile] checks it and makes the
// [Quota] that stores decide with.
type Spec struct {
	Algorithm Algorithm

	// Limit is the number of units a Period. 0 means that nothing is allowed.
	// For Concurrency it is the number at once.
	Limit int64

	// Period is a whole number of microseconds, or Month. Unused by Concurrency.
	Period time.Duration

	// Burst is the capacity of a token bucket. 0 means Limit.
	Burst int64

	// Queue is how many may wait (or, as a meter, pass at once beyond the even
	// pace) in a leaky bucket. Default 0.
	Queue int64

	// Shaper makes a leaky bucket delay requests until their turn instead of
	// passing them at once.
	Shaper bool

	// Cells is the number of cells of a sliding window. 0 means two counters.
	Cells int

	// FirstRequest starts a fixed window at a key's first charge instead of at
	// the clock's edge.
	FirstRequest bool

	// Zone is where days and months begin. nil means UTC. Only for fixed
	// windows of a day or more.
	Zone *time.Location
}

// A FieldError says which field of a [Spec] is wrong, with the name that the
// limits file uses for it.
type FieldError struct {
	Field   string // algorithm, limit, burst, queue, buckets, timezone, align; of a Penalty: after, within, block
	Problem string // what is wrong, and what was expected
}

// Error returns "field: problem".
func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

func wrong(field, format string, args ...any) error {
	return &FieldError{Field: field, Problem: fmt.Sprintf(format, args...)}
}
