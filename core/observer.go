package core

import "context"

// An Observer is told what a [Limiter] did and can change nothing. Its methods
// are called on the request's goroutine, concurrently, and must not block.
type Observer interface {
	// Decided is told of every decision that counted something or denied, and of
	// every exemption; a look ([Limiter.Peek]) is none. The Decision may be kept,
	// unless the caller of [Limiter.Decide] uses it again: adapters do not.
	Decided(ctx context.Context, d *Decision)

	// Failed is told of every error of the store that is not the caller's leaving.
	Failed(ctx context.Context, err error)

	// Reloaded is told of every [Limiter.Update]; err says why it was refused.
	Reloaded(err error)
}
