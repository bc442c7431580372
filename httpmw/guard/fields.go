package guard

import (
	"net/http"
	"slices"
	"time"
	"unsafe"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
	"github.com/tidegate/tidegate/headers"
)

// setQuotaFields tells the client how its quotas stand.
func (v *Visit[C]) setQuotaFields(h http.Header) {
	styles := v.guard.opts.Headers
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
	if len(policy) == 0 {
		return
	}
	v.node.policy = policy[0]
	setLine(h, headers.RateLimitPolicy, policy, v.earlier(func(n *node) string { return n.policy }))
	if !v.writeStatus() {
		v.dropEarlier(h)
		return
	}
	v.node.line = v.statusVal[0]
	setLine(h, headers.RateLimit, v.statusVal[:1:1], v.earlier(func(n *node) string { return n.line }))
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

// setLine sets a field to value (one line, not to be modified) in place of the line
// old, beside what else is there.
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

// writeStatus writes the RateLimit field into the visit: all limits, or those that
// deny. It reports false when there are none to tell.
func (v *Visit[C]) writeStatus() bool {
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
	if len(text) == 0 {
		return false
	}
	// The text is written once and lives as long as the string: no copy is needed.
	v.statusVal[0] = unsafe.String(unsafe.SliceData(text), len(text))
	return true
}

func status(r *core.LimitResult) headers.Status {
	return headers.Status{
		Name: r.Limit, Remaining: r.Remaining, Reset: r.NextAfter,
		HasReset: r.NextAfter > 0 && r.Quota.Algorithm() != algo.Concurrency,
	}
}

// policyField returns RateLimit-Policy, which is the same for all requests of a
// route and tier, and so is made once for each.
func (v *Visit[C]) policyField() []string {
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
	if field, ok := bill.Recall(early).([]string); ok {
		return field
	}
	return bill.Memo(early, v.makePolicyField()).([]string)
}

func (v *Visit[C]) makePolicyField() []string {
	var text []byte
	for w := v.visible(); w.next(); {
		if len(text) > 0 {
			text = append(text, ", "...)
		}
		text = headers.AppendPolicy(text, policy(&w.LimitResult))
	}
	if len(text) == 0 {
		return nil
	}
	return slices.Clip([]string{string(text)})
}

func policy(r *core.LimitResult) headers.Policy {
	p := headers.Policy{Name: r.Limit, Quota: r.Quota.Capacity(), Window: r.Quota.Window()}
	if r.Quota.Algorithm() == algo.Concurrency {
		p.Unit, p.Window = headers.ConcurrentRequests, 0
	}
	return p
}

// setTrios sets the single-valued fields, for the limit that matters most.
func (v *Visit[C]) setTrios(h http.Header, styles headers.Styles) {
	var items []headers.Item
	var policies []headers.Policy
	for w := v.visible(); w.next(); {
		r := &w.LimitResult
		policies = append(policies, policy(r))
		if r.Partial || r.Unknown {
			continue
		}
		items = append(items, headers.Item{
			Policy: policy(r), Status: status(r), Denied: r.Refuses,
			RetryAfter: r.RetryAfter, HasRetryAfter: r.Refuses && r.RetryAfter != core.Never,
		})
	}
	i := headers.Tightest(items)
	if i < 0 {
		return
	}
	items[i].Trio().Set(h, styles, time.Now())
	if text := headers.AppendDraft06Policies(nil, policies); styles&headers.Draft06 != 0 && len(text) > 0 {
		h[headers.RateLimitPolicy] = []string{string(text)}
	}
}
