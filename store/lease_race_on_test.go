//go:build race

package store_test

// raceEnabled: the race detector makes each step cost many times as much.
const raceEnabled = true
