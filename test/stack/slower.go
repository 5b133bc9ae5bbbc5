package stack

import "time"

// Slower returns how long a step may take, beside load or under the race detector, that takes
// d at most on an idle machine: three times as long, and at least ten seconds. Less than a
// second is left as it is.
func Slower(d time.Duration) time.Duration {
	if d < time.Second {
		return d
	}
	return max(3*d, 10*time.Second)
}
