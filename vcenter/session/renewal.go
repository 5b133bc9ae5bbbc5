package session

import (
	"net/http"
	"sync"
	"time"

	"vzones/vcenter/faults"
	"vzones/vcenter/rest"
)

// A renewal decides when to replace a useless session, because not every vCenter reports the end of a session.
type renewal struct {
	mu sync.Mutex
	// dueAt is zero while the session is healthy.
	dueAt        time.Time
	replacements int
}

func (r *renewal) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dueAt = time.Time{}
	r.replacements = 0
}

func (r *renewal) due(limits *LoginLimits, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.dueAt.IsZero() && now.Before(r.dueAt) {
		return false
	}
	due := !r.dueAt.IsZero()
	if due {
		r.replacements++
	}
	r.dueAt = now.Add(delayAfter(r.replacements+1, limits.RenewMin, limits.RenewMax))
	return due
}

// RecordUseful records a useful answer through the SOAP session.
func (e *Endpoint) RecordUseful() { e.soapRenewal.reset() }

// RenewalDue records an error and reports whether to replace the SOAP session. Errors of a proxy or of an
// unavailable service are ignored.
func (e *Endpoint) RenewalDue(err error) bool {
	status := statusOf(err)
	isUnanswered := status == 0 && !faults.FromServer(err)
	isNotReady := status == http.StatusTooManyRequests || status >= http.StatusBadGateway
	if isUnanswered || isNotReady {
		return false
	}
	return e.soapRenewal.due(&e.throttle.limits, time.Now())
}

// renewalDue ignores cloned sessions, which end with the SOAP session.
func (r *REST) renewalDue(err error) bool {
	return rest.Answered(err) && rest.ClassOf(err) != rest.Busy && !r.isCloned() && r.endpoint.restRenewal.due(&r.endpoint.throttle.limits, time.Now())
}
