//go:build race

package vcenter

// patience is how much longer a call may take in tests with the race detector.
const patience = 5
