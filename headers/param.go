package headers

import (
	"errors"
	"fmt"
	"time"

	"github.com/dunglas/httpsfv"
)

// A paramReader reads the parameters of one member and remembers the first
// thing that is wrong with them.
type paramReader struct {
	params *httpsfv.Params
	err    error
}

func (r *paramReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *paramReader) has(key string) bool {
	_, ok := r.params.Get(key)
	return ok
}

// name returns the bare item, which in both fields must be a String.
func (r *paramReader) name(bare any) string {
	s, ok := bare.(string)
	if !ok {
		r.fail("the name is %s, want a String", typeName(bare))
	}
	return s
}

func (r *paramReader) required(key string, low int64) int64 {
	n, ok := r.optional(key, low)
	if !ok {
		r.fail("%s is missing", key)
	}
	return n
}

// optional returns the Integer at key, and whether there is one. Integers have
// at most fifteen digits, which the parser has seen to.
func (r *paramReader) optional(key string, low int64) (int64, bool) {
	v, ok := r.params.Get(key)
	if !ok {
		return 0, false
	}
	n, err := integer(v, low)
	if err != nil {
		r.fail("%s is %w", key, err)
	}
	return n, true
}

func integer(v any, low int64) (int64, error) {
	n, ok := v.(int64)
	if !ok {
		return 0, errors.New(typeName(v) + ", want an Integer")
	}
	if n < low {
		return 0, fmt.Errorf("%d, want %d or more", n, low)
	}
	return n, nil
}

// unit folds both spellings of the default, the drafts' text and their
// registry differing, into the zero Unit.
func (r *paramReader) unit(key string) Unit {
	v, ok := r.params.Get(key)
	if !ok {
		return ""
	}
	s, ok := v.(string)
	if !ok {
		r.fail("%s is %s, want a String", key, typeName(v))
	}
	if u := Unit(s); !u.isDefault() && u != "request" {
		return u
	}
	return ""
}

func (r *paramReader) bytes(key string) []byte {
	v, ok := r.params.Get(key)
	if !ok {
		return nil
	}
	b, ok := v.([]byte)
	if !ok {
		r.fail("%s is %s, want a Byte Sequence", key, typeName(v))
	}
	return b
}

// typeName names the type and not the value, which is the peer's to choose and
// would end in somebody's log.
func typeName(v any) string {
	switch v.(type) {
	case bool:
		return "a Boolean"
	case int64:
		return "an Integer"
	case float64:
		return "a Decimal"
	case string:
		return "a String"
	case httpsfv.Token:
		return "a Token"
	case []byte:
		return "a Byte Sequence"
	case time.Time:
		return "a Date"
	}
	return "a Display String"
}
