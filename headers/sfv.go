package headers

import (
	"encoding/base64"
	"strconv"
)

// maxInteger is the largest Integer of structured fields: fifteen nines.
const maxInteger = 999_999_999_999_999

func clamp(n int64) int64 {
	return max(0, min(n, maxInteger))
}

// appendInteger writes n within the bounds of our parameters, none of which may
// be negative.
func appendInteger(dst []byte, n int64) []byte {
	return strconv.AppendInt(dst, clamp(n), 10)
}

func appendParam(dst []byte, param string, n int64) []byte {
	dst = append(dst, param...)
	return appendInteger(dst, n)
}

// plain holds the bytes that stand for themselves both in a String of
// structured fields and in one of JSON: printable ASCII but for '"' and '\\'.
var plain = plainBytes()

func plainBytes() (t [256]bool) {
	for c := ' '; c <= '~'; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}

// appendString writes a String. What a String cannot hold becomes '_': names
// are validated when they are configured, and should one slip through, an odd
// name is a smaller fault than a split response or an unreadable field.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0 // of the run of plain bytes that is copied at once
	for i := range len(s) {
		c := s[i]
		if plain[c] {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		if c == '"' || c == '\\' {
			dst = append(dst, '\\', c)
		} else {
			dst = append(dst, '_')
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendPartition(dst, key []byte) []byte {
	if key == nil {
		return dst
	}
	dst = append(dst, ";pk=:"...)
	dst = base64.StdEncoding.AppendEncode(dst, key)
	return append(dst, ':')
}

// separator goes between members. A comma alone would do for a parser; this is
// the canonical form, so equal lists are equal bytes.
const separator = ", "
