package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Problem is one mistake in a file.
type Problem struct {
	File string // as it was named to Load or Parse
	Line int    // from 1
	Path string // the field, such as limits[2].tiers.free.limit; empty: the file as such
	Text string // what is wrong, and what was expected
}

// String returns the problem as file:line: path: text.
func (p Problem) String() string {
	if p.Path == "" {
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
	}
	return fmt.Sprintf("%s:%d: %s: %s", p.File, p.Line, p.Path, p.Text)
}

// An Error lists every problem of a file, in the order of its lines. There is at
// least one.
type Error struct {
	Problems []Problem
}

// Error returns one problem a line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// A place is where something stands in a file. Both numbers count from 1; column
// 0 is the whole line.
type place struct{ line, column int }

// A finding is a problem that also knows its column, by which the problems of one
// line are sorted.
type finding struct {
	place
	path, text string
}

// report adds a problem. The same one is listed once: a quota under "*" is
// checked for every tier that it covers.
func (d *decoder) report(at place, path, format string, args ...any) {
	f := finding{at, path, fmt.Sprintf(format, args...)}
	if d.seen == nil {
		d.seen = map[finding]bool{}
	}
	if !d.seen[f] {
		d.seen[f] = true
		d.findings = append(d.findings, f)
	}
}

// err returns all problems by line, or nil.
func (d *decoder) err() error {
	if len(d.findings) == 0 {
		return nil
	}
	slices.SortStableFunc(d.findings, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
	e := &Error{}
	for _, f := range d.findings {
		e.Problems = append(e.Problems, Problem{File: d.file, Line: f.line, Path: f.path, Text: f.text})
	}
	return e
}
