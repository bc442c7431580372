package config

import (
	"fmt"
	"strconv"
	"strings"
)

// kind is what a node is.
type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	list
	mapping
)

// A node is one value of a file: the tree that is left of YAML when everything
// that the schema has no use for is refused.
type node struct {
	kind  kind
	text  string // of a scalar: as it is written, for text without quotes and escapes
	place        // of the value, or of its key if the value is empty or spans lines

	items []*node // the items of a list, the values of a mapping

	parent *node
	index  int    // in the parent's items
	key    string // in a parent that is a mapping
	keyAt  place

	// private mappings have keys that are secrets, and are never printed.
	private bool
}

// path returns where the node stands, as people write it: limits[2].tiers.free.
func (n *node) path() string {
	if n.parent == nil {
		return ""
	}
	if n.parent.kind == list || n.parent.private {
		return fmt.Sprintf("%s[%d]", n.parent.path(), n.index)
	}
	return below(n.parent.path(), clip(n.key))
}

// below returns the path of a field in the mapping at path.
func below(path, field string) string {
	if field == "" {
		field = `""`
	}
	if path == "" {
		return field
	}
	return path + "." + field
}

// find returns the node at path, or the nearest one above it that exists.
func (n *node) find(path string) *node {
	for path != "" {
		child, rest := n.step(path)
		if child == nil {
			return n
		}
		n, path = child, rest
	}
	return n
}

// step returns the child that path begins with, and the rest of the path. Keys
// may contain dots, so the longest that fits is the one that is meant.
func (n *node) step(path string) (*node, string) {
	if n.kind == list {
		return n.stepList(path)
	}
	path = strings.TrimPrefix(path, ".")
	var best *node
	for _, child := range n.items {
		rest, found := strings.CutPrefix(path, child.key)
		ends := rest == "" || rest[0] == '.' || rest[0] == '['
		if found && ends && (best == nil || len(child.key) > len(best.key)) {
			best = child
		}
	}
	if best == nil {
		return nil, path
	}
	return best, path[len(best.key):]
}

func (n *node) stepList(path string) (*node, string) {
	digits, rest, _ := strings.Cut(strings.TrimPrefix(path, "["), "]")
	i, err := strconv.Atoi(digits)
	if err != nil || i < 0 || i >= len(n.items) {
		return nil, path
	}
	return n.items[i], rest
}

// describe says what the node is, for a message that goes on with what was
// wanted.
func (n *node) describe() string {
	switch n.kind {
	case null:
		return "is empty"
	case text:
		return fmt.Sprintf("is %q", clip(n.text))
	case list:
		return "is a list"
	case mapping:
		return "is a mapping"
	}
	return "is " + clip(n.text)
}

// clip shortens what a message quotes from a file.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
