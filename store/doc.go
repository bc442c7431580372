// Package store has stores made of stores: each stands in front of another one, keeps
// the contract of [core.Store], and adds one thing to it.
//
//	DenyCache   answers for keys that are known to be denied, without a call
//	Failsafe    decides by each limit's policy while the store behind it fails
//	Lease       holds units of busy keys here, and asks for many at once
//
// They are put together in this order, the deny cache outermost. Package store/open
// does so from the store part of a limits file.
package store
