package stack

import "time"

// Slower returns a timeout under load or the race detector for a step that takes at most d on an idle host: three times d
// and at least ten seconds. Durations below a second do not change.
func Slower(d time.Duration) time.Duration {
	if d < time.Second {
		return d
	}
	return max(3*d, 10*time.Second)
}
