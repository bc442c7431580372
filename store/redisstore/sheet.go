package redisstore

import (
	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// A sheet is the script call that decides some requests: their keys, each once, and
// what each request asks for. Requests that are alike share a line.
type sheet struct {
	script *script
	cells  []cell
	places map[string]int // of the keys, in cells; nil while there are few
	lines  []line
	around int64 // the instant for whose windows edges are sent

	spelled bool // the script's text is sent instead of its name
}

// A cell is one key: what the script is told of it, and what it was found to hold.
type cell struct {
	name    string
	quota   *algo.Quota
	penalty *algo.Penalty // of a record; else nil
	reach   int64         // log: how many units a denied request may lack

	state  algo.State
	log    *algo.Log
	slots  *algo.Slots
	record algo.Record

	untouched bool // a lean script left it as it was

	draft algo.State // what the request being decided would leave
	asked int64      // log: units that it wants
}

// A line is requests that are alike.
type line struct {
	requests []*request
	cells    []int // of each charge
	records  []int // of each charge with a penalty, or -1
}

const fewCells = 8

// find returns the index of a cell, or -1.
func (s *sheet) find(name string) int {
	if s.places != nil {
		if i, ok := s.places[name]; ok {
			return i
		}
		return -1
	}
	for i := range s.cells {
		if s.cells[i].name == name {
			return i
		}
	}
	return -1
}

func (s *sheet) addCell(c cell) int {
	s.cells = append(s.cells, c)
	i := len(s.cells) - 1
	switch {
	case s.places != nil:
		s.places[c.name] = i
	case len(s.cells) > fewCells:
		s.places = map[string]int{}
		for j := range s.cells {
			s.places[s.cells[j].name] = j
		}
	}
	return i
}

// fits reports whether a request can be decided by this sheet: no key may be asked
// about under two quotas, since a state is converted when it is read.
func (s *sheet) fits(r *request, recordName func(*core.Key) string) bool {
	for i := range r.charges {
		c := &r.charges[i]
		if at := s.find(r.names[i]); at >= 0 && s.cells[at].quota != c.Quota {
			return false
		}
		if c.Penalty == nil {
			continue
		}
		if at := s.find(recordName(&c.Key)); at >= 0 && *s.cells[at].penalty != *c.Penalty {
			return false
		}
	}
	return true
}

// add puts a request on the sheet.
func (s *sheet) add(r *request, recordName func(*core.Key) string) {
	if ln := s.alike(r); ln != nil {
		ln.requests = append(ln.requests, r)
		return
	}
	ln := line{requests: []*request{r}, cells: make([]int, len(r.charges))}
	for i := range r.charges {
		c := &r.charges[i]
		at := s.find(r.names[i])
		if at < 0 {
			at = s.addCell(cell{name: r.names[i], quota: c.Quota, reach: 1})
		}
		if c.Cost <= c.Quota.Capacity() {
			s.cells[at].reach = max(s.cells[at].reach, c.Cost)
		}
		ln.cells[i] = at
		if c.Penalty == nil {
			continue
		}
		if ln.records == nil {
			ln.records = make([]int, len(r.charges))
			for j := range ln.records {
				ln.records[j] = -1
			}
		}
		name := recordName(&c.Key)
		if ln.records[i] = s.find(name); ln.records[i] < 0 {
			ln.records[i] = s.addCell(cell{name: name, penalty: c.Penalty})
		}
	}
	s.lines = append(s.lines, ln)
}

// alike returns the line of requests that ask for the same, or nil. Most requests are
// of callers that nobody else on the sheet asks about, which one look tells.
func (s *sheet) alike(r *request) *line {
	if s.find(r.names[0]) < 0 {
		return nil
	}
	for i := range s.lines {
		if s.lines[i].requests[0].alike(r) {
			return &s.lines[i]
		}
	}
	return nil
}

// args returns the command that runs the script.
func (s *sheet) args() []any {
	list := make([]any, 0, 3+9*len(s.cells)+6*len(s.lines))
	if s.spelled {
		list = append(list, "eval", s.script.text, len(s.cells))
	} else {
		list = append(list, "evalsha", s.script.sha, len(s.cells))
	}
	for i := range s.cells {
		list = append(list, s.cells[i].name)
	}
	if s.script.lean {
		return s.leanArgs(list)
	}
	for i := range s.cells {
		list = s.cells[i].describe(list, s.around)
	}
	for i := range s.lines {
		if s.lines[i].requests[0].commit {
			list = s.lines[i].describe(list)
		}
	}
	return list
}

func (c *cell) describe(list []any, around int64) []any {
	if c.penalty != nil {
		return append(list, kindRecord, "", c.penalty.After, c.penalty.Within.Microseconds(), c.penalty.Block.Microseconds())
	}
	f := formOf(c.quota)
	list = append(list, f.args...)
	switch {
	case f.kind == kindLog:
		list = append(list, c.reach)
	case f.kind == kindFixed && c.quota.Calendar():
		e := f.edgesAt(c.quota, around)
		list = append(list, e[0], e[1], e[2], e[3])
	}
	return list
}

func (ln *line) describe(list []any) []any {
	r := ln.requests[0]
	list = append(list, len(ln.requests), len(r.charges))
	for i := range r.charges {
		c := &r.charges[i]
		list = append(list, ln.cells[i]+1, c.Cost)
		if r.plain {
			list = append(list, 0)
			continue
		}
		record := 0
		if ln.records != nil {
			record = ln.records[i] + 1
		}
		list = append(list, 1, c.Extra, min(c.MaxDelay.Microseconds(), maxDelay), flag(c.Shadow), flag(c.Quota.Spec().Shaper), record, slotName(c.Slot), holdOf(c).Microseconds())
	}
	return list
}

// maxDelay is the longest wait that a script can compare exactly, µs. No bucket
// takes longer to drain.
const maxDelay = 1 << 53

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
