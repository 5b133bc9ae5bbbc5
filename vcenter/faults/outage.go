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

// End ends the outage. It returns how long it has lasted, and false if there was none.
func (o *Outage) End() (lasted time.Duration, ended bool) {
	if o.since.IsZero() {
		return 0, false
	}
	lasted = time.Since(o.since)
	*o = Outage{}
	return lasted, true
}

// CauseOf returns in one word what fails, for whoever says each cause of an outage once: what it says
// differs from one attempt to the next.
func CauseOf(err error) string {
	switch {
	case errors.Is(err, ErrRejected):
		return "rejected"
	case Denied(err):
		return "denied"
	case FromServer(err):
		return "fault"
	}
	return "unreachable"
}
