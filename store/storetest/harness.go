package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidegate/tidegate/core"
)

// A Harness says how to make the stores to be tested, and what their time is.
// Only New is required.
type Harness struct {
	// New returns an empty store. It is called once a case, inside the case's
	// bubble when Virtual. The suite closes what it returns; anything else is
	// cleaned up with t.Cleanup.
	New func(t testing.TB) core.Store

	// Virtual: the store reads time.Now and nothing else, so its cases can run in
	// bubbles, where time is exact and free.
	Virtual bool

	// Now and Advance drive a store whose clock can be set: Now is the time of
	// the newest store, and Advance moves it. Both or neither; not for Virtual
	// stores. Without them, and not Virtual, a store lives in real time.
	Now     func() time.Time
	Advance func(d time.Duration)

	// Lacks says what the store does not promise. Cases that need it are skipped.
	Lacks Claim
}

// A Case is one rule of the contract.
type Case struct {
	Name  string
	Rule  string // the sentence that a failing store has broken
	Needs Claim
	Check func(ctx context.Context, s *Subject) error
}

// Run checks every case against the harness, each as a subtest with a store of
// its own.
func Run(t *testing.T, h Harness) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			if missing := c.Needs & h.lacks(); missing != 0 {
				t.Skipf("the harness lacks %v", missing)
			}
			if err := h.Check(t, c); err != nil {
				t.Errorf("%v\n\tbroken rule: %s", err, c.Rule)
			}
		})
	}
}

// Check checks one case against a new store and returns what is wrong with it.
func (h Harness) Check(t *testing.T, c Case) (err error) {
	if err := h.validate(); err != nil {
		return err
	}
	if !h.Virtual {
		return h.check(t, c)
	}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(anyTime) // bubbles begin at midnight, where every window begins
		err = h.check(t, c)
	})
	return err
}

// anyTime takes a bubble from the midnight that it begins at to a time at which
// nothing begins or ends, not even a microsecond.
const anyTime = 7*time.Hour + 23*time.Minute + 11*time.Second + 123_456_789*time.Nanosecond

func (h Harness) check(t *testing.T, c Case) (err error) {
	s := &Subject{Store: h.New(t), name: t.Name(), harness: h}
	defer func() { err = errors.Join(err, closing(s.Store)) }()
	return c.Check(t.Context(), s)
}

func closing(s core.Store) error {
	if err := s.Close(); err != nil {
		return fmt.Errorf("closing the store: %w", err)
	}
	return nil
}

func (h Harness) validate() error {
	switch {
	case h.New == nil:
		return errors.New("storetest: Harness.New is nil, want a function that makes a store")
	case (h.Now == nil) != (h.Advance == nil):
		return errors.New("storetest: Harness has one of Now and Advance, want both or neither")
	case h.Virtual && h.Advance != nil:
		return errors.New("storetest: Harness is Virtual and has Advance, want one kind of time")
	}
	return nil
}

// exact reports whether a span can be awaited to the microsecond.
func (h Harness) exact() bool { return h.Virtual || h.Advance != nil }

func (h Harness) lacks() Claim {
	if !h.exact() {
		return h.Lacks | exactTime
	}
	return h.Lacks
}

// A Subject is the store that a case checks, and its time.
type Subject struct {
	core.Store
	name    string // of the test
	harness Harness
}

func (s *Subject) now() time.Time {
	if s.harness.Now != nil {
		return s.harness.Now()
	}
	return time.Now()
}

func (s *Subject) sleep(d time.Duration) {
	switch {
	case d <= 0:
	case s.harness.Advance != nil:
		s.harness.Advance(d)
	default:
		time.Sleep(d)
	}
}
