package vcenter

import "time"

const (
	// restartMax bounds the first delays if the session is alive and the vCenter was read.
	restartMax = 2 * time.Second
	// restartsSoon is the number of delays with restartMax if each watch ends within RetryMax.
	restartsSoon = 10
	// restartsAtOnce is the number of restarts per minute that a vCenter can cause without a delay.
	restartsAtOnce = 3
)

// backoff doubles the delay from least to most while attempts fail soon.
type backoff struct {
	least, most, delay time.Duration
	// soon counts delays with restartMax.
	soon int
}

func newBackoff(least, most time.Duration) *backoff {
	return &backoff{least: least, most: most, delay: least}
}

// after returns the next delay, zero for none. vCenters end sessions, so the first lost session has no
// delay. If each session is lost soon, the delay grows even if the vCenter was read.
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

// restarts are the last restarts that the vCenter caused.
type restarts struct {
	times [restartsAtOnce]time.Time
	next  int
}

// areOften records a restart and reports whether it exceeds restartsAtOnce.
func (r *restarts) areOften(now time.Time) bool {
	first := r.times[r.next]
	r.times[r.next] = now
	r.next = (r.next + 1) % restartsAtOnce
	return !first.IsZero() && now.Sub(first) < time.Minute
}
