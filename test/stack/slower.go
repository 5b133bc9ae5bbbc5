package stack

import "time"

// Slower returns how long something may take that is to be quick, as far as that
// can be asked of what the race detector slows down: then a second and more are
// three times as much.
func Slower(d time.Duration) time.Duration {
	if raceEnabled && d >= time.Second {
		return 3 * d
	}
	return d
}
