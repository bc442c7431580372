// Package core decides whether a request may pass.
//
// A [Limiter] holds a table of limits. For a [Request] it finds the limits that
// match the route, the quota that each gives to the caller's tier and the key
// that each counts by, and has a [Store] decide all of them as one: either every
// one of them grants and is charged, or none is charged. The answer is a
// [Decision].
//
// The words: a [Limit] is one named rule. A [Quota] is what one tier gets under
// one limit. A tier is a plan, such as free or pro. A principal is the
// authenticated caller. A [Key] is what a limit counts by. A [Charge] is one
// request's cost against one key of one limit.
//
// The package knows no HTTP: package httpmw and the adapters beside it turn HTTP
// requests into Requests and Decisions into headers. Without HTTP use
// [Limiter.Allow], [Limiter.Wait], [Limiter.Peek] and [Limiter.Reset].
//
// Three kinds of failure are never mixed. A denial is a value. A store that
// cannot answer is an error that matches [ErrStore], and each limit's
// [FailurePolicy] says what becomes of it. A mistake in the table is an error
// from [New] or [Limiter.Update], and a [FieldError] for each.
package core
