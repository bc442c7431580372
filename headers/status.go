package headers

import (
	"cmp"
	"time"
)

// A Status is one member of RateLimit: how one policy stands after this
// response.
type Status struct {
	// Name is the policy's, as in [Policy.Name].
	Name string
	// Remaining is how many units are left. It is written within
	// 0..999999999999999, and always, also when it is 0.
	Remaining int64
	// Reset is the time until more is left. It is written in seconds, rounded
	// up, if HasReset is true. Negative: 0.
	Reset time.Duration
	// HasReset tells a Reset of zero, "now", from none, as for a concurrency
	// limit or a full bucket.
	HasReset bool
	// Partition is as in [Policy.Partition], and better placed here than
	// there: a policy that is the same for everybody compresses well.
	Partition []byte
}

// AppendStatus appends s as one member of RateLimit, such as "burst";r=0;t=18,
// and returns the extended buffer. It cannot fail; see [AppendPolicy].
func AppendStatus(dst []byte, s Status) []byte {
	dst = appendString(dst, s.Name)
	dst = appendParam(dst, ";r=", s.Remaining)
	if s.HasReset {
		dst = appendParam(dst, ";t=", Seconds(s.Reset))
	}
	return appendPartition(dst, s.Partition)
}

// AppendStatuses appends the value of a RateLimit field that lists ss in order.
// If ss is empty it appends nothing, and the field must not be sent.
func AppendStatuses(dst []byte, ss []Status) []byte {
	for i, s := range ss {
		if i > 0 {
			dst = append(dst, separator...)
		}
		dst = AppendStatus(dst, s)
	}
	return dst
}

// An Item is all that is known of one policy for one response, from which a
// style that has room for one policy is filled.
type Item struct {
	Policy Policy
	Status Status
	// Denied says that this policy refused the request.
	Denied bool
	// RetryAfter is how long this request must wait for this policy. It is
	// read if Denied and HasRetryAfter are true.
	RetryAfter time.Duration
	// HasRetryAfter is false if no wait is long enough.
	HasRetryAfter bool
}

// Trio returns the numbers of it for the styles that report one policy. On a
// denial Reset is RetryAfter, since those styles want both at one instant.
func (it Item) Trio() Trio {
	t := Trio{
		Limit:     it.Policy.Quota,
		Remaining: it.Status.Remaining,
		Reset:     it.Status.Reset,
		Window:    it.Policy.Window,
	}
	if it.Denied && it.HasRetryAfter {
		t.Reset = it.RetryAfter
	}
	return t
}

// Tightest returns the index of the policy to report where only one fits, or
// -1 if items is empty: one that denied before one that did not, of those that
// denied the longest wait (no wait long enough being the longest), then the
// lowest remaining, then the longest reset, then the first.
func Tightest(items []Item) int {
	best := -1
	for i := range items {
		if best < 0 || tighter(&items[i], &items[best]) {
			best = i
		}
	}
	return best
}

func tighter(a, b *Item) bool {
	return cmp.Or(
		cmp.Compare(a.denial(), b.denial()),
		cmp.Compare(b.Status.Remaining, a.Status.Remaining),
		cmp.Compare(a.Status.reset(), b.Status.reset()),
	) > 0
}

// denial orders items by how long they deny: -1 is not at all.
func (it *Item) denial() time.Duration {
	switch {
	case !it.Denied:
		return -1
	case !it.HasRetryAfter:
		return 1<<63 - 1
	}
	return max(0, it.RetryAfter)
}

func (s *Status) reset() time.Duration {
	if !s.HasReset {
		return 0
	}
	return s.Reset
}
