package headers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// ParseProblem reads a problem+json body. The error matches [ErrMalformed] if b
// is not one JSON object. As RFC 9457 asks, a member of the wrong type, and
// also a number that no sender of this package writes, counts as not sent, and
// members that are not known are ignored. A Type of "" means "about:blank".
//
// The size of b is the caller's to bound.
func ParseProblem(b []byte) (Problem, error) {
	m, err := parseObject(b)
	if err != nil {
		return Problem{}, fmt.Errorf("headers: problem is %w: %v", ErrMalformed, err)
	}
	var p Problem
	p.Type, _ = get[string](m, "type")
	p.Title, _ = get[string](m, "title")
	p.Status, _ = get[int](m, "status")
	p.Status = max(0, p.Status)
	p.Detail, _ = get[string](m, "detail")
	p.ViolatedPolicies, _ = get[[]string](m, "violated-policies")
	p.RetryAfter, p.HasRetryAfter = m.millis("retry_after_ms")
	p.Limits = parseLimits(m["limits"])
	return p, nil
}

// An object defers the members' types, so that one wrong type spoils one
// member. Unlike a struct it also tells "Status" from "status".
type object map[string]json.RawMessage

func parseObject(b []byte) (object, error) {
	var m object
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, err
	}
	if m == nil {
		return nil, fmt.Errorf("null, want an object")
	}
	return m, nil
}

func get[T any](m object, key string) (T, bool) {
	var v *T
	if err := json.Unmarshal(m[key], &v); err != nil || v == nil {
		return *new(T), false
	}
	return *v, true
}

func (m object) count(key string) (int64, bool) {
	n, ok := get[int64](m, key)
	if !ok || n < 0 {
		return 0, false
	}
	return clamp(n), true
}

func (m object) millis(key string) (time.Duration, bool) {
	n, ok := m.count(key)
	return scaled(n, time.Millisecond), ok
}

// parseLimits walks the object by tokens, because a map would lose its order.
// raw is valid JSON or empty, so the only errors are wrong types.
func parseLimits(raw json.RawMessage) []ProblemLimit {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	var limits []ProblemLimit
	for dec.More() {
		name, _ := dec.Token()
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return limits
		}
		if m, err := parseObject(value); err == nil {
			limits = append(limits, m.limit(name.(string)))
		}
	}
	return limits
}

func (m object) limit(name string) ProblemLimit {
	l := ProblemLimit{Name: name}
	l.Limit, _ = m.count("limit")
	l.Remaining, l.HasRemaining = m.count("remaining")
	l.Exceeded, _ = get[bool](m, "exceeded")
	l.RetryAfter, l.HasRetryAfter = m.millis("retry_after_ms")
	return l
}
