package core

import "context"

// An Identity is who is calling, as the program's own authentication found. The
// zero Identity is an anonymous caller.
type Identity struct {
	// Principal identifies the authenticated caller. Empty: anonymous, counted by
	// address. It must be verified: whoever can choose it has as many quotas as
	// there are names.
	Principal string

	// Tier is the caller's plan. Anonymous callers and tiers that the table does
	// not know have the default tier.
	Tier string
}

type contextKey uint8

const (
	identityKey contextKey = iota
	decisionKey
)

// WithIdentity returns a context that carries id, for calls that charge the same
// caller further on: [Limiter.Allow], a database pool, an outgoing transport.
func WithIdentity(ctx context.Context, id Identity) context.Context {
	return context.WithValue(ctx, identityKey, &id)
}

// IdentityFrom returns the identity in ctx: what [WithIdentity] put there, or an
// adapter, whichever is nearer. An adapter that found nobody hides nobody.
func IdentityFrom(ctx context.Context) (Identity, bool) {
	if id, ok := ctx.Value(identityKey).(*Identity); ok {
		return *id, true
	}
	return Identity{}, false
}

// A Carrier is a context that carries a decision, and with it the identity that
// was charged. Adapters embed it in what they keep of a request, so that one
// allocation serves both. Context must be set.
type Carrier struct {
	context.Context
	Decision Decision
}

// Value implements [context.Context].
func (c *Carrier) Value(key any) any {
	switch key {
	case decisionKey:
		return &c.Decision
	case identityKey:
		if c.Decision.request.Identity == (Identity{}) {
			if outer := c.Context.Value(identityKey); outer != nil {
				return outer
			}
		}
		return &c.Decision.request.Identity
	}
	return c.Context.Value(key)
}

// DecisionFrom returns the last decision that let the request of ctx pass, or nil
// when none did: its methods may be called all the same. Decisions of mounts outside
// are its [Decision.Outer].
func DecisionFrom(ctx context.Context) *Decision {
	d, _ := ctx.Value(decisionKey).(*Decision)
	return d
}
