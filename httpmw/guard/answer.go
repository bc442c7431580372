package guard

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/headers"
)

// enter sets the headers and says what to do.
func (v *Visit[C]) enter(w http.ResponseWriter) Verdict {
	h := w.Header()
	if v.guard.opts.ExposeHeaders && v.request.Header["Origin"] != nil {
		v.expose(h)
	}
	if v.Decision.Outcome() == core.Exempt {
		return Go
	}
	if v.Decision.Outcome() == core.Unavailable {
		v.dropQuotaFields(h)
	} else {
		v.setQuotaFields(h)
	}
	switch {
	case v.Decision.Allowed():
		return Go
	case v.Decision.Fallback() && v.guard.opts.HasFallback:
		return Fallback
	}
	v.setRefusalFields(h)
	return Refuse
}

const exposeHeaders = "Access-Control-Expose-Headers"

// expose lists the fields for scripts of other origins, less those that are listed.
func (v *Visit[C]) expose(h http.Header) {
	names := v.guard.exposed
	if v.guard.opts.Headers == 0 && v.node.styles != headers.DraftC {
		names = headers.ExposedHeaders(v.node.styles)
	}
	listed := h[exposeHeaders]
	for _, name := range names {
		if !lists(listed, name) {
			h.Add(exposeHeaders, name)
		}
	}
}

// lists reports whether a comma-separated field has the name.
func lists(lines []string, name string) bool {
	for _, line := range lines {
		for item := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(item), name) {
				return true
			}
		}
	}
	return false
}

// setRefusalFields makes the response one that no cache keeps, and drops what
// middleware outside said of the content that it would have had.
func (v *Visit[C]) setRefusalFields(h http.Header) {
	for _, name := range [...]string{"Expires", "Etag", "Last-Modified", "Content-Encoding", "Content-Length"} {
		delete(h, name)
	}
	v.refusal = new([3]string)
	h["Cache-Control"] = in(v.refusal[:], refusalCache, "no-store")
	if v.mustClose() {
		h["Connection"] = in(v.refusal[:], refusalConnection, "close")
	}
	if seconds := v.retrySeconds(); seconds > 0 {
		h[headers.RetryAfter] = in(v.refusal[:], refusalRetry, strconv.FormatInt(seconds, 10))
	}
}

// bodyKept is how much of an unread body net/http is left to drain. It does so
// before it writes the response: a client that has sent only half of its body
// would wait for its 429 as long as the server waits for the rest.
const bodyKept = 64 << 10

func (v *Visit[C]) mustClose() bool {
	r := v.request
	return !v.guard.opts.KeepConnections && r.ProtoMajor == 1 &&
		(r.ContentLength < 0 || r.ContentLength > bodyKept)
}

// An outage has no end that is known. Callers are sent away for a little, and not
// all for the same.
const (
	outageWait   = 1
	outageJitter = 4
)

// retrySeconds returns the value of Retry-After, or 0 for none.
func (v *Visit[C]) retrySeconds() int64 {
	if v.Decision.Outcome() == core.Unavailable {
		return outageWait + rand.Int64N(outageJitter+1)
	}
	if wait := v.Decision.RetryAfter(); wait != core.Never {
		return headers.RetrySeconds(wait)
	}
	return 0
}

// Refuse answers a refused request with 429 or 503 and a problem+json body. An
// adapter whose user wants another answer calls that instead: the headers are
// already set.
func (v *Visit[C]) Refuse(w http.ResponseWriter) error {
	status, body := v.problem()
	h := w.Header()
	h["Content-Type"] = []string{headers.ContentTypeProblem}
	w.WriteHeader(status)
	if v.request.Method == http.MethodHead {
		return nil
	}
	_, err := w.Write(body)
	return err
}

// problem returns the status and the body of a refusal (RFC 9457).
func (v *Visit[C]) problem() (int, []byte) {
	d := &v.Decision
	if d.Outcome() == core.Unavailable {
		p := headers.Problem{
			Type: "about:blank", Title: http.StatusText(http.StatusServiceUnavailable),
			Status: http.StatusServiceUnavailable,
			Detail: "The request could not be checked against its limits. Try again later.",
		}
		return p.Status, p.AppendJSON(make([]byte, 0, 256))
	}
	p := headers.Problem{Type: headers.TypeQuotaExceeded, Title: headers.TitleQuotaExceeded, Status: http.StatusTooManyRequests}
	if d.Blocked() {
		p.Type, p.Title = headers.TypeAbnormalUsage, headers.TitleAbnormalUsage
	}
	if wait := d.RetryAfter(); wait != core.Never {
		p.RetryAfter, p.HasRetryAfter = wait, true
	}
	p.Detail = headers.DetailRetry(p.RetryAfter, p.HasRetryAfter)
	var violated [4]string
	var limits [8]headers.ProblemLimit
	p.ViolatedPolicies, p.Limits = violated[:0], limits[:0]
	for w := v.visible(); w.next(); {
		r := &w.LimitResult
		if r.Refuses {
			p.ViolatedPolicies = append(p.ViolatedPolicies, r.Limit)
		}
		p.Limits = append(p.Limits, problemLimit(r))
	}
	return p.Status, p.AppendJSON(make([]byte, 0, 768))
}

func problemLimit(r *core.LimitResult) headers.ProblemLimit {
	return headers.ProblemLimit{
		Name: r.Limit, Limit: r.Quota.Capacity(), Remaining: r.Remaining, HasRemaining: !r.Partial && !r.Unknown,
		Exceeded: r.Refuses, RetryAfter: r.RetryAfter, HasRetryAfter: r.Refuses && r.RetryAfter != core.Never,
	}
}
