// Package headers writes and reads what an HTTP rate limiter tells its
// clients: the RateLimit and RateLimit-Policy fields, the older header trios,
// Retry-After, and problem+json bodies.
//
// # Generations
//
// None of the RateLimit fields is a finished standard, so no function here
// claims to implement "the" standard. The generations are named after the
// revisions of draft-ietf-httpapi-ratelimit-headers that agree with each other:
//
//   - [DraftC], revisions 08 to 11: RateLimit: "burst";r=50;t=30 and
//     RateLimit-Policy: "burst";q=100;w=60. See [AppendStatus], [AppendPolicy].
//   - [Draft06], revisions 04 to 06: RateLimit-Limit, RateLimit-Remaining,
//     RateLimit-Reset in seconds to wait, RateLimit-Policy: 100;w=60. See [Trio].
//   - [XEpoch] and [XDelta], conventions and not drafts: the X-RateLimit trio,
//     whose reset is an instant for the one and a wait for the other.
//
// DraftC and Draft06 give RateLimit-Policy different bodies, and XEpoch and
// XDelta give X-RateLimit-Reset different meanings, so neither pair may be sent
// together; [Styles.Validate] says so.
//
// # Rounding
//
// Clients are told whole seconds and may believe them to the letter, so every
// wait is rounded up and no number is ever negative. [RetrySeconds] is at least
// one: a denial that says "0" invites the very request it denied.
//
// # Writing
//
// Functions named Append extend a caller's buffer, allocate nothing if it is
// large enough, and cannot fail: a number out of range is clamped, a byte that
// the grammar forbids is replaced. A bad member would make the whole field
// unreadable for everyone who added to it, so there is no way to write one.
//
// # Reading
//
// Functions named Parse treat their input as hostile. They never panic, and
// they distinguish a field that is no field at all ([ErrMalformed]) from one
// with members that break the draft's rules ([ErrDropped]).
//
// All functions of this package are safe for concurrent use; none keeps what it
// is given.
package headers
