package core

import (
	"errors"
	"fmt"
	"net/netip"
)

// Config configures a [Limiter]. Store and Limits are required; the zero value
// of every other field is the recommended setting.
type Config struct {
	// Store remembers spending. Required. The limiter does not close it.
	Store Store

	// Limits is the table, in the order in which clients are told of it. An empty
	// table that is not nil says "none" on purpose.
	Limits []Limit

	// Tiers is the closed list of tiers. Default: the tiers that Limits name.
	Tiers []string

	// DefaultTier is the tier of callers without a principal and of tiers that are
	// not in the list. Default: the first of Tiers. When that is empty too, such a
	// caller gets the strictest quota of each limit.
	DefaultTier string

	// Exempt requests are never counted, never denied and get no headers.
	Exempt []Exemption

	// Failure is the policy of limits that name none. Default: [FailOpen].
	Failure FailurePolicy

	// Prefetch is that of limits that name none, see [Limit.Prefetch]. Default 0: none.
	Prefetch float64

	// IPv6Prefix is the number of bits by which IPv6 clients are counted, 32 to
	// 128. Default 64, what one subscriber gets at least.
	IPv6Prefix int

	// Secret keys the hashes that stored keys consist of. Processes that share a
	// store must share it. Default: random, good for a store of this process.
	Secret []byte

	// Observer is told of every decision. Default: none.
	Observer Observer
}

// An Exemption exempts the requests that fit every field that is set.
type Exemption struct {
	Match      []string       // routes, as in [Limit.Match]
	IP         []netip.Prefix // client addresses
	Principals []string
}

// A FieldError is one mistake in a table. Path names the field as the limits file
// does, such as limits[2].tiers.free.limit.
type FieldError struct {
	Path    string
	Problem string // what is wrong, and what was expected
}

// Error returns "path: problem".
func (e *FieldError) Error() string { return e.Path + ": " + e.Problem }

// FieldErrors returns every [FieldError] inside err, in order.
func FieldErrors(err error) []*FieldError {
	if err == nil {
		return nil
	}
	if e, ok := err.(*FieldError); ok {
		return []*FieldError{e}
	}
	var list []*FieldError
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			list = append(list, FieldErrors(inner)...)
		}
	case interface{ Unwrap() error }:
		list = FieldErrors(e.Unwrap())
	}
	return list
}

// Validate reports every mistake in the table, without a store: an error that
// joins a [*FieldError] for each, or nil.
func (c Config) Validate() error {
	_, err := compile(c)
	return err
}

// problems collects field errors.
type problems struct{ errs []error }

func (p *problems) add(path, format string, args ...any) {
	p.errs = append(p.errs, &FieldError{Path: path, Problem: fmt.Sprintf(format, args...)})
}

func (p *problems) err() error {
	if len(p.errs) == 0 {
		return nil
	}
	return fmt.Errorf("core: %w", errors.Join(p.errs...))
}
