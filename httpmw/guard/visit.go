package guard

import (
	"context"
	"net/http"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/headers"
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
	outcome outcome

	status  [statusRoom]byte // the text of RateLimit
	quota   [2]string        // the values of RateLimit and RateLimit-Policy
	refusal *[3]string       // those of a refusal's fields
}

// statusRoom holds the RateLimit field of about four limits. Longer ones allocate.
const statusRoom = 160

// The fields whose values a visit has room for. Each response has its own, so that
// whoever edits them in place edits no other response.
const (
	quotaStatus = iota
	quotaPolicy
)

const (
	refusalRetry = iota
	refusalCache
	refusalConnection
)

// in puts value into the i-th place of room and returns it as a field's value. Whoever
// adds to that copies it.
func in(room []string, i int, value string) []string {
	room[i] = value
	return room[i : i+1 : i+1]
}

// A node is what is known of a request from an earlier guard, of any framework.
type node struct {
	guard    *core.Limiter
	only     string
	stages   core.StageSet
	styles   headers.Styles
	decision *core.Decision
	source   core.Source // the visit
	before   *node
	returned bool   // a later guard refused, and this one's charges were given back
	line     string // what this guard wrote as RateLimit
	policy   string // and as RateLimit-Policy
}

// outer returns the decision made at the node, or nil.
func (n *node) outer() *core.Decision {
	if n == nil {
		return nil
	}
	return n.decision
}

// limit returns what the i-th limit answered there, as it stands now.
func (n *node) limit(i int) core.LimitResult {
	r := n.decision.Limit(i)
	if n.returned && !r.Unknown {
		r.Remaining = min(r.Remaining+r.Cost, r.Quota.Capacity())
	}
	return r
}

// sourceOf returns the source of the nearest node of the limiter from n on, or nil.
func (n *node) sourceOf(l *core.Limiter) core.Source {
	for ; n != nil; n = n.before {
		if n.guard == l {
			return n.source
		}
	}
	return nil
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

// Return ends the visit, when the handler has returned or panicked: it gives back the
// slots that the request holds, and tells the original request what was found out
// about the copy that went on: its pattern, which middleware outside reads when the handler is done, and its
// multipart form, whose files the server removes when it finds them there.
func (v *Visit[C]) Return(went *http.Request) {
	if v.Decision.Holds() {
		_ = v.Decision.Done(v.Context) // a store that fails has been reported to the observer
	}
	v.request.Pattern = went.Pattern
	if v.request.MultipartForm == nil {
		v.request.MultipartForm = went.MultipartForm
	}
}

// Header implements [core.Source].
func (v *Visit[C]) Header(name string) string { return v.request.Header.Get(name) }

// Cost implements [core.Source].
func (v *Visit[C]) Cost(limit string) (int64, bool) {
	if cost := v.guard.opts.Costs[limit]; cost != nil {
		return cost(v.c), true
	}
	if outer := v.node.before.sourceOf(v.node.guard); outer != nil {
		return outer.Cost(limit)
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
