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
// turned into: so a quota can change under a key and nobody is refilled.
//
// All products stay within 2^53, the largest range in which a double is exact,
// so that the same arithmetic can run inside a Redis script. [Compile] chooses
// a tick (1 µs, or a power of ten above) with which that holds, and refuses a
// quota for which none does.
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
//	sliding window         limit at an edge burst; nearly 2·limit in the worst span of one window
//	sliding window, cells  limit in any span; admits up to 1/n less
//	sliding log            limit in any span, exactly
package algo
