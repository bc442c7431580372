package redisstore

import (
	"context"
	"time"
)

// Announce says that an instance is alive and counts as such for a span, and returns
// how many are. Every instance that shares the store calls it again before its span
// has passed, under a name of its own that says nothing about it.
func (s *Store) Announce(ctx context.Context, name string, span time.Duration) (int, error) {
	args := []any{"evalsha", s.scripts.census.sha, 1, s.prefix + ":{instances}", name, span.Microseconds()}
	value, err := s.run(ctx, s.scripts.census, args)
	if err != nil {
		return 0, err
	}
	r := reply{}
	r.list, _ = value.([]any)
	n := r.next()
	return int(n), wrap(r.err)
}
