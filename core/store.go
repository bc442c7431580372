package core

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/tidegate/tidegate/core/algo"
)

// A Store remembers what each key has spent.
//
// It is the small half of the design: a Store moves numbers, and everything
// that a caller notices (matching, tiers, keys, headers) is in [Limiter].
// Implementations must pass the suite in package storetest.
//
// Rules for every method:
//   - The store supplies the time, once a call. Stored time never goes back: a
//     clock that steps back freezes refill and makes no units.
//   - A denial is a result. An error means "I do not know", matches [ErrStore],
//     and is a [*StoreError] that says whether anything may have been spent.
//   - Slices that are passed in are not retained, and charges are not modified.
//   - What is stored has a bound and a lifetime: until it equals a fresh state.
//
// Methods may be called concurrently.
type Store interface {
	// Take decides every charge at one instant and spends all of them or none.
	// It fills results[i] for charges[i]; the slices have the same length.
	//
	//   - Charges may name the same key more than once; each sees what those
	//     before it took.
	//   - When a charge that is not Shadow is denied, no key's spending changes,
	//     the keys of granted charges included. Results then say of each charge
	//     whether it would have been granted, and what remains without it. Only
	//     the denials of limits with a penalty are counted, in the same step.
	//   - A Shadow charge never keeps the others from being spent. It is spent
	//     itself when the others are and it fits.
	Take(ctx context.Context, charges []Charge, results []Result) error

	// Peek answers as Take would and spends nothing. Remaining, NextAfter and
	// ResetAfter describe the keys as they are.
	Peek(ctx context.Context, charges []Charge, results []Result) error

	// Give returns units of earlier grants to the window or bucket that they
	// came from, never above the quota. What has been refilled or forgotten
	// meanwhile is not returned a second time.
	Give(ctx context.Context, refunds []Refund) error

	// Reset forgets what the keys of charges have spent, with their denials and
	// blocks. Only Key and Quota of a charge are used.
	Reset(ctx context.Context, charges []Charge) error

	// Block denies the charge's key everything for a span, or releases it when
	// the span is 0. The charge's limit must have a penalty.
	Block(ctx context.Context, charge Charge, span time.Duration) error

	// Traits says what the store is. It does not change and costs nothing.
	Traits() Traits

	// Close stops what the store runs in the background. A closed store goes on
	// answering where it can. Close may be called more than once.
	Close() error
}

// Traits says what a store is, for what stands in front of it. The zero value
// is a store of this process that decides exactly.
type Traits struct {
	// Shared: other processes may count in the same store.
	Shared bool

	// Splits: charges of different callers may be decided in several places and
	// given back when one of them denies. Such a store never admits more than
	// allowed, but for one round trip may deny wrongly.
	Splits bool

	// Prefetches: units may be held by this process before they are asked for.
	Prefetches bool

	// FailsOver: when what is behind the store fails, it decides by each charge's
	// Policy, so that an error means that a closed limit refuses.
	FailsOver bool
}

// Never is the RetryAfter of a charge that no wait makes possible: its cost is
// above what the limit can hold, or the limit is 0.
const Never = time.Duration(math.MaxInt64)

// A Charge is one request's cost against one key of one limit.
type Charge struct {
	Key   Key
	Limit string      // the limit's name
	Quota *algo.Quota // what the caller's tier gets

	// Cost is the number of units that must be granted whole. 0 or more.
	Cost int64

	// Extra is a number of units to grant after the cost, as far as they go.
	Extra int64

	// MaxDelay is the longest acceptable wait. With 0 the charge is decided for
	// now. Above 0, a bucket may grant the charge for a later turn, and the
	// result's Delay says when that is. Other algorithms do not queue.
	MaxDelay time.Duration

	// Slot identifies a concurrency slot, so that it is given back once. 0
	// otherwise.
	Slot uint64

	// Hold is how long a concurrency slot outlives an instance that no longer
	// renews it. Only for shared stores.
	Hold time.Duration

	// Penalty blocks the key when it is denied too often. nil: no penalty.
	Penalty *algo.Penalty

	// Shadow: decide and report, but never deny.
	Shadow bool

	// Prefetch is the largest share of the quota that one process may hold for this
	// key before it is asked for: 0 holds nothing, so that the charge is exact. Stores
	// themselves do not look at it; the Lease in package store does.
	Prefetch float64

	// Policy says what becomes of the charge when the store fails. Stores
	// themselves do not look at it; the decorators in package store do.
	Policy FailurePolicy
}

// A Result answers one charge.
type Result struct {
	Granted bool

	// Blocked: denied because of a penalty, whatever is left of the quota.
	Blocked bool

	// Unknown: the store could not say and the limit's policy let the charge
	// pass. No number of the result means anything.
	Unknown bool

	// Partial: the call was denied without asking the store about this charge. It says
	// Granted, and no number of it means anything.
	Partial bool

	// Remaining is how many charges of cost 1 would pass right now, after this one.
	Remaining int64

	// Extra is how much of Charge.Extra was granted.
	Extra int64

	// Delay is how long to wait before going ahead with a granted charge.
	Delay time.Duration

	// RetryAfter, of a denied charge, is the wait after which this very charge
	// is granted, if nobody else takes from the key: exact, or Never.
	RetryAfter time.Duration

	// NextAfter is the time until Remaining grows by one; 0 when nothing is spent.
	NextAfter time.Duration

	// ResetAfter is the time until the key equals one never used.
	ResetAfter time.Duration

	// Receipt says where the charge was counted, for Give.
	Receipt algo.Receipt
}

// A Refund returns units of an earlier charge.
type Refund struct {
	Key     Key
	Limit   string
	Quota   *algo.Quota
	Units   int64
	Receipt algo.Receipt
	Slot    uint64

	// Turn returns the units only when no later grant stands behind them: the
	// place of somebody who stopped waiting. Otherwise the turn passes unused.
	Turn bool
}

// ErrStore means that the store could not answer: the request was neither
// allowed nor denied. A limit's [FailurePolicy] decides what happens next.
var ErrStore = errors.New("tidegate: store unavailable")

// A StoreError is the failure of a store. It matches [ErrStore] and its cause.
type StoreError struct {
	// Kind is a short word for metrics, from a fixed list for each store:
	// timeout, refused, auth, reply and the like.
	Kind string

	// MaybeSpent: the charges may have been spent all the same, as when a reply
	// was lost on its way. They must not be sent again.
	MaybeSpent bool

	// Alive: the store answered, and its answer was an error, such as a value
	// that is not its own or a right that it lacks. It says nothing about whether
	// the next request would be answered, so no circuit breaker counts it.
	Alive bool

	// Failed lists the charges that could not be decided when the others could: those
	// have been decided as one, and their results are there. nil: none was decided.
	Failed []int

	// Err is the cause.
	Err error
}

// Error returns the kind and the cause.
func (e *StoreError) Error() string {
	return fmt.Sprintf("%v (%s): %v", ErrStore, e.Kind, e.Err)
}

// Unwrap makes errors.Is find [ErrStore] and the cause.
func (e *StoreError) Unwrap() []error { return []error{ErrStore, e.Err} }
