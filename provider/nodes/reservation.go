package nodes

import (
	"time"

	"golang.org/x/time/rate"
)

// A reservation is when a Node may do what only so many may at a time. It is zero if the Node
// does not want to.
type reservation struct{ at time.Time }

// wait returns how long it is until the turn, 0 if it has come. The first call takes a place
// behind all that wait for the same limit. The place is kept until done is called.
func (r *reservation) wait(limit *rate.Limiter) time.Duration {
	now := time.Now()
	if r.at.IsZero() {
		r.at = now.Add(limit.ReserveN(now, 1).DelayFrom(now))
	}
	return max(r.at.Sub(now), 0)
}

// done gives up the place.
func (r *reservation) done() { r.at = time.Time{} }
