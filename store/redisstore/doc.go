// Package redisstore keeps what keys have spent in Redis or Valkey, where many
// processes count together: on one server, in a group watched by Sentinel, or in a
// cluster.
//
// # One trip
//
// All limits of a request are decided by one script, in one round trip, all or
// nothing: it takes the time from the server, reads every state, decides, and then
// writes all of them or none. Its answer is what it found. What follows from that
// (remaining units, waits, receipts) is worked out here, by the same integers as in
// package algo, to which the scripts are held step by step.
//
// Requests that wait for the network at the same moment share a trip, and those that
// ask for the same share a decision: the script is asked for n and says how many it
// grants. A request that comes alone leaves at once.
//
// # What is stored
//
// One key for each caller and limit, as tg:{x3mN0pQa}Jc8eU1xW9fTqZk2Bt: the prefix, a
// hash of the caller in braces, so that a cluster keeps a caller's keys on one
// server, a hash of the limit and the caller, and a letter for the algorithm. Nothing
// in it can be read. A bucket or window is a string of some 16 to 32 bytes; a sliding
// log, the cells of a sliding window and denials before a penalty are lists, and the
// slots of a concurrency limit a sorted set. Every
// key has a time to live, set by the script that writes it: as long as its state
// differs from that of a key never seen. A denial writes nothing, but the denials of
// a limit with a penalty, and a state that was written under other numbers.
//
// # In a cluster
//
// Charges of different callers (a principal, an address, everybody) stand on
// different servers. They are taken at the same time, and given back when one of them
// denies, before the request is answered. Nobody is admitted above a limit. For one
// round trip others may be denied by units that come back.
//
// # When it fails
//
// Every error is a [core.StoreError] with one of [Kinds]. A take is never repeated
// when its reply is lost: it may have been charged, and then its units come back as
// they always do. A server that has lost its scripts is taught them again, and a slot
// that has moved is followed, without the caller's noticing.
package redisstore
