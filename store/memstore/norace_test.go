//go:build !race

package memstore

const scale = 1
