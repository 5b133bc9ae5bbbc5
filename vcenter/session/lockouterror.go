package session

import (
	"errors"
	"fmt"
	"time"
)

// A postponedError is the error of a login that is not tried now, or has just failed and is
// not tried again soon. Its text is the same until the next attempt.
type postponedError struct {
	err error
	// until is when the next attempt may be made, zero when another one has ended.
	// After is the time between the last and the next, zero if that was not of the
	// same credentials.
	until time.Time
	after time.Duration
	// silent reports whether the last attempt was not answered, tried whether the
	// error is of that attempt itself.
	silent, tried bool
}

func (p *postponedError) Error() string {
	if p.until.IsZero() {
		return p.err.Error()
	}
	at := p.until.UTC().Format("15:04:05 UTC")
	if p.after == 0 {
		return fmt.Sprintf("%v; next attempt at %s", p.err, at)
	}
	left := ""
	if p.silent {
		left = "; it may have left a session in the vCenter"
	}
	return fmt.Sprintf("%v%s; next attempt at %s (%v after the last), or at once with other credentials", p.err, left, at, p.after.Round(time.Second))
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

// An unansweredError is the error of a login that was sent and not answered: the server may
// reject it or open a session all the same.
type unansweredError struct {
	error
	// long reports whether it took longer than any other call may.
	long bool
}

func (u *unansweredError) Unwrap() error { return u.error }
