package config

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// parse returns the mapping that the file is, or nil after reporting why there is
// none. JSON needs no parser of its own: it is YAML too.
func (d *decoder) parse(data []byte) *node {
	if len(data) > MaxBytes {
		d.report(place{1, 0}, "", "is larger than %d bytes, want a smaller file", MaxBytes)
		return nil
	}
	source, ok := d.clean(data)
	if !ok || !d.bounded(source) {
		return nil
	}
	tokens := lexer.Tokenize(source)
	if !d.scan(tokens) {
		return nil
	}
	root := convert(d.compose(tokens))
	switch {
	case len(d.findings) > 0:
		return nil
	case root == nil || root.kind == null:
		d.report(place{1, 0}, "", "is empty, want version: 1 and limits")
		return nil
	case root.kind != mapping:
		d.report(root.place, "", "%s, want a mapping with version and limits", root.describe())
		return nil
	}
	return root
}

// clean returns the text with one kind of line end, and reports bytes that are no
// text.
func (d *decoder) clean(data []byte) (string, bool) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	s := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data))
	line := 1
	for i, r := range s {
		switch {
		case r == '\n':
			line++
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			d.report(place{line, 0}, "", "is not UTF-8, want text in that encoding")
			return "", false
		case r < ' ' && r != '\t', r == 0x7f, r == '\ufeff':
			d.report(place{line, 0}, "", "has the control character %U, want text", r)
			return "", false
		}
	}
	return s, true
}

// compose makes the syntax tree. The parser is not ours: were it to panic, the
// file would still be refused, and the process that reloads it go on.
func (d *decoder) compose(tokens token.Tokens) (body ast.Node) {
	defer func() {
		if recover() != nil {
			d.report(place{1, 0}, "", "is no YAML that can be read")
			body = nil
		}
	}()
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		at, message := place{1, 0}, "it cannot be read"
		if syntax := yaml.Error(nil); errors.As(err, &syntax) { // whose Error would print the whole file
			at, message = placeOf(syntax.GetToken()), syntax.GetMessage()
		}
		d.report(at, "", "is not valid YAML: %s%s", oneLine.Replace(message), hint(message))
		return nil
	}
	return file.Docs[0].Body
}

// oneLine spells out the tab that a message of the parser quotes.
var oneLine = strings.NewReplacer("\t", `\t`)

// hints say what is probably meant, by words of the parser's message. The first
// that fits is taken.
var hints = []struct{ words, hint string }{
	{"'\t'", "indent with spaces"},
	{"tab character", "indent with spaces"},
	{"could not find end character", ""}, // which says it all
	{"mapping value is not allowed", "a key begins in the column of its neighbours, and text with \": \" in it wants quotes"},
	{"not allowed in this context", "the entries of a list or mapping begin in one column, and what belongs to a key deeper than it"},
	{"non-map value", "want key: value in every line of a mapping"},
	{"unexpected key name", "want key: value in every line of a mapping"},
	{"", "text with : { } [ ] , * or # in it wants quotes"},
}

// hint returns a hint in brackets, if there is one.
func hint(message string) string {
	for _, h := range hints {
		if strings.Contains(message, h.words) {
			if h.hint == "" {
				break
			}
			return " (" + h.hint + ")"
		}
	}
	return ""
}

// placeOf returns where a token stands. The first line will do for one that does
// not know.
func placeOf(t *token.Token) place {
	if t == nil || t.Position == nil {
		return place{1, 0}
	}
	return place{max(1, t.Position.Line), t.Position.Column}
}

// convert makes our tree of a syntax tree. Its depth has been checked.
func convert(from ast.Node) *node {
	switch from := from.(type) {
	case nil:
		return nil
	case *ast.MappingNode:
		return convertMapping(from.Start, from.Values)
	case *ast.MappingValueNode:
		return convertMapping(from.Start, []*ast.MappingValueNode{from})
	case *ast.SequenceNode:
		n := &node{kind: list, place: placeOf(from.Start)}
		for _, item := range from.Values {
			n.adopt(convert(item))
		}
		return n
	case *ast.LiteralNode:
		return &node{kind: text, text: from.Value.Value, place: placeOf(from.Start)}
	}
	return convertScalar(from.GetToken())
}

func convertMapping(start *token.Token, values []*ast.MappingValueNode) *node {
	n := &node{kind: mapping, place: placeOf(start)}
	for i, v := range values {
		child, key := convert(v.Value), v.Key.GetToken()
		child.key, child.keyAt = key.Value, placeOf(key)
		if child.kind == list || child.kind == mapping || child.text == "" {
			child.place = child.keyAt // where the eye looks for it
		}
		if i == 0 && start.Type != token.MappingStartType {
			n.place = child.keyAt // the token of a block mapping is its first colon
		}
		n.adopt(child)
	}
	return n
}

// adopt appends a child.
func (n *node) adopt(child *node) {
	child.parent, child.index = n, len(n.items)
	n.items = append(n.items, child)
}
