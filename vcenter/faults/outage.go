package faults

import (
	"errors"
	"time"

	"k8s.io/klog/v2"

	"vzones/vcenter/inventory"
)

// An Outage is the time in which a vCenter, or its tagging API, fails. What it says varies from
// one attempt to the next, so that an error is logged once for each of its causes. The zero value
// is that nothing fails.
type Outage struct {
	since time.Time
	// logged are the causes.
	logged map[inventory.Cause]bool
}

// Begins notes an error, and reports whether no error of that cause was noted in this outage.
func (o *Outage) Begins(cause inventory.Cause) bool {
	if o.since.IsZero() {
		*o = Outage{time.Now(), map[inventory.Cause]bool{}}
	}
	if o.logged[cause] {
		return false
	}
	o.logged[cause] = true
	return true
}

// Log logs an error: with first as the message if no error of that cause was noted in this outage, and
// otherwise at a higher verbosity. That a login is postponed follows from the failures before.
func (o *Outage) Log(log klog.Logger, cause inventory.Cause, err error, first, still string) {
	if (cause != inventory.CausePostponed || !o.Lasts()) && o.Begins(cause) {
		log.WithCallDepth(1).Error(err, first)
	} else {
		log.WithCallDepth(1).V(4).Info(still, "err", err)
	}
}

// Lasts reports whether an outage has begun and not ended.
func (o *Outage) Lasts() bool { return !o.since.IsZero() }

// End ends the outage. It returns how long it has lasted, and false if there was none.
func (o *Outage) End() (lasted time.Duration, ended bool) {
	if o.since.IsZero() {
		return 0, false
	}
	lasted = time.Since(o.since)
	*o = Outage{}
	return lasted, true
}

// CauseOf returns what fails: errors with the same cause are the same
// outage, however they are worded. An error of another package may have a method Cause.
func CauseOf(err error) inventory.Cause {
	var own interface{ Cause() inventory.Cause }
	switch {
	case errors.As(err, &own):
		return own.Cause()
	case Recovered(err):
		return inventory.CauseInternal
	case errors.Is(err, ErrRejected):
		return inventory.CauseRejected
	case Denied(err):
		return inventory.CauseDenied
	case FromServer(err), errors.As(err, new(RefusedAnswer)):
		return inventory.CauseFault
	}
	return inventory.CauseUnreachable
}
