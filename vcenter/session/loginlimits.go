package session

import (
	"cmp"
	"slices"
	"time"

	"vzones/vcenter/credentials"
)

// LoginLimits bound how often a vCenter is shown credentials that it rejects, and
// how often it is asked for sessions that it may open after the daemon has given up.
// Zero fields have the defaults.
type LoginLimits struct {
	// Window is the time in which at most Failures attempts may have been rejected, of
	// whatever credentials and at whatever API; 180 s and 2 if zero. vCenter locks an
	// account by default after five within that time.
	Window   time.Duration
	Failures int
	// RejectedMin and RejectedMax bound the delay until rejected credentials are
	// tried again; 5 and 30 minutes if zero.
	RejectedMin, RejectedMax time.Duration
	// UnansweredMin and UnansweredMax bound the delay after a login that was not
	// answered; 2 and 15 minutes if zero.
	UnansweredMin, UnansweredMax time.Duration
	// RenewMin and RenewMax bound the time until a session is replaced through which nothing useful
	// comes although the server answers; 2 and 30 minutes if zero.
	RenewMin, RenewMax time.Duration
	// Queue is for somebody who does not try again. A login waits for those of its account that are
	// under way and that it could lock the account with, and a call of the REST API for its login as
	// long as that may take. Otherwise the one fails at once, the other as late as any call.
	Queue bool
}

func (l LoginLimits) withDefaults() LoginLimits {
	return LoginLimits{
		Window:        cmp.Or(l.Window, 180*time.Second),
		Failures:      cmp.Or(l.Failures, 2),
		RejectedMin:   cmp.Or(l.RejectedMin, 5*time.Minute),
		RejectedMax:   cmp.Or(l.RejectedMax, 30*time.Minute),
		UnansweredMin: cmp.Or(l.UnansweredMin, 2*time.Minute),
		UnansweredMax: cmp.Or(l.UnansweredMax, 15*time.Minute),
		RenewMin:      cmp.Or(l.RenewMin, 2*time.Minute),
		RenewMax:      cmp.Or(l.RenewMax, 30*time.Minute),
		Queue:         l.Queue,
	}
}

// A loginAPI is where credentials open a session.
type loginAPI int

const (
	// loginSOAP includes the token service and the session manager.
	loginSOAP loginAPI = iota
	loginREST
)

// A login is an attempt to open a session: at an API of a host, with credentials.
type login struct {
	api   loginAPI
	host  string
	creds credentials.Credentials
}

// within returns the times that are not older than a window.
func within(times []time.Time, window time.Duration, now time.Time) []time.Time {
	return slices.DeleteFunc(times, func(t time.Time) bool { return now.Sub(t) >= window })
}

// tooMany returns a *postponedError if one more failure could lock the account.
func tooMany(failed []time.Time, pending int, limits LoginLimits) error {
	if len(failed)+pending < limits.Failures {
		return nil
	}
	p := &postponedError{err: LockoutError{limits.Window}}
	if n := len(failed); n >= limits.Failures {
		p.until = failed[n-limits.Failures].Add(limits.Window)
	}
	return p
}
