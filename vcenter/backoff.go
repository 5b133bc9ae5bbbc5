package vcenter

import "time"

const (
	// restartMax bounds the delay before a watch that had read the vCenter begins
	// again in the same session, for the first times.
	restartMax = 2 * time.Second
	// restartsSoon is how often a watch begins again so soon that ends within
	// RetryMax each time. After that the delay grows to RetryMax.
	restartsSoon = 10
	// restartsAtOnce is how many restarts within a minute a vCenter can cause without a delay.
	restartsAtOnce = 3
)

// backoff is the delay between two attempts to follow a vCenter. It grows from least
// to most while they fail soon.
type backoff struct {
	least, most, delay time.Duration
	// soon counts the restarts that restartMax was for.
	soon int
}

func newBackoff(least, most time.Duration) *backoff {
	return &backoff{least: least, most: most, delay: least}
}

// after returns the delay after an attempt that took so long, zero for none. Read
// reports whether the vCenter was read meanwhile, lost whether the session was lost:
// vCenters end sessions, so the first time nothing is wrong. A vCenter that ends each
// session soon after the login is logged in to after growing delays all the same,
// though it could be read each time.
func (b *backoff) after(took time.Duration, read, lost bool) time.Duration {
	switch {
	case took > b.most:
		b.delay = b.least
		b.soon = 0
	case read && !lost && b.soon < restartsSoon:
		b.delay = min(b.delay, restartMax)
		b.soon++
	}
	delay := b.delay
	b.delay = min(2*b.delay, b.most)
	if lost && delay == b.least {
		return 0
	}
	return delay
}

// restarts are the times of the last restarts of a watch that the vCenter caused.
type restarts struct {
	times [restartsAtOnce]time.Time
	next  int
}

// areOften records a restart, and reports whether restartsAtOnce others were in the minute before.
func (r *restarts) areOften(now time.Time) bool {
	first := r.times[r.next]
	r.times[r.next] = now
	r.next = (r.next + 1) % restartsAtOnce
	return !first.IsZero() && now.Sub(first) < time.Minute
}
