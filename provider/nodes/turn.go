package nodes

import (
	"time"

	"golang.org/x/time/rate"
)

// wait returns how long it is until the turn, 0 if it has come. The first call takes a place
// behind all that wait for the same limit. The place is kept until done is called.
func (t *turn) wait(limit *rate.Limiter) time.Duration {
	now := time.Now()
	if t.at.IsZero() {
		t.at = now.Add(limit.ReserveN(now, 1).DelayFrom(now))
	}
	return max(t.at.Sub(now), 0)
}

// done gives up the place.
func (t *turn) done() { t.at = time.Time{} }
