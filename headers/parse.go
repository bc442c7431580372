package headers

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

var (
	// ErrMalformed means that a value does not follow its grammar. Nothing of
	// it can be used; a client goes on as if it had not been sent.
	ErrMalformed = errors.New("malformed")

	// ErrDropped means that the field could be read, but that some of its
	// members break the draft's rules: a wrong type, a number out of range, a
	// required parameter missing. They are left out, the others are returned
	// beside the error and may be used.
	ErrDropped = errors.New("members dropped")

	// ErrAbsent means that a field which a trio needs was not sent.
	ErrAbsent = errors.New("absent")
)

// ParsePolicies reads the lines of a RateLimit-Policy field of [DraftC], as
// http.Header.Values returns them. No lines, or one blank line, are an empty
// list.
//
// If the field as a whole cannot be read the error matches [ErrMalformed] and
// no policy is returned. If only some members are unusable the error matches
// [ErrDropped], and the others are returned too. Unknown parameters are
// ignored, unknown units are kept, "requests" becomes the zero Unit, and a
// window beyond what a Duration holds becomes the longest Duration.
func ParsePolicies(lines []string) ([]Policy, error) {
	return parseMembers(RateLimitPolicy, lines, readPolicy)
}

// ParseStatuses reads the lines of a RateLimit field of [DraftC]. Errors are as
// for [ParsePolicies].
//
// It also understands the names that the next generation gives to the same
// numbers: a member without r but with a is read by a and w instead of r and t.
// In a member with r, w is a parameter like any other and is ignored.
func ParseStatuses(lines []string) ([]Status, error) {
	return parseMembers(RateLimit, lines, readStatus)
}

func readPolicy(it httpsfv.Item) (Policy, error) {
	r := paramReader{params: it.Params}
	p := Policy{
		Name:      r.name(it.Value),
		Quota:     r.required("q", 0),
		Unit:      r.unit("qu"),
		Partition: r.bytes("pk"),
	}
	w, _ := r.optional("w", 1)
	p.Window = scaled(w, time.Second)
	return p, r.err
}

func readStatus(it httpsfv.Item) (Status, error) {
	r := paramReader{params: it.Params}
	left, reset := "r", "t"
	if !r.has("r") && r.has("a") {
		left, reset = "a", "w"
	}
	s := Status{
		Name:      r.name(it.Value),
		Remaining: r.required(left, 0),
		Partition: r.bytes("pk"),
	}
	t, ok := r.optional(reset, 0)
	s.Reset, s.HasReset = scaled(t, time.Second), ok
	return s, r.err
}

// parseMembers reads a List, keeping the members that read accepts.
func parseMembers[T any](field string, lines []string, read func(httpsfv.Item) (T, error)) ([]T, error) {
	list, err := parseList(lines)
	if err != nil {
		return nil, fmt.Errorf("headers: %s is %w: %v", field, ErrMalformed, err)
	}
	var kept []T
	var dropped []error
	for i, m := range list {
		v, err := readMember(m, read)
		if err != nil {
			dropped = append(dropped, fmt.Errorf("member %d: %w", i, err))
			continue
		}
		kept = append(kept, v)
	}
	return kept, droppedError(field, dropped)
}

func readMember[T any](m httpsfv.Member, read func(httpsfv.Item) (T, error)) (v T, err error) {
	item, ok := m.(httpsfv.Item)
	if !ok {
		return v, errors.New("an Inner List, want an Item")
	}
	return read(item)
}

// maxReasons bounds an error message whose length the peer decides.
const maxReasons = 8

func droppedError(field string, reasons []error) error {
	if len(reasons) == 0 {
		return nil
	}
	shown := errors.Join(reasons[:min(len(reasons), maxReasons)]...)
	return fmt.Errorf("headers: %s: %d %w: %v", field, len(reasons), ErrDropped, shown)
}

// parseList reads the lines as one List. Joining alone would let a String run
// on from one line into the next and swallow whatever stands between, so each
// line must also be a List by itself.
func parseList(lines []string) (httpsfv.List, error) {
	var all httpsfv.List
	for _, line := range lines {
		line = strings.Trim(line, " \t") // not part of a field value
		if line == "" && len(lines) > 1 {
			return nil, errors.New("an empty line beside others")
		}
		list, err := httpsfv.UnmarshalList([]string{padByteSequences(line)})
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// padByteSequences adds the '=' that a Byte Sequence of line lacks, and leaves
// everything else, sound or not, as it is. The specification asks parsers to do
// without padding where they can; the parser we use cannot.
func padByteSequences(line string) string {
	if !strings.Contains(line, ":") {
		return line
	}
	var b strings.Builder
	for line != "" {
		n := lexeme(line)
		b.WriteString(padded(line[:n]))
		line = line[n:]
	}
	return b.String()
}

// padded returns lex, or if it is a Byte Sequence without padding, with it.
func padded(lex string) string {
	if len(lex) < 2 || lex[0] != ':' || lex[len(lex)-1] != ':' {
		return lex
	}
	body := lex[1 : len(lex)-1]
	if _, err := base64.RawStdEncoding.DecodeString(body); err != nil {
		return lex
	}
	return ":" + body + "==="[:(4-len(body)%4)%4] + ":"
}

// lexeme returns the length of what starts line, which must not be empty. It
// tells apart only what may hide a colon: a String, a Display String, a Token
// or key, and a Byte Sequence. Anything else is one byte.
func lexeme(line string) int {
	switch c := line[0]; {
	case c == '"':
		return quoted(line)
	case strings.HasPrefix(line, `%"`):
		return through(line, 2, '"')
	case c == ':':
		return through(line, 1, ':')
	case c == '*' || isLetter(c):
		return tokenLen(line)
	}
	return 1
}

// through returns the length of line up to and with the first end at or after
// from, or all of it if there is none.
func through(line string, from int, end byte) int {
	if i := strings.IndexByte(line[from:], end); i >= 0 {
		return from + i + 1
	}
	return len(line)
}

func quoted(line string) int {
	for i := 1; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(line)
}

func tokenLen(line string) int {
	for i := range len(line) {
		if !isTokenByte(line[i]) {
			return i
		}
	}
	return len(line)
}

func isTokenByte(c byte) bool {
	return isLetter(c) || '0' <= c && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~:/", c) >= 0
}

func isLetter(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z'
}
