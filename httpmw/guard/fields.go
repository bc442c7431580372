package guard

import (
	"net/http"
	"time"
	"unsafe"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
	"github.com/tidegate/tidegate/headers"
)

// setQuotaFields tells the client how its quotas stand.
func (v *Visit[C]) setQuotaFields(h http.Header) {
	styles := v.node.styles
	if styles == 0 || v.Decision.Bill() == nil || v.Decision.Err() != nil {
		return
	}
	if styles&headers.DraftC != 0 {
		v.setDraftC(h)
	}
	if styles&^headers.DraftC != 0 {
		v.setTrios(h, styles&^headers.DraftC)
	}
}

// setDraftC sets RateLimit-Policy and RateLimit. A guard that comes after another of
// the same limiter replaces what that one wrote by the list of both; fields of
// others, such as a proxied backend's, are left and added to.
func (v *Visit[C]) setDraftC(h http.Header) {
	policy := v.policyField()
	if policy == "" {
		return
	}
	v.node.policy = policy
	setLine(h, headers.RateLimitPolicy, in(v.quota[:], quotaPolicy, policy), v.earlier(func(n *node) string { return n.policy }))
	if v.node.line = v.statusField(); v.node.line == "" {
		v.dropEarlier(h)
		return
	}
	setLine(h, headers.RateLimit, in(v.quota[:], quotaStatus, v.node.line), v.earlier(func(n *node) string { return n.line }))
}

// earlier returns what the last guard of the same limiter wrote.
func (v *Visit[C]) earlier(line func(*node) string) string {
	for n := v.node.before; n != nil; n = n.before {
		if n.guard == v.guard.limiter && line(n) != "" {
			return line(n)
		}
	}
	return ""
}

// dropEarlier removes an earlier guard's RateLimit: a denial lists the denying
// limits only, and there may be none that is visible.
func (v *Visit[C]) dropEarlier(h http.Header) {
	if old := v.earlier(func(n *node) string { return n.line }); old != "" {
		setLine(h, headers.RateLimit, nil, old)
	}
}

// dropQuotaFields removes what earlier guards of the same limiter have told.
func (v *Visit[C]) dropQuotaFields(h http.Header) {
	for n := v.node.before; n != nil; n = n.before {
		if n.guard != v.node.guard {
			continue
		}
		for name, line := range map[string]string{headers.RateLimit: n.line, headers.RateLimitPolicy: n.policy} {
			if line != "" {
				setLine(h, name, nil, line)
			}
		}
		if trios := n.styles &^ headers.DraftC; trios != 0 {
			for _, name := range headers.ExposedHeaders(trios) {
				h.Del(name)
			}
		}
	}
}

// setLine sets a field to value (one line) in place of the line old, beside what else is there.
func setLine(h http.Header, name string, value []string, old string) {
	lines := h[name]
	if len(lines) == 0 {
		h[name] = value
		return
	}
	kept := make([]string, 0, len(lines)+1)
	for _, line := range lines {
		if line != old || old == "" {
			kept = append(kept, line)
		}
	}
	if kept = append(kept, value...); len(kept) == 0 {
		delete(h, name)
		return
	}
	h[name] = kept
}

// statusField writes the RateLimit field into the visit: all limits, or those that
// deny. It is empty when there are none to tell.
func (v *Visit[C]) statusField() string {
	denied := v.Decision.Outcome() == core.Denied
	text := v.status[:0]
	for w := v.visible(); w.next(); {
		r := &w.LimitResult
		if r.Partial || r.Unknown || denied && !r.Refuses {
			continue
		}
		if len(text) > 0 {
			text = append(text, ", "...)
		}
		text = headers.AppendStatus(text, status(r))
	}
	// The text is written once and lives as long as the string: no copy is needed.
	return unsafe.String(unsafe.SliceData(text), len(text))
}

func status(r *core.LimitResult) headers.Status {
	return headers.Status{
		Name: r.Limit, Remaining: r.Remaining, Reset: r.NextAfter,
		HasReset: r.NextAfter > 0 && r.Quota.Algorithm() != algo.Concurrency,
	}
}

// policyField returns RateLimit-Policy, which is the same for all requests of a
// route and tier, and so is made once for each.
func (v *Visit[C]) policyField() string {
	var early *core.Bill
	for n := v.node.before; n != nil; n = n.before {
		if n.guard != v.guard.limiter {
			continue
		}
		if early != nil {
			return v.makePolicyField() // three mounts: too rare to remember
		}
		early = n.decision.Bill()
	}
	bill := v.Decision.Bill()
	if field, ok := bill.Recall(early).(string); ok {
		return field
	}
	return bill.Memo(early, v.makePolicyField()).(string)
}

func (v *Visit[C]) makePolicyField() string {
	var text []byte
	for w := v.visible(); w.next(); {
		if len(text) > 0 {
			text = append(text, ", "...)
		}
		text = headers.AppendPolicy(text, policy(&w.LimitResult))
	}
	return string(text)
}

func policy(r *core.LimitResult) headers.Policy {
	p := headers.Policy{Name: r.Limit, Quota: r.Quota.Capacity(), Window: r.Quota.Window()}
	if r.Quota.Algorithm() == algo.Concurrency {
		p.Unit, p.Window = headers.ConcurrentRequests, 0
	}
	return p
}

// setTrios sets the single-valued fields, for the limit that matters most. There is
// room for one: those of other limiters outside are weighed too.
func (v *Visit[C]) setTrios(h http.Header, styles headers.Styles) {
	var t trios
	for n := v.node.before; n != nil; n = n.before {
		if n.guard != v.node.guard && n.styles&styles != 0 {
			t.addNode(n)
		}
	}
	for w := v.visible(); w.next(); {
		t.add(&w.LimitResult)
	}
	i := headers.Tightest(t.items)
	if i < 0 {
		return
	}
	t.items[i].Trio().Set(h, styles, time.Now())
	if text := headers.AppendDraft06Policies(nil, t.policies); styles&headers.Draft06 != 0 && len(text) > 0 {
		h[headers.RateLimitPolicy] = []string{string(text)}
	}
}

// trios collects what single-valued fields are chosen from.
type trios struct {
	items    []headers.Item
	policies []headers.Policy
}

func (t *trios) addNode(n *node) {
	for i := range n.decision.Len() {
		if r := n.limit(i); told(&r) {
			t.add(&r)
		}
	}
}

func (t *trios) add(r *core.LimitResult) {
	t.policies = append(t.policies, policy(r))
	if r.Partial || r.Unknown {
		return
	}
	t.items = append(t.items, headers.Item{
		Policy: policy(r), Status: status(r), Denied: r.Refuses,
		RetryAfter: r.RetryAfter, HasRetryAfter: r.Refuses && r.RetryAfter != core.Never,
	})
}
