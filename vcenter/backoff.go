package vcenter

import "time"

const (
	// restartMax bounds the delay before a watch restarts in the same session after a successful
	// read, for the first restarts.
	restartMax = 2 * time.Second
	// restartsSoon is the number of such restarts if each watch ends within RetryMax. After that the
	// delay grows to RetryMax.
	restartsSoon = 10
	// restartsAtOnce is the number of restarts per minute that a vCenter can cause without a delay.
	restartsAtOnce = 3
)

// backoff is the delay between two attempts. It doubles from least to most while attempts fail soon.
type backoff struct {
	least, most, delay time.Duration
	// soon counts the restarts with restartMax.
	soon int
}

func newBackoff(least, most time.Duration) *backoff {
	return &backoff{least: least, most: most, delay: least}
}

// after returns the delay after an attempt, zero for none. read reports whether the vCenter was read,
// lost whether the session was lost. vCenters end sessions, so the first loss has no delay. If a vCenter
// ends each session soon after the login, the delay grows even if each session reads the vCenter.
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

// areOften records a restart, and reports whether it exceeds restartsAtOnce in a minute.
func (r *restarts) areOften(now time.Time) bool {
	first := r.times[r.next]
	r.times[r.next] = now
	r.next = (r.next + 1) % restartsAtOnce
	return !first.IsZero() && now.Sub(first) < time.Minute
}
