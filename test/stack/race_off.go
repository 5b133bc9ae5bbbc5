//go:build !race

package stack

const Race = false
