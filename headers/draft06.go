package headers

import (
	"time"

	"github.com/dunglas/httpsfv"
)

// AppendDraft06Policy appends one member of the RateLimit-Policy of [Draft06],
// such as 100;w=60. The window is rounded up to seconds and is at least one:
// that generation requires it.
func AppendDraft06Policy(dst []byte, quota int64, window time.Duration) []byte {
	dst = appendInteger(dst, quota)
	return appendParam(dst, ";w=", max(1, Seconds(window)))
}

// AppendDraft06Policies appends the value of a RateLimit-Policy field of
// [Draft06]. That generation has neither names, units nor policies without a
// window, and forbids two policies with one quota: policies it cannot express
// are left out, and of equal quotas the one with the longest window, which is
// the tightest, stands for all. If nothing is left nothing is appended, and the
// field must not be sent.
func AppendDraft06Policies(dst []byte, ps []Policy) []byte {
	start := len(dst)
	for i := range ps {
		if !inDraft06(ps, i) {
			continue
		}
		if len(dst) > start {
			dst = append(dst, separator...)
		}
		dst = AppendDraft06Policy(dst, ps[i].Quota, ps[i].Window)
	}
	return dst
}

// inDraft06 says whether ps[i] is listed. It compares every pair: a request
// has a handful of policies, and a map would allocate.
func inDraft06(ps []Policy, i int) bool {
	p := &ps[i]
	if !p.fitsDraft06() {
		return false
	}
	for j := range ps {
		q := &ps[j]
		if j == i || !q.fitsDraft06() || clamp(q.Quota) != clamp(p.Quota) {
			continue
		}
		if q.Window > p.Window || q.Window == p.Window && j < i {
			return false
		}
	}
	return true
}

func (p *Policy) fitsDraft06() bool {
	return p.Window > 0 && p.Unit.isDefault()
}

// ParseDraft06Policies reads the lines of a RateLimit-Policy field of
// [Draft06] into policies without names. Errors are as for [ParsePolicies].
func ParseDraft06Policies(lines []string) ([]Policy, error) {
	return parseMembers(RateLimitPolicy, lines, readDraft06Policy)
}

func readDraft06Policy(it httpsfv.Item) (Policy, error) {
	r := paramReader{params: it.Params}
	quota, err := integer(it.Value, 0)
	if err != nil {
		r.fail("the quota is %w", err)
	}
	return Policy{Quota: quota, Window: scaled(r.required("w", 1), time.Second)}, r.err
}
