package core

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tidegate/tidegate/core/algo"
)

// A Limit is one named rule: which requests it counts, by what key, and what
// each tier gets. Only Name and either Tiers or Quota are required.
type Limit struct {
	// Name identifies the limit: on the wire, in metrics and in stored keys. A
	// limit that is renamed starts anew, and so does one whose algorithm changes.
	// [A-Za-z0-9_.:/-], 1 to 64 characters, unique.
	Name string

	// Match lists the routes that the limit counts, each "[METHOD ]PATTERN"; see
	// [ParsePattern]. All of them share one count. Empty: every request, those
	// that no route serves too.
	Match []string

	// Except lists routes that the limit does not count.
	Except []string

	// Key is what the limit counts by. Default: [ByPrincipal]. See [Limit.Keys]
	// for several parts.
	Key KeyPart

	// Keys combines several parts, and then Key must be left out.
	Keys []KeyPart

	// Tiers gives each tier its quota. Every tier of the table must appear, or
	// "*" cover the rest. All have one algorithm, and all or none of them buckets.
	// A change of numbers keeps what callers have spent. Setting or removing the
	// buckets of a sliding window starts the limit anew, since they are stored in
	// another form; changing how many there are does not.
	Tiers Tiers

	// Quota is everybody's, when there are no Tiers.
	Quota Quota

	// Cost is what one request costs. 0 means 1. Adapters can set the cost of each
	// request with their Cost option, where 0 is free.
	Cost int64

	// StoreFailure says what becomes of requests while the store fails. Default:
	// the table's.
	StoreFailure FailurePolicy

	// Exceeded says what happens to a request that the limit denies. Default:
	// [Reject].
	Exceeded Exceeded

	// MaxWait is the longest that [Wait] holds a request. Default 1s.
	MaxWait time.Duration

	// Count makes the limit keep only the charges of responses with these
	// statuses. The charge is taken before the handler runs and given back when
	// the final status is not in the list. Empty: every response counts.
	Count []int

	// Penalty blocks keys that are denied too often. nil: none.
	Penalty *algo.Penalty

	// Visibility says whether the limit is named to clients. Default: yes, unless
	// its key is [Global].
	Visibility Visibility

	// Stage is when the limit is decided. Default: [Main].
	Stage Stage

	// Manual limits are charged by Go code only, never by a request.
	Manual bool

	// Prefetch is the largest share of a key's quota that one process may hold before
	// it is asked for, above 0 and at most 1: fewer round trips, for answers that are
	// less exact. [NoPrefetch] holds nothing. 0: the table's, which limits that cannot
	// hold units or are closed on failure do not take. For token buckets and fixed
	// windows without Wait, Count or Penalty, and only where a Lease of package store
	// is in front of the store.
	Prefetch float64

	// Hold is how long a slot of a concurrency limit stays taken in a shared store when
	// the process that has it is gone. Default 30s.
	Hold time.Duration
}

// NoPrefetch is the [Limit.Prefetch] of a limit that is exact whatever the table says.
const NoPrefetch = -1

// Tiers maps each tier to its quota. The key "*" covers tiers not named.
type Tiers map[string]Quota

// FailurePolicy says what becomes of a limit while the store cannot answer.
type FailurePolicy uint8

// The failure policies.
const (
	FailDefault FailurePolicy = iota // the table's policy; there, the same as FailOpen
	FailOpen                         // allows: an outage removes the limit, and not the service
	FailClosed                       // refuses: protects what is behind the limit
	FailLocal                        // goes on in this process with its own share of the quota
)

// Exceeded says what happens to a request that a limit denies.
type Exceeded uint8

// What happens to a denied request.
const (
	ExceededDefault Exceeded = iota // Reject; a leaky bucket with a queue waits
	Reject                          // answer 429
	Wait                            // hold the request until its turn
	Shadow                          // let it pass, and report that it would have been denied
	Fallback                        // hand it to the adapter's fallback handler
)

// Visibility says whether clients are told of a limit.
type Visibility uint8

// The visibilities.
const (
	VisibilityAuto Visibility = iota // visible, unless the key is Global
	Visible                          // named in headers and bodies
	Hidden                           // enforced, and named nowhere
)

// Stage is a point on a request's way at which limits are decided.
type Stage uint8

// The stages.
const (
	Main  Stage = iota // where the adapter is mounted, usually after authentication
	Early              // before authentication: keys ip, route, global and header only
)

var (
	policyNames   = []string{"", "open", "closed", "local"}
	exceededNames = []string{"", "reject", "wait", "shadow", "fallback"}
	stageNames    = []string{"main", "early"}
)

// String returns the policy as the limits file writes it.
func (p FailurePolicy) String() string { return nameOf(policyNames, int(p)) }

// String returns the word of the limits file.
func (e Exceeded) String() string { return nameOf(exceededNames, int(e)) }

// String returns the word of the limits file.
func (s Stage) String() string { return nameOf(stageNames, int(s)) }

func nameOf(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("unknown(%d)", i)
}

// ParseFailurePolicy reads open, closed or local.
func ParseFailurePolicy(text string) (FailurePolicy, error) {
	i, err := parseName("store failure policy", policyNames, text)
	return FailurePolicy(i), err
}

// ParseExceeded reads reject, wait, shadow or fallback.
func ParseExceeded(text string) (Exceeded, error) {
	i, err := parseName("action", exceededNames, text)
	return Exceeded(i), err
}

// ParseStage reads main or early.
func ParseStage(text string) (Stage, error) {
	i, err := parseName("stage", stageNames, text)
	return Stage(i), err
}

func parseName(what string, names []string, text string) (int, error) {
	want := ""
	for i, name := range names {
		if name == "" {
			continue
		}
		if name == text {
			return i, nil
		}
		if want != "" {
			want += ", "
		}
		want += name
	}
	return 0, fmt.Errorf("unknown %s %q, want one of %s", what, text, want)
}

// keys returns the parts of the limit's key.
func (l *Limit) keys() []KeyPart {
	switch {
	case len(l.Keys) > 0:
		return l.Keys
	case l.Key.kind == partNone:
		return []KeyPart{ByPrincipal}
	}
	return []KeyPart{l.Key}
}

// hidden reports whether clients are told nothing of the limit.
func (l *Limit) hidden() bool {
	if l.Visibility != VisibilityAuto {
		return l.Visibility == Hidden
	}
	keys := l.keys()
	return len(keys) == 1 && keys[0] == Global
}

// algorithm returns how the limit counts, taken from any of its quotas that
// counts at all.
func (l *Limit) algorithm() algo.Algorithm {
	if l.Quota.set && !l.Quota.unlimited {
		return l.Quota.spec.Algorithm
	}
	for _, tier := range slices.Sorted(maps.Keys(l.Tiers)) { // the same one every time
		if q := l.Tiers[tier]; q.set && !q.unlimited {
			return q.spec.Algorithm
		}
	}
	return algo.TokenBucket
}
