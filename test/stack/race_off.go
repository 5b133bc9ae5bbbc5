//go:build !race

package stack

// Race reports whether this program and the daemons that it builds have the race detector.
const Race = false
