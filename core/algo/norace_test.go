//go:build !race

package algo

const raced = false
