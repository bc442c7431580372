// Package memstore keeps what keys have spent in this process's memory.
//
// # Layout
//
// Most keys need 40 bytes: 128 bits of identity, two words of state, the quota
// that they were written under and a version. They stand in open-addressing
// tables without pointers, so a million idle keys cost the garbage collector
// nothing. Sliding logs, windows of cells and denial records need more and stand
// beside the tables.
//
// # Memory
//
// All of it together stays within 64 bytes × [Config.MaxKeys]. A key that equals a
// fresh one takes no room: its slot is free for the next. When the groups that a
// new key may stand in hold no such slot, the key in them that owes least gives
// way, but only if it owes at most one unit and at most a sixteenth of its
// quota. When none does, the new key is counted in a sketch: cells that several
// keys share, which can count too much and never too little. So a flood of keys
// neither grows memory nor forgives a caller that is limited; what it can do is
// to have keys denied early that came after the table was full. Logs and records
// deny when there is no room. Every forced step is counted in [Stats].
//
// # Concurrency
//
// A denial reads and writes nothing: the state is read under a version that
// changes with every write. Everything else holds the locks of the shards that
// its keys stand in, taken in order, checks every charge and then writes all or
// none.
package memstore
