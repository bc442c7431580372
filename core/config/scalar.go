package config

import (
	"regexp"

	"github.com/goccy/go-yaml/token"
)

// numberSyntax is what YAML 1.2 takes for a number, and what older readers do.
var numberSyntax = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9]*)?)([eE][-+]?[0-9]+)?$|^0[xob][0-9a-fA-F_]+$|^[-+]?\.(inf|Inf|INF)$|^\.(nan|NaN|NAN)$`)

// convertScalar decides what a scalar is by how it is written. The parser would
// do it by what it can represent, and take 1e400 for text.
func convertScalar(t *token.Token) *node {
	n := &node{kind: text, text: t.Value, place: placeOf(t)}
	if t.Type == token.SingleQuoteType || t.Type == token.DoubleQuoteType {
		return n
	}
	switch n.text {
	case "true", "True", "TRUE", "false", "False", "FALSE":
		n.kind = boolean
	case "", "~", "null", "Null", "NULL":
		n.kind, n.text = null, ""
	default:
		if numberSyntax.MatchString(n.text) {
			n.kind = number
		}
	}
	return n
}
