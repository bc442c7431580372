package headers

import "unicode/utf8"

// appendKey writes a member's name, given with its quotes and colon, after a
// comma unless it is the first of its object. No finished value ends in '{', so
// the last byte tells.
func appendKey(dst []byte, key string) []byte {
	return append(appendComma(dst), key...)
}

func appendComma(dst []byte) []byte {
	if dst[len(dst)-1] == '{' {
		return dst
	}
	return append(dst, ',')
}

func appendText(dst []byte, key, value string) []byte {
	if value == "" {
		return dst
	}
	dst = appendKey(dst, key)
	return appendJSONString(dst, value)
}

func appendNumber(dst []byte, key string, n int64) []byte {
	dst = appendKey(dst, key)
	return appendInteger(dst, n)
}

const hexDigits = "0123456789abcdef"

// appendJSONString copies runs of bytes that need no care and treats the others
// one at a time.
func appendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		if plain[s[i]] {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		r, n := utf8.DecodeRuneInString(s[i:])
		dst = appendJSONRune(dst, r)
		i += n
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// appendJSONRune writes r, which is [utf8.RuneError] for a byte that is not
// UTF-8.
func appendJSONRune(dst []byte, r rune) []byte {
	switch {
	case r == '"' || r == '\\':
		return append(dst, '\\', byte(r))
	case r == '\n':
		return append(dst, `\n`...)
	case r == '\r':
		return append(dst, `\r`...)
	case r == '\t':
		return append(dst, `\t`...)
	case r < ' ':
		return append(dst, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&0xf])
	}
	return utf8.AppendRune(dst, r)
}
