package store

import "github.com/tidegate/tidegate/core"

// Unwrap returns the store behind the lease.
func (l *Lease) Unwrap() core.Store { return l.inner }

// placedOf returns the store that knows where keys stand, which may be behind others,
// or nil.
func placedOf(s core.Store) Placed {
	for {
		switch at := s.(type) {
		case Placed:
			return at
		case interface{ Unwrap() core.Store }:
			s = at.Unwrap()
		default:
			return nil
		}
	}
}
