//go:build race

package vcenter

// patience multiplies timeouts in tests with the race detector.
const patience = 5
