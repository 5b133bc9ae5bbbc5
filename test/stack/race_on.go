//go:build race

package stack

const Race = true
