// Package storetest is the contract of [core.Store] as a suite: every store of
// this module, and every decorator around one, is expected to pass it.
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, storetest.Harness{
//			New:     func(testing.TB) core.Store { return memstore.New(memstore.Config{}) },
//			Virtual: true,
//		})
//	}
//
// A [Case] is one rule of the contract, written out beside the code that checks
// it; a failure prints the rule. What a store deliberately does not promise is
// said in [Harness.Lacks], so a new store starts by claiming everything.
//
// # Time
//
// The suite knows three kinds of time. A store that reads time.Now and starts no
// real I/O is Virtual: its cases run in testing/synctest bubbles, sleeping costs
// nothing and every span is compared for equality. A store whose clock can be set
// gives Now and Advance, and is held to the same. Any other store lives in real
// time: cases then sleep for parts of a second, judge only what cannot be blamed
// on a slow machine, and the cases that need exact time are skipped.
//
// # Randomness
//
// Keys are random, so that a shared store can be tested again and again. The
// random walks beside the reference model are seeded, and say how to repeat the
// one that failed.
//
// The suite is tested itself, by stores that are wrong on purpose.
package storetest
