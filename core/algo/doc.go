// Package algo holds every rate limiting algorithm as pure integer arithmetic:
// a state, a quota, an instant and a cost go in; a new state and an outcome
// come out. Nothing here reads a clock, takes a lock or allocates (the sliding
// log's ring aside), so every store decides with the same functions and the
// same trace gives the same answers everywhere.
//
// # Units and time
//
// Instants are microseconds since the Unix epoch, spans are microseconds. A
// state keeps what its key has spent, in units, never a time that a quota has
// turned into: so a quota can change under a key and nobody is refilled. Until it
// is first asked about under another quota, a state goes on as under its own.
//
// The products of a quota stay within 2^53, the largest range in which a double is
// exact, so that the same arithmetic can run inside a Redis script. [Compile]
// chooses a tick (1 µs, or a power of ten above) with which that holds, and refuses
// a quota for which none does. Three products can be larger, and are made in 128
// bits: what drains in a long time, a level in the words of another period, and the
// weight of a counter above a lowered limit.
//
// A clock that goes back makes no units: a state that was written later than now
// stands still until now has caught up. A grant moves that time on, and a change of
// the quota; a denial or a give-back does not.
//
// # Rounding
//
// Every division rounds against the caller: refill down, debt up, waits up. A
// bucket's debt is kept in 1/period units, so refill is a multiplication and
// there is no drift: 7 an hour is 7 000 in 1 000 hours.
//
// # What each algorithm promises
//
//	token bucket           burst + rate·T in any span T
//	leaky bucket           queue + 1 + rate·T in any span T; as a queue, one leaves each 1/rate
//	fixed window           limit in a window; 2·limit around an edge
//	sliding window         limit at once; 2·limit − 1 in the worst span of one window
//	sliding window, cells  limit in any span of one window; admits up to 1/n less
//	sliding log            limit in any span of one window, exactly
//
// A bucket counts T in its ticks, begun ones included, which only shows with a tick
// above 1 µs. Units that are given back are not counted; a bucket from which they
// come back late and out of order may admit one burst more in a span, see Give.
package algo
