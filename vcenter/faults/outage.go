package faults

import (
	"errors"
	"time"

	"k8s.io/klog/v2"

	"vzones/vcenter/inventory"
)

// An Outage is a period of failure of a vCenter or its tagging API. Error texts vary between
// attempts, so an error is logged once for each cause.
type Outage struct {
	began  time.Time
	logged map[inventory.Cause]bool
}

// Record records a cause and reports whether it is new in this outage.
func (o *Outage) Record(cause inventory.Cause) bool {
	if o.began.IsZero() {
		*o = Outage{time.Now(), map[inventory.Cause]bool{}}
	}
	if o.logged[cause] {
		return false
	}
	o.logged[cause] = true
	return true
}

// Log logs message if the cause is new in this outage, otherwise repeated at V(4). A postponed login
// follows from earlier failures and is never new.
func (o *Outage) Log(log klog.Logger, cause inventory.Cause, err error, message, repeated string) {
	if (cause != inventory.CausePostponed || !o.InProgress()) && o.Record(cause) {
		log.WithCallDepth(1).Error(err, message)
	} else {
		log.WithCallDepth(1).V(4).Info(repeated, "err", err)
	}
}

// InProgress reports whether an outage is in progress.
func (o *Outage) InProgress() bool { return !o.began.IsZero() }

// End ends the outage. ended is false if there was none.
func (o *Outage) End() (lasted time.Duration, ended bool) {
	if o.began.IsZero() {
		return 0, false
	}
	lasted = time.Since(o.began)
	*o = Outage{}
	return lasted, true
}

// CauseOf returns an error's cause. Other packages set it with a method Cause.
func CauseOf(err error) inventory.Cause {
	var withCause interface{ Cause() inventory.Cause }
	switch {
	case errors.As(err, &withCause):
		return withCause.Cause()
	case Recovered(err):
		return inventory.CauseInternal
	case errors.Is(err, ErrRejected):
		return inventory.CauseRejected
	case Denied(err):
		return inventory.CauseDenied
	case FromServer(err), errors.As(err, new(RejectedAnswer)):
		return inventory.CauseFault
	}
	return inventory.CauseUnreachable
}
