//go:build race

package core_test

// The race detector makes sync.Pool forget, so allocations mean nothing.
const raceEnabled = true
