package redisstore

import (
	"fmt"

	"github.com/tidegate/tidegate/core/algo"
)

// A reply reads the integers of a script's answer. After the first that is missing
// or something else, err is set and the rest is 0.
type reply struct {
	list []any
	err  error
}

func (r *reply) next() int64 {
	if r.err != nil {
		return 0
	}
	if len(r.list) == 0 {
		r.err = fmt.Errorf("%w: it is too short", errReply)
		return 0
	}
	n, ok := r.list[0].(int64)
	if !ok {
		r.err = fmt.Errorf("%w: a %T instead of an integer", errReply, r.list[0])
		return 0
	}
	r.list = r.list[1:]
	return n
}

// lost is what a script puts in the place of the time when none of the windows that
// it was sent is the one it needs.
const lost = -1

// read fills the cells with what they were found to hold. It returns the time, or
// lost and the instant whose window is asked for.
func (s *sheet) read(value any) (now, around int64, err error) {
	list, ok := value.([]any)
	if !ok {
		return 0, 0, fmt.Errorf("%w: a %T instead of a list", errReply, value)
	}
	r := reply{list: list}
	if now = r.next(); now == lost {
		return now, r.next(), r.err
	}
	if now < 0 {
		return 0, 0, fmt.Errorf("%w: it is from before 1970", errReply)
	}
	for i := range s.cells {
		s.cells[i].read(&r)
	}
	if r.err == nil && len(r.list) > 0 {
		r.err = fmt.Errorf("%w: it is too long", errReply)
	}
	return now, 0, r.err
}

func (c *cell) read(r *reply) {
	if c.penalty != nil {
		until, denials, newest := r.next(), r.next(), r.next()
		c.record = algo.RestoreRecord(until, denials, newest)
		return
	}
	switch formOf(c.quota).kind {
	case kindBucket, kindFixed:
		a, b := r.next(), r.next()
		c.state = algo.State{A: a, B: b, Under: c.quota}
	case kindSliding:
		prev, cur, start := r.next(), r.next(), r.next()
		c.state = algo.State{A: prev<<32 | cur, B: start, Under: c.quota}
	case kindSlots:
		c.slots = algo.RestoreSlots(r.next())
	case kindLog:
		c.log = c.readLog(r)
	}
}

// readLog reads the oldest entries of a log, and what the others come to: whoever is
// denied waits for the oldest.
func (c *cell) readLog(r *reply) *algo.Log {
	rest, n := r.next(), r.next()
	if n < 0 || n > int64(len(r.list)/2) {
		r.err = fmt.Errorf("%w: a log of %d entries", errReply, n)
		return &algo.Log{}
	}
	entries := make([]algo.Entry, 0, n+2)
	for range n {
		e := algo.Entry{At: r.next(), Units: r.next()}
		rest -= e.Units
		entries = append(entries, e)
	}
	counted, newest := r.next(), r.next()
	if rest > 0 {
		entries = append(entries, algo.Entry{At: counted, Units: rest})
	}
	if newest > counted && newest > 0 {
		entries = append(entries, algo.Entry{At: newest})
	}
	return algo.RestoreLog(c.quota, entries)
}
