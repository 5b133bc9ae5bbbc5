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
	CauseRejected = "credentials rejected"
	// CauseDenied is that the account lacks a privilege.
	CauseDenied = "permission denied"
	// CauseFault is any other fault that the vCenter answers with, or an answer that is refused.
	CauseFault = "answers with an error"
	// CauseUnreachable is that there is no connection, or no answer of a vCenter.
	CauseUnreachable = "unreachable"
)

// CauseOf returns in a few words what fails, one of these causes: what an error says differs from one
// attempt to the next.
func CauseOf(err error) string {
	switch {
	case errors.Is(err, ErrRejected):
		return CauseRejected
	case Denied(err):
		return CauseDenied
	case FromServer(err), errors.As(err, new(RefusedAnswer)):
		return CauseFault
	}
	return CauseUnreachable
}
