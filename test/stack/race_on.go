//go:build race

package stack

// Race reports whether this program and its daemons are built with the race detector.
const Race = true
