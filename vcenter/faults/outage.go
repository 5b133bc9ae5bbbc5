package faults

import (
	"errors"
	"time"
)

// An Outage is the time in which a vCenter, or its tagging API, fails. What it says varies from
// one attempt to the next, so that an error is logged once for each of its causes. The zero value
// is that nothing fails.
type Outage struct {
	since time.Time
	// logged are the causes.
	logged map[string]bool
}

// Begins notes an error, and reports whether no error of that cause was noted in this outage.
// Causes are few words of the caller.
func (o *Outage) Begins(cause string) bool {
	if o.since.IsZero() {
		*o = Outage{time.Now(), map[string]bool{}}
	}
	if o.logged[cause] {
		return false
	}
	o.logged[cause] = true
	return true
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

// The causes of errors. They hold nothing of what an error says.
const (
	// CauseCredentials is that the credentials are not there, or cannot be read.
	CauseCredentials = "credentials missing or unreadable"
	CauseRejected    = "credentials rejected"
	// CausePostponed is a login that is not tried yet, so that the account is not locked.
	CausePostponed = "login postponed, so that the account is not locked"
	// CauseUntrusted is a certificate of the vCenter, or of what it is reached by.
	CauseUntrusted = "certificate not trusted"
	// CauseDenied is that the account lacks a privilege.
	CauseDenied = "permission denied"
	// CauseFault is any other fault that the vCenter answers with, or an answer that is refused.
	CauseFault = "answers with an error"
	// CauseUnreachable is that there is no connection, or no answer of a vCenter.
	CauseUnreachable = "unreachable"
	// CauseInternal is a panic of the daemon.
	CauseInternal = "internal error of the daemon"
)

// CauseOf returns in a few words what fails, one of these causes: errors with the same cause are the same
// outage, however they are worded. An error of another package may have a method Cause.
func CauseOf(err error) string {
	var own interface{ Cause() string }
	switch {
	case errors.As(err, &own):
		return own.Cause()
	case Recovered(err):
		return CauseInternal
	case errors.Is(err, ErrRejected):
		return CauseRejected
	case Denied(err):
		return CauseDenied
	case FromServer(err), errors.As(err, new(RefusedAnswer)):
		return CauseFault
	}
	return CauseUnreachable
}
