package redisstore

import (
	"encoding/binary"
	"hash/fnv"
	"sync"
	"sync/atomic"

	"github.com/tidegate/tidegate/core/algo"
)

// The kinds of state, as the scripts call them.
const (
	kindBucket  = "b"
	kindFixed   = "f"
	kindSliding = "s"
	kindLog     = "l"
	kindRecord  = "p"
	kindSlots   = "q"
	kindNothing = "z"
)

// The letters that keys end with. A limit is known by its algorithm, so each has
// its own keys, and a limit whose algorithm changes starts anew.
const (
	letterRecord = 'p'
	letterCells  = 'c'
	letterProbe  = 'h'
)

var letters = [...]byte{
	algo.TokenBucket:   't',
	algo.LeakyBucket:   'l',
	algo.FixedWindow:   'f',
	algo.SlidingWindow: 's',
	algo.SlidingLog:    'g',
	algo.Concurrency:   'q',
}

// A form is how a quota is described to the scripts.
type form struct {
	kind   string
	letter byte
	args   []any  // kind, mark and numbers, boxed once
	packed []byte // of a bucket: the same for lean scripts
	edges  atomic.Pointer[[4]int64]
}

// forms keeps the form of each quota: there are as many as tables ever named.
var forms sync.Map // of *algo.Quota to *form

func formOf(q *algo.Quota) *form {
	if f, ok := forms.Load(q); ok {
		return f.(*form)
	}
	f, _ := forms.LoadOrStore(q, newForm(q))
	return f.(*form)
}

// Modes of fixed windows: how their edges are found.
const (
	modeAligned = iota
	modeFirstRequest
	modeCalendar
)

func newForm(q *algo.Quota) *form {
	n := q.Numbers()
	f := &form{letter: letters[q.Algorithm()]}
	if q.Algorithm() == algo.SlidingWindow && q.Wide() {
		f.letter = letterCells
	}
	switch {
	case n.Limit == 0:
		f.kind, f.args = kindNothing, []any{kindNothing, ""}
	case q.Algorithm() == algo.Concurrency:
		f.kind, f.args = kindSlots, []any{kindSlots, "", n.Limit}
	case q.Wide():
		f.kind, f.args = kindLog, []any{kindLog, "", n.Limit, n.Grain, n.Life}
	case q.Algorithm() == algo.FixedWindow:
		mode, zone := int64(modeAligned), int64(0)
		switch {
		case q.Spec().FirstRequest:
			mode = modeFirstRequest
		case q.Calendar():
			mode, zone = modeCalendar, zoneNumber(q.Zone())
		}
		f.kind, f.args = kindFixed, []any{kindFixed, windowMark(n.Period, mode, zone), n.Limit, n.Period, mode}
	case q.Algorithm() == algo.SlidingWindow:
		f.kind, f.args = kindSliding, []any{kindSliding, windowMark(n.Period), n.Limit, n.Period, n.Unit, n.Tick}
	default:
		mark := bucketMark(n)
		f.kind, f.args, f.packed = kindBucket, []any{kindBucket, mark, n.Limit, n.Unit, n.Tick, n.Capacity}, packBucket(n, mark)
	}
	return f
}

// bucketMark says what a bucket's state is written under: as much as the scripts need
// to read it when that is no longer what they are asked about.
func bucketMark(n algo.Numbers) string {
	limit, l := fit(n.Limit, 1, 2, 4, 7)
	unit, u := fit(n.Unit, 3, 4, 5, 7)
	tick := 0
	for t := n.Tick; t > 1; t /= 10 {
		tick++
	}
	return string([]byte{byte(l | u<<2 | tick<<4)}) + limit + unit
}

// fit returns a number in the smallest of the widths that holds it, and which it is.
func fit(n int64, widths ...int) (string, int) {
	var word [8]byte
	binary.BigEndian.PutUint64(word[:], uint64(n))
	for i, w := range widths {
		if n>>(8*w) == 0 {
			return string(word[8-w:]), i
		}
	}
	panic("redisstore: a number above 2^53")
}

// windowMark is bucketMark for windows. Zeros at the end are left out.
func windowMark(numbers ...int64) string {
	for numbers[len(numbers)-1] == 0 && len(numbers) > 1 {
		numbers = numbers[:len(numbers)-1]
	}
	var b []byte
	for _, n := range numbers {
		word, i := fit(n, 1, 2, 3, 4, 5, 6, 7)
		b = append(append(b, byte(i+1)), word...)
	}
	return string(append([]byte{byte(len(b))}, b...))
}

// zoneNumber tells time zones apart in a mark. UTC is 0.
func zoneNumber(zone string) int64 {
	if zone == "" {
		return 0
	}
	h := fnv.New32a()
	h.Write([]byte(zone))
	return int64(h.Sum32())
}

// edgesAt returns the edges of the calendar windows around an instant. A day has
// one answer, so the last is kept.
func (f *form) edgesAt(q *algo.Quota, instant int64) [4]int64 {
	if e := f.edges.Load(); e != nil && e[1] <= instant && instant < e[2] {
		return *e
	}
	e := q.Edges(instant)
	f.edges.Store(&e)
	return e
}
