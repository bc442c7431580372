package redisstore

import (
	"encoding/binary"
	"fmt"

	"github.com/tidegate/tidegate/core/algo"
)

// Most sheets ask for nothing but costs of buckets, each of its own. lua/lean.lua
// decides these: arguments and answers are packed, since taking words apart one by
// one is most of what a script costs a server.

// lean reports whether every line is one cost of a bucket that no other line is about.
func (s *sheet) lean() bool {
	if len(s.cells) != len(s.lines) {
		return false
	}
	for i := range s.lines {
		r := s.lines[i].requests[0]
		if len(r.charges) != 1 || r.charges[0].Cost <= 0 || formOf(r.charges[0].Quota).kind != kindBucket {
			return false
		}
	}
	return true
}

// leanArgs adds what the script is told of each line: line i is about cell i, since
// both were added together.
func (s *sheet) leanArgs(list []any) []any {
	for i := range s.lines {
		list = append(list, s.lines[i].charge())
	}
	return list
}

// charge is one charge of a bucket, as the script unpacks it.
func (ln *line) charge() []byte {
	c := &ln.requests[0].charges[0]
	f := formOf(c.Quota)
	b := make([]byte, 0, len(f.packed)+7+4)
	b = append(b, f.packed...)
	b = appendWord(b, min(c.Cost, c.Quota.Capacity()+1)) // more is denied alike, and might not fit
	return binary.BigEndian.AppendUint32(b, uint32(len(ln.requests)))
}

// packBucket is the part of a charge that is the quota's: four numbers, and the mark
// after its length.
func packBucket(n algo.Numbers, mark string) []byte {
	var b []byte
	for _, x := range [...]int64{n.Limit, n.Unit, n.Tick, n.Capacity} {
		b = appendWord(b, x)
	}
	return append(append(b, byte(len(mark))), mark...)
}

// appendWord adds an integer of 7 bytes.
func appendWord(b []byte, x int64) []byte {
	var word [8]byte
	binary.BigEndian.PutUint64(word[:], uint64(x))
	return append(b, word[1:]...)
}

// foundSize is the size of an answer about one bucket.
const foundSize = 3 * 7

// readLean fills the cells with what they were found to hold, and returns the time.
// Cells that the script left alone are marked.
func (s *sheet) readLean(value any) (now int64, err error) {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	if len(list) != len(s.cells) {
		return 0, fmt.Errorf("%w: %d elements instead of %d", errReply, len(list), len(s.cells))
	}
	for i, v := range list {
		text, ok := v.(string)
		if !ok || len(text) != foundSize && text != "" {
			return 0, fmt.Errorf("%w: %T of %d bytes instead of a string of %d", errReply, v, len(text), foundSize)
		}
		c := &s.cells[i]
		if c.untouched = text == ""; c.untouched {
			continue
		}
		now = word(text[:7])
		c.state = algo.State{A: word(text[7:14]), B: word(text[14:]), Under: c.quota}
	}
	return now, nil
}

// word returns the integer in 7 bytes.
func word(s string) (x int64) {
	for i := range len(s) {
		x = x<<8 | int64(s[i])
	}
	return x
}

// settleLean answers the lines that were decided. It reports false when there are
// others: the sheet has only these then, and goes the long way.
func (s *sheet) settleLean(now int64) bool {
	cells, lines := s.cells, s.lines
	left := &sheet{script: s.script, around: s.around, spelled: s.spelled}
	for i := range lines {
		ln := &lines[i]
		if !cells[i].untouched {
			s.answerAll(ln, now)
			continue
		}
		ln.cells[0] = left.addCell(cells[i])
		left.lines = append(left.lines, *ln)
	}
	*s = *left
	return len(s.lines) == 0
}
