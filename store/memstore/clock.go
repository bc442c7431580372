package memstore

import (
	"sync/atomic"
	"time"
)

// A systemClock tells the time by the monotonic clock, which costs less to read
// than the wall clock and never goes back, and follows the wall clock when that
// is ahead: after a machine has slept, or once its time has been set.
type systemClock struct {
	base    time.Time
	offset  atomic.Int64 // µs from base to the Unix epoch
	checked atomic.Int64 // when the wall clock was last looked at
}

const (
	checkEvery = int64(time.Second / time.Microsecond)

	// stepAtLeast is what counts as a step of the wall clock, rather than the two
	// clocks being read one after the other.
	stepAtLeast = int64(20 * time.Millisecond / time.Microsecond)
)

func newSystemClock() *systemClock {
	c := &systemClock{base: time.Now()}
	c.offset.Store(c.base.UnixMicro())
	c.checked.Store(c.base.UnixMicro())
	return c
}

func (c *systemClock) now() int64 {
	now := time.Since(c.base).Microseconds() + c.offset.Load()
	if now-c.checked.Load() > checkEvery {
		return c.check(now)
	}
	return now
}

// check moves the clock forward to the wall clock, never back.
func (c *systemClock) check(now int64) int64 {
	c.checked.Store(now)
	ahead := time.Now().UnixMicro() - now
	if ahead < stepAtLeast {
		return now
	}
	offset := c.offset.Load()
	c.offset.CompareAndSwap(offset, offset+ahead) // another caller may have done so already
	return now
}
