package storetest

import (
	"time"

	"github.com/tidegate/tidegate/core/algo"
)

// A kind is one way of counting, made to hold n units and to earn n a period, so
// that one check fits all.
type kind struct {
	name  string
	needs Claim
	spec  func(n int64, period time.Duration) algo.Spec
}

const cells = 4

var (
	tokenBucket = kind{"token-bucket", 0, func(n int64, period time.Duration) algo.Spec {
		return algo.Spec{Limit: n, Period: period}
	}}
	leakyMeter = kind{"leaky-bucket", 0, func(n int64, period time.Duration) algo.Spec {
		return algo.Spec{Algorithm: algo.LeakyBucket, Limit: n, Period: period, Queue: max(0, n-1)}
	}}
	fixedWindow = kind{"fixed-window", 0, func(n int64, period time.Duration) algo.Spec {
		return algo.Spec{Algorithm: algo.FixedWindow, Limit: n, Period: period}
	}}
	firstRequest = kind{"fixed-window-first-request", 0, func(n int64, period time.Duration) algo.Spec {
		return algo.Spec{Algorithm: algo.FixedWindow, Limit: n, Period: period, FirstRequest: true}
	}}
	slidingWindow = kind{"sliding-window", 0, func(n int64, period time.Duration) algo.Spec {
		return algo.Spec{Algorithm: algo.SlidingWindow, Limit: n, Period: period}
	}}
	slidingCells = kind{"sliding-window-cells", Wide, func(n int64, period time.Duration) algo.Spec {
		return algo.Spec{Algorithm: algo.SlidingWindow, Limit: n, Period: period, Cells: cells}
	}}
	slidingLog = kind{"sliding-log", Wide, func(n int64, period time.Duration) algo.Spec {
		return algo.Spec{Algorithm: algo.SlidingLog, Limit: n, Period: period}
	}}

	buckets  = []kind{tokenBucket, leakyMeter}
	windows  = []kind{fixedWindow, firstRequest, slidingWindow, slidingCells, slidingLog}
	allKinds = append(buckets[:2:2], windows...)
)

// shaper makes a leaky bucket that delays: queue may wait beside the one whose
// turn it is, and one leaves each period/n.
func shaper(n int64, period time.Duration, queue int64) algo.Spec {
	return algo.Spec{Algorithm: algo.LeakyBucket, Limit: n, Period: period, Queue: queue, Shaper: true}
}
