package config

import (
	"strings"

	"github.com/tidegate/tidegate/core"
)

// A decoder turns the tree of one file into a [File] and collects what is wrong
// with it. A value that cannot be used is replaced by a harmless one, so that
// what is checked later does not complain of it again.
type decoder struct {
	file     string
	findings []finding
	seen     map[finding]bool

	tiers    []string // the list of tiers, or if there is none those that limits name
	listed   bool     // whether there is a list
	tooLarge bool     // too many tiers to check the table against
}

// wrong reports a problem of a node.
func (d *decoder) wrong(n *node, format string, args ...any) {
	d.report(n.place, n.path(), format, args...)
}

// reject reports that a node is not what was wanted.
func (d *decoder) reject(n *node, want string) {
	d.wrong(n, "%s, want %s", n.describe(), want)
}

// unsupported reports a part of the grammar whose engine does not exist yet.
func (d *decoder) unsupported(n *node) { d.wrong(n, "is not supported yet, leave it out") }

// validate adds what core finds wrong with the table.
func (d *decoder) validate(root *node, table core.Config) {
	if d.tooLarge {
		return
	}
	err := table.Validate()
	for _, e := range core.FieldErrors(err) {
		d.report(root.find(e.Path).place, e.Path, "%s", e.Problem)
	}
	if err != nil && len(d.findings) == 0 {
		d.wrong(root, "%v", err)
	}
}

// A field is what a mapping may have: its name and what reads its value. A field
// with a want must be there.
type field struct {
	name string
	read func(*node)
	want string
}

// into returns what reads a value and stores it.
func into[T any](target *T, read func(*node) T) func(*node) {
	return func(n *node) { *target = read(n) }
}

// fields reads the mapping n, in the order of the list, and reports what is
// missing, unknown or there twice.
func (d *decoder) fields(n *node, list ...field) {
	entries := d.entries(n, "a mapping of "+names(list))
	if n.kind != mapping {
		return
	}
	byName := map[string]*node{}
	for _, e := range entries {
		byName[e.key] = e
	}
	for _, f := range list {
		child := byName[f.name]
		switch {
		case child != nil:
			f.read(child)
		case f.want != "":
			d.report(n.place, below(n.path(), f.name), "is missing, want %s", f.want)
		}
		delete(byName, f.name)
	}
	for _, e := range byName {
		d.report(e.keyAt, e.path(), "%s", unknown(e.key, list))
	}
}

// entries returns the values of the mapping n with distinct keys, and reports
// when it is none and when a key is repeated.
func (d *decoder) entries(n *node, want string) []*node {
	if n.kind != mapping {
		d.reject(n, want)
		return nil
	}
	first := map[string]*node{}
	var list []*node
	for _, child := range n.items {
		if other := first[child.key]; other != nil {
			d.report(child.keyAt, child.path(), "is there twice, first on line %d; want it once", other.keyAt.line)
			continue
		}
		first[child.key] = child
		list = append(list, child)
	}
	return list
}

// unknown says that a field is unknown, and which is probably meant.
func unknown(key string, list []field) string {
	var known []string
	for _, f := range list {
		known = append(known, f.name)
	}
	if near := nearest(key, known); near != "" {
		return "is unknown, did you mean " + near + "?"
	}
	return "is unknown, want " + alternatives(known)
}

func names(list []field) string {
	var all []string
	for _, f := range list {
		all = append(all, f.name)
	}
	return strings.Join(all, ", ")
}

// alternatives lists words, the last one after "or".
func alternatives(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// list returns the items of a list, which must have at least one unless none is
// allowed.
func (d *decoder) list(n *node, want string) []*node {
	if n.kind != list || len(n.items) == 0 {
		what := n.describe()
		if n.kind == list {
			what = "is empty"
		}
		d.wrong(n, "%s, want %s", what, want)
		return nil
	}
	return n.items
}

// listOrNone is list, and takes an empty one for "none".
func (d *decoder) listOrNone(n *node, want string) []*node {
	if n.kind == list && len(n.items) == 0 {
		return nil
	}
	return d.list(n, want)
}

// texts reads the items and reports repeated ones. One that cannot be used
// becomes the replacement, so that the others keep their numbers.
func (d *decoder) texts(items []*node, want, replacement string) []string {
	var all []string
	first := map[string]int{}
	for i, n := range items {
		s := d.text(n, want)
		if j, repeated := first[s]; repeated && s != "" {
			d.wrong(n, "repeats item %d, want each once", j)
			s = ""
		} else {
			first[s] = i
		}
		if s == "" {
			s = replacement
		}
		all = append(all, s)
	}
	return all
}
