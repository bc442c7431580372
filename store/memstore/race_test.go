//go:build race

package memstore

// scale divides the work of long tests: the race detector makes each step cost
// many times as much.
const scale = 50
