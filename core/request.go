package core

import "net/netip"

// A Request is what a decision needs to know of a request. Adapters make it.
type Request struct {
	Method string

	// Route is the route that serves the request, as the framework writes it. Empty:
	// none does.
	Route  string
	Syntax RouteSyntax

	// Addr is the client's address, from a source that can be trusted. The zero
	// Addr counts as one client of no address.
	Addr netip.Addr

	Identity Identity

	// Source supplies what few limits need. It may be nil: then header and value
	// keys count by address and every cost is the limit's own.
	Source Source

	// Stages says which limits to decide. The zero value is all of them.
	Stages StageSet

	// Outer is what an earlier mount decided of the same request, or nil. Limits
	// that have counted the request there are not decided again.
	Outer *Decision
}

// A Source supplies parts of a request that only some limits ask for.
type Source interface {
	// Header returns the first value of a request header, or "".
	Header(name string) string

	// KeyValue returns the value of a [ByValue] key, or "" when the request has none.
	KeyValue(name string) string

	// Cost returns what the request costs under a limit, and whether the adapter
	// was given a function that says so. Costs below 0 count as 0.
	Cost(limit string) (units int64, ok bool)
}

// A StageSet is a set of stages.
type StageSet uint8

// The stage sets. The zero value means both.
const (
	MainStage  StageSet = 1 << Main
	EarlyStage StageSet = 1 << Early
	BothStages          = MainStage | EarlyStage
)
