package algo

import "math/bits"

// exact is the largest product the arithmetic allows itself: beyond 2^53 a
// double, which is all that Lua has, is no longer exact.
const exact = int64(1) << 53

// Never is the wait for something that no wait brings: a cost above what the
// limit can ever hold.
const Never = int64(1<<63 - 1)

// maxSpan bounds every span that is reported, in microseconds: 285 years, the
// most that fits a time.Duration.
const maxSpan = exact

// ceilDiv returns a/b rounded up, for a ≥ 0 and b > 0.
func ceilDiv(a, b int64) int64 {
	q := a / b
	if q*b < a {
		q++
	}
	return q
}

// floorTo returns t rounded down to a multiple of step, for t ≥ 0.
func floorTo(t, step int64) int64 {
	if step == 1 {
		return t
	}
	return t - t%step
}

// mulDivCeil returns a·b/c rounded up, computed in 128 bits and no more than
// limit. All arguments are ≥ 0 and c > 0.
func mulDivCeil(a, b, c, limit int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(c) {
		return limit // the quotient does not fit 64 bits
	}
	q, r := bits.Div64(hi, lo, uint64(c))
	if r > 0 {
		q++
	}
	if q > uint64(limit) {
		return limit
	}
	return int64(q)
}

// drained returns level - elapsed·rate, or 0 when that is negative, without
// overflow. All arguments are ≥ 0.
func drained(level, elapsed, rate int64) int64 {
	hi, lo := bits.Mul64(uint64(elapsed), uint64(rate))
	if hi != 0 || lo >= uint64(level) {
		return 0
	}
	return level - int64(lo)
}

// span returns ticks·tick in microseconds, no more than maxSpan.
func span(ticks, tick int64) int64 {
	if ticks > maxSpan/tick {
		return maxSpan
	}
	return ticks * tick
}
