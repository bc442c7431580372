package guard

import (
	"context"
	"net/http"

	"github.com/tidegate/tidegate/core"
)

// A Visit is one request at one guard. It is made for the request and dropped
// with it: one allocation that is the decision, the context that carries it, and
// room for the header's text.
type Visit[C any] struct {
	core.Carrier
	node    node
	guard   *Guard[C]
	c       C
	request *http.Request

	status    [statusRoom]byte // the text of RateLimit
	statusVal [1]string
	retryVal  [1]string
}

// statusRoom holds the RateLimit field of about four limits. Longer ones allocate.
const statusRoom = 160

// A node is what is known of a request from an earlier guard, of any framework.
type node struct {
	guard    *core.Limiter
	only     string
	stages   core.StageSet
	decision *core.Decision
	before   *node
	line     string // what this guard wrote as RateLimit
	policy   string // and as RateLimit-Policy
}

// decidedLimit reports whether the limit was charged at this node.
func (n *node) decidedLimit(name string) bool {
	if n.only == name {
		return true
	}
	for i := range n.decision.Len() {
		if n.decision.Limit(i).Limit == name {
			return true
		}
	}
	return false
}

type nodeKey struct{}

func visitFrom(ctx context.Context) *node {
	n, _ := ctx.Value(nodeKey{}).(*node)
	return n
}

// Value implements [context.Context].
func (v *Visit[C]) Value(key any) any {
	if key == (nodeKey{}) {
		return &v.node
	}
	return v.Carrier.Value(key)
}

// Request returns the request to go on with: its context carries the decision and
// the identity.
func (v *Visit[C]) Request() *http.Request { return v.request.WithContext(v) }

// Return tells the original request what the mux inside found out about the copy
// that went on: middleware outside reads the pattern when the handler is done.
func (v *Visit[C]) Return(went *http.Request) { v.request.Pattern = went.Pattern }

// Counts reports whether the final status decides what the request is charged, so
// that the adapter must call Commit.
func (v *Visit[C]) Counts() bool { return v.Decision.Counts() }

// Commit settles the charges by the final status. Only the first call counts.
func (v *Visit[C]) Commit(status int) {
	// A store that cannot take the units back has been reported to the observer; for
	// the response it makes no difference.
	_ = v.Decision.Commit(v.Context, status)
}

// Header implements [core.Source].
func (v *Visit[C]) Header(name string) string { return v.request.Header.Get(name) }

// Cost implements [core.Source].
func (v *Visit[C]) Cost(limit string) (int64, bool) {
	if cost := v.guard.opts.Costs[limit]; cost != nil {
		return cost(v.c), true
	}
	return 0, false
}

// KeyValue extracts the value of a [core.ByValue] key.
func (v *Visit[C]) KeyValue(name string) string {
	if value := v.guard.opts.Values[name]; value != nil {
		return value(v.c)
	}
	return ""
}
