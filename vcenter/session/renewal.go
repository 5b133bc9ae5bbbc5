package session

import (
	"net/http"
	"sync"
	"time"

	"vzones/vcenter/faults"
	"vzones/vcenter/rest"
)

// A renewal decides when a session is replaced through which nothing useful comes although the
// server answers: not every vCenter says that a session has ended. The zero value is a session that
// is well.
type renewal struct {
	mu sync.Mutex
	// at is when the session is replaced if nothing useful comes before; zero while it is well.
	at time.Time
	// replaced counts the replacements since something useful came.
	replaced int
}

// useful notes that something useful has come.
func (r *renewal) useful() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = time.Time{}
	r.replaced = 0
}

// due notes an answer that was not useful, and reports whether the session is to be replaced now.
func (r *renewal) due(limits *LoginLimits, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.at.IsZero() && now.Before(r.at) {
		return false
	}
	due := !r.at.IsZero()
	if due {
		r.replaced++
	}
	r.at = now.Add(delayAfter(r.replaced+1, limits.RenewMin, limits.RenewMax))
	return due
}

// Useful notes that something useful has come through the SOAP session.
func (e *Endpoint) Useful() { e.soapRenewal.useful() }

// RenewalDue reports whether the SOAP session is to be replaced, now that it has failed. That a
// proxy in front of the vCenter or the service itself is not ready says nothing about the session.
func (e *Endpoint) RenewalDue(err error) bool {
	status := statusOf(err)
	isUnanswered := status == 0 && !faults.FromServer(err)
	isNotReady := status == http.StatusTooManyRequests || status >= http.StatusBadGateway
	if isUnanswered || isNotReady {
		return false
	}
	return e.soapRenewal.due(&e.throttle.limits, time.Now())
}

// renewalDue is the same of the session of the REST API. One that was cloned ends with the SOAP
// session.
func (r *REST) renewalDue(err error) bool {
	return rest.Answered(err) && rest.ClassOf(err) != rest.Busy && !r.isCloned() && r.endpoint.restRenewal.due(&r.endpoint.throttle.limits, time.Now())
}
