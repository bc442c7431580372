package algo

import (
	"math/rand/v2"
	"testing"
	"time"
)

var somePenalty = Penalty{After: 3, Within: time.Minute, Block: 15 * time.Minute}

func TestPenaltyBlocksAfterSomeDenials(t *testing.T) {
	var r Record
	for i, c := range []struct {
		at   time.Duration
		want time.Duration
		why  string
	}{
		{0, 0, "the first denial"},
		{30 * time.Second, 0, "the second"},
		{60 * time.Second, 0, "the first is out of the span by now: this is the second"},
		{61 * time.Second, 15 * time.Minute, "three within a minute"},
		{62 * time.Second, 15*time.Minute - time.Second, "a denial during the block does not lengthen it"},
		{15 * time.Minute, 61 * time.Second, "nor at its end"},
		{16*time.Minute + 500*time.Millisecond, 500 * time.Millisecond, "the last half second is not rounded away"},
		{16*time.Minute + time.Second, 0, "over: this one is counted again, and from nothing"},
		{16*time.Minute + 2*time.Second, 0, "the second"},
		{16*time.Minute + 3*time.Second, 15 * time.Minute, "the third"},
	} {
		if got := micros(r.Denied(somePenalty, at(c.at))); got != c.want {
			t.Errorf("denial %d at %v: blocked for %v, want %v: %s", i, c.at, got, c.want, c.why)
		}
		if got := micros(r.Blocked(at(c.at))); got != c.want {
			t.Errorf("denial %d at %v: Blocked() = %v, want %v", i, c.at, got, c.want)
		}
	}
}

func TestPenaltyAtOnce(t *testing.T) {
	var r Record
	p := Penalty{After: 1, Within: time.Microsecond, Block: time.Second}
	if got := micros(r.Denied(p, at(0))); got != time.Second {
		t.Errorf("the first denial blocks for %v, want 1s", got)
	}
	if got := r.Bytes(); got != 0 {
		t.Errorf("a blocked key's record takes %d bytes, want none: its denials are forgotten", got)
	}
}

func TestBlockByHand(t *testing.T) {
	var r Record
	r.Denied(somePenalty, at(0))
	r.Block(at(0), time.Hour.Microseconds())
	if got := micros(r.Blocked(at(30 * time.Minute))); got != 30*time.Minute {
		t.Errorf("blocked for %v, want 30m", got)
	}
	r.Block(at(30*time.Minute), 0)
	if got := r.Blocked(at(30 * time.Minute)); got != 0 {
		t.Errorf("released, blocked for %v", micros(got))
	}
	if !r.Idle(somePenalty, at(30*time.Minute)) {
		t.Errorf("released, and its denials are not forgotten")
	}
}

func TestRecordIdle(t *testing.T) {
	var r Record
	if !r.Idle(somePenalty, at(0)) {
		t.Errorf("a fresh record is not idle")
	}
	r.Denied(somePenalty, at(0))
	for _, c := range []struct {
		at   time.Duration
		want bool
	}{{0, false}, {time.Minute - time.Microsecond, false}, {time.Minute, true}} {
		if got := r.Idle(somePenalty, at(c.at)); got != c.want {
			t.Errorf("%v after a denial: Idle() = %v, want %v", c.at, got, c.want)
		}
	}
	r.Block(at(0), time.Second.Microseconds())
	if r.Idle(somePenalty, at(0)) || !r.Idle(somePenalty, at(time.Second)) {
		t.Errorf("blocked for a second: idle %v, then %v, want false, then true", r.Idle(somePenalty, at(0)), r.Idle(somePenalty, at(time.Second)))
	}
}

// The clock steps back: a denial that has been counted still counts, and a block
// goes on until its instant.
func TestPenaltyWithAClockBehind(t *testing.T) {
	var r Record
	r.Denied(somePenalty, at(0))
	r.Denied(somePenalty, at(-time.Hour))
	if got := micros(r.Denied(somePenalty, at(time.Second))); got != 15*time.Minute {
		t.Errorf("the third denial blocks for %v, want 15m", got)
	}
	if got := micros(r.Blocked(at(0))); got != 15*time.Minute+time.Second {
		t.Errorf("a second before the block began it lasts %v, want 15m1s", got)
	}
}

// Against a plain list of denials: the block starts with exactly the denial that is
// the n-th in the span, and memory stays within n entries.
func TestPenaltyAgainstAList(t *testing.T) {
	eachTrace(t, manySteps()/5, func(rng *rand.Rand) error {
		p := Penalty{After: 1 + rng.Int64N(20), Within: time.Duration(1+rng.IntN(60)) * time.Second, Block: time.Duration(1+rng.IntN(300)) * time.Second}
		var r Record
		var list []int64
		var until int64
		now := noon
		for i := range traceSteps {
			now += rng.Int64N(2 * p.Within.Microseconds() / p.After)
			want := until - now
			if now >= until {
				want = 0
				list = append(list, now)
				n := int64(0)
				for _, at := range list {
					if at+p.Within.Microseconds() > now {
						n++
					}
				}
				if n >= p.After {
					want, list = p.Block.Microseconds(), nil
					until = now + want
				}
			}
			grown := r.Grown()
			if got := r.Denied(p, now); got != want {
				t.Fatalf("%+v: denial %d at %d blocks for %d, want %d", p, i, now, got, want)
			}
			if r.Bytes() > grown || r.Bytes() > 2*max(firstRing, p.After)*entryBytes {
				t.Fatalf("%+v: %d bytes, want at most %d as announced", p, r.Bytes(), grown)
			}
		}
		return nil
	})
}

func TestPenaltyCheck(t *testing.T) {
	good := somePenalty
	if err := good.Check(); err != nil {
		t.Errorf("Check(%+v): %v", good, err)
	}
	for _, c := range []struct {
		spoil func(p *Penalty)
		field string
	}{
		{func(p *Penalty) { p.After = 0 }, "after"},
		{func(p *Penalty) { p.After = -1 }, "after"},
		{func(p *Penalty) { p.After = MaxPenalty + 1 }, "after"},
		{func(p *Penalty) { p.Within = 0 }, "within"},
		{func(p *Penalty) { p.Within = -time.Second }, "within"},
		{func(p *Penalty) { p.Within = MaxPeriod + 1 }, "within"},
		{func(p *Penalty) { p.Block = 0 }, "block"},
		{func(p *Penalty) { p.Block = time.Nanosecond }, "block"},
		{func(p *Penalty) { p.Block = MaxPeriod + 1 }, "block"},
	} {
		p := somePenalty
		c.spoil(&p)
		err, ok := p.Check().(*FieldError)
		if !ok || err.Field != c.field || err.Error() != c.field+": "+err.Problem {
			t.Errorf("Check(%+v) = %v, want a problem with %s", p, err, c.field)
		}
	}
}
