package vcenter

import "time"

const (
	// quickRestartDelay bounds maxQuickRestarts delays if the session is alive and the vCenter was read.
	quickRestartDelay          = 2 * time.Second
	maxQuickRestarts           = 10
	immediateRestartsPerMinute = 3
)

type backoff struct {
	minDelay, maxDelay, delay time.Duration
	quickRestarts             int
}

func newBackoff(minDelay, maxDelay time.Duration) *backoff {
	return &backoff{minDelay: minDelay, maxDelay: maxDelay, delay: minDelay}
}

// next returns the delay. A first lost session needs none, since vCenters end sessions.
func (b *backoff) next(took time.Duration, wasRead, sessionLost bool) time.Duration {
	switch {
	case took > b.maxDelay:
		b.delay = b.minDelay
		b.quickRestarts = 0
	case wasRead && !sessionLost && b.quickRestarts < maxQuickRestarts:
		b.delay = min(b.delay, quickRestartDelay)
		b.quickRestarts++
	}
	delay := b.delay
	b.delay = min(2*b.delay, b.maxDelay)
	if sessionLost && delay == b.minDelay {
		return 0
	}
	return delay
}

type restarts struct {
	times [immediateRestartsPerMinute]time.Time
	next  int
}

// areTooMany records a restart and reports whether it exceeds immediateRestartsPerMinute.
func (r *restarts) areTooMany(now time.Time) bool {
	first := r.times[r.next]
	r.times[r.next] = now
	r.next = (r.next + 1) % immediateRestartsPerMinute
	return !first.IsZero() && now.Sub(first) < time.Minute
}
