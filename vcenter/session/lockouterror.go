package session

import (
	"errors"
	"fmt"
	"time"

	"vzones/vcenter/inventory"
)

// A postponedError is the error of a login that is not tried now, or has just failed and is
// not tried again soon. Its text has no time of day, so that it stays the same: it is in Events, which
// are counted up when they repeat, and in conditions of Nodes.
type postponedError struct {
	err error
	// until is when the next attempt may be made, zero when another one has ended.
	until time.Time
	// delays are those between attempts with the same credentials, zero if the last was with others.
	delays delays
	// silent reports whether the last attempt was not answered, tried whether the
	// error is of that attempt itself.
	silent, tried bool
}

func (p *postponedError) Error() string {
	if p.until.IsZero() || p.delays == (delays{}) {
		return p.err.Error()
	}
	left := ""
	if p.silent {
		left = "; it may have left a session in the vCenter"
	}
	if p.delays.least >= Never {
		return p.err.Error() + left
	}
	return fmt.Sprintf("%v%s; next attempt after %v, or at once with other credentials", p.err, left, p.delays)
}

// Never is a delay in LoginLimits for somebody who does not repeat a login that fails.
const Never = 365 * 24 * time.Hour

// delays bound the time between two attempts.
type delays struct{ least, most time.Duration }

func (d delays) String() string {
	if d.least == d.most {
		return d.most.String()
	}
	return fmt.Sprintf("%v to %v", d.least, d.most)
}

func (p *postponedError) Unwrap() error { return p.err }

// NextAttempt returns when the login that failed with an error is tried again, zero
// if that is not postponed.
func NextAttempt(err error) time.Time {
	var p *postponedError
	if errors.As(err, &p) {
		return p.until
	}
	return time.Time{}
}

// notAttempted reports whether an error is that of a login that was not tried.
func notAttempted(err error) bool {
	var p *postponedError
	return errors.As(err, &p) && !p.tried
}

// A LockoutError says that credentials that may be right have to wait. The errors of the attempts
// before it say what is wrong.
type LockoutError struct {
	// Window is the time in which another failure could lock the account.
	Window time.Duration
}

func (e LockoutError) Error() string {
	return fmt.Sprintf("the credentials are not tried yet: another attempt that fails within %v could lock the account", e.Window)
}

// Cause implements what faults.CauseOf looks for.
func (LockoutError) Cause() inventory.Cause { return inventory.CausePostponed }

// An unansweredError is the error of a login that was sent and not answered: the server may
// reject it or open a session all the same.
type unansweredError struct {
	error
	// long reports whether it took longer than any other call may.
	long bool
}

func (u *unansweredError) Unwrap() error { return u.error }
