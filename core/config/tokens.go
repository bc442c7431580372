package config

import "github.com/goccy/go-yaml/token"

// The bounds of what the parser is given. Its cost is quadratic in the entries of
// a mapping and in the lengths of keys, and its stack grows with the depth.
const (
	maxDepth   = 32     // the schema needs 6
	maxEntries = 10_000 // a directory of more callers is better a function
	maxKey     = 1024   // bytes; YAML itself allows no longer ones
	maxHoles   = 1000   // entries without a value, all of which are errors
)

// refused says what is wrong with the parts of YAML that limits files do not use.
var refused = map[token.Type]string{
	token.AnchorType:     "has an anchor (&), which is not supported; write the value out where it is used, or put the text in quotes",
	token.AliasType:      "has an alias (*), which is not supported; write the value out, and the tier * in quotes",
	token.MergeKeyType:   "has a merge key (<<), which is not supported; write the fields out",
	token.TagType:        "has a tag (!), which is not supported; leave it out, or put the text in quotes",
	token.MappingKeyType: "has a complex key (?), which is not supported; write key: value",
	token.DirectiveType:  "has a directive (%), which is not supported; leave it out",
}

// A scanner walks over the tokens of a file before the parser does.
type scanner struct {
	d      *decoder
	flows  []flowHead  // open brackets
	blocks []blockHead // open block collections, each deeper than the one before
	last   *token.Token
	holes  int  // entries without a value
	begun  bool // there was content
	ended  bool // there was an end of the document
}

// A flowHead is an open bracket, a blockHead the column of keys or dashes.
type (
	flowHead  struct{ mapping, colon bool }
	blockHead struct{ column, entries int }
)

// scan reports what the parser must not see, and whether there was none of it.
func (d *decoder) scan(tokens token.Tokens) bool {
	s := &scanner{d: d}
	for _, t := range tokens {
		if t.Type == token.CommentType {
			continue
		}
		if !s.document(t) || !s.hole(t) || !s.nesting(t) {
			return false
		}
		s.last = t
		if why, found := refused[t.Type]; found {
			d.report(placeOf(t), "", "%s", why)
		}
		if t.Type == token.DirectiveType {
			return false // what follows is a document of its own to the scanner
		}
	}
	return len(d.findings) == 0
}

// document reports a second document and returns whether to go on.
func (s *scanner) document(t *token.Token) bool {
	switch {
	case t.Type == token.DocumentEndType:
		s.ended = true
	case s.ended, s.begun && t.Type == token.DocumentHeaderType:
		s.d.report(placeOf(t), "", "has a second document, want one in a file")
		return false
	default:
		s.begun = true
	}
	return true
}

// hole counts an entry without a value, which t ends, and returns whether to go
// on. All of them are errors, and each costs the parser a copy of all tokens.
func (s *scanner) hole(t *token.Token) bool {
	if !s.endsHole(t) {
		return true
	}
	s.holes++
	if s.holes > maxHoles {
		s.d.report(placeOf(t), "", "has more than %d entries without a value, want one in each", maxHoles)
		return false
	}
	return true
}

func (s *scanner) endsHole(t *token.Token) bool {
	if s.last == nil {
		return false
	}
	colon := s.last.Type == token.MappingValueType
	dash := s.last.Type == token.SequenceEntryType
	if len(s.flows) > 0 {
		ends := t.Type == token.CollectEntryType || t.Type == token.MappingEndType
		bare := s.flows[len(s.flows)-1] == flowHead{mapping: true}
		return ends && (colon || bare)
	}
	if !colon && !dash || len(s.blocks) == 0 {
		return false
	}
	at, column := placeOf(t), s.blocks[len(s.blocks)-1].column
	listBelow := colon && t.Type == token.SequenceEntryType && at.column == column
	return at.line > placeOf(s.last).line && at.column <= column && !listBelow
}

// nesting reports what is too deep or too large and returns whether to go on.
func (s *scanner) nesting(t *token.Token) bool {
	top := len(s.flows) - 1
	switch t.Type {
	case token.SequenceStartType, token.MappingStartType:
		s.flows = append(s.flows, flowHead{mapping: t.Type == token.MappingStartType})
	case token.SequenceEndType, token.MappingEndType:
		s.flows = s.flows[:max(0, top)]
	case token.CollectEntryType:
		if top >= 0 {
			s.flows[top].colon = false
		}
	case token.SequenceEntryType:
		if top >= 0 {
			s.d.report(placeOf(t), "", "has a - inside brackets, want , between the items and the end bracket behind the last")
			return false
		}
		return s.entry(t, t)
	case token.MappingValueType:
		if top >= 0 {
			if s.flows[top].colon {
				s.d.report(placeOf(t), "", "has a second : in one entry between brackets, want , before the next entry, and text with : in it in quotes")
				return false
			}
			s.flows[top].colon = true
		}
		if s.last != nil {
			return s.entry(t, s.last)
		}
	}
	return s.shallow(t)
}

// entry counts an entry of a block collection, which begins at first.
func (s *scanner) entry(t, first *token.Token) bool {
	at := placeOf(first)
	if len(first.Value) > maxKey {
		s.d.report(placeOf(t), "", "has a key of %d bytes, want at most %d", len(first.Value), maxKey)
		return false
	}
	if len(s.flows) > 0 {
		return true
	}
	for len(s.blocks) > 0 && s.blocks[len(s.blocks)-1].column > at.column {
		s.blocks = s.blocks[:len(s.blocks)-1]
	}
	if len(s.blocks) == 0 || s.blocks[len(s.blocks)-1].column < at.column {
		s.blocks = append(s.blocks, blockHead{column: at.column})
	}
	top := &s.blocks[len(s.blocks)-1]
	top.entries++
	if top.entries > maxEntries {
		s.d.report(at, "", "is the entry after %d in one list or mapping, want at most so many", maxEntries)
		return false
	}
	return s.shallow(t)
}

func (s *scanner) shallow(t *token.Token) bool {
	if len(s.flows)+len(s.blocks) > maxDepth {
		s.d.report(placeOf(t), "", "is nested too deeply, want at most %d levels", maxDepth)
		return false
	}
	return true
}
