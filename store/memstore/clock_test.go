package memstore

import (
	"testing"
	"time"
)

func TestClockFollowsTheWallForwardAndNeverBack(t *testing.T) {
	c := newSystemClock()
	start := c.now()
	// The machine slept for an hour: the monotonic clock stood still.
	c.offset.Add(-time.Hour.Microseconds())
	c.checked.Add(-time.Hour.Microseconds() - 2*checkEvery)
	c.now() // notices
	if got := c.now() - start; got < 0 || got > time.Minute.Microseconds() {
		t.Errorf("after a sleep the clock is %v off, want it to catch up", time.Duration(got)*time.Microsecond)
	}
	// The wall clock is set back by an hour: seen from here, this clock is ahead.
	c.offset.Add(time.Hour.Microseconds())
	ahead := c.now()
	c.checked.Store(0)
	if got := c.now(); got < ahead {
		t.Errorf("the clock went back by %v", time.Duration(ahead-got)*time.Microsecond)
	}
}
