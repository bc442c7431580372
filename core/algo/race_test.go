//go:build race

package algo

// raced makes the long tests shorter: they look for wrong numbers, not for races,
// and the detector makes them ten times slower.
const raced = true
