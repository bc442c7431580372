package clientip

import "strings"

// isToken reports whether s is a token of RFC 9110, the only thing that can be
// the name of a header.
func isToken(s string) bool {
	for i := range len(s) {
		if !isTokenByte(s[i]) {
			return false
		}
	}
	return s != ""
}

func isTokenByte(c byte) bool {
	return isAlphanumeric(c) || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// isQuotable reports whether c may stand in a quoted string of RFC 9110: all
// but control characters, and among these the tab may.
func isQuotable(c byte) bool {
	return c == '\t' || c >= ' ' && c != 0x7f
}
