package session

import (
	"errors"
	"fmt"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
)

// ErrRejected means that a vCenter rejects the credentials.
var ErrRejected = faults.ErrRejected

type rejection string

func (r rejection) Error() string { return string(r) }

func (rejection) Is(target error) bool { return target == ErrRejected }

const (
	passwordRejected    = rejection("the user name or password is rejected; vCenter also rejects valid credentials while its identity source is down or the account is locked")
	passwordExpired     = rejection("the account's password has expired: change it in vCenter and in the credentials")
	certificateRejected = rejection("the certificate is rejected: check that its user is in a vCenter group and that this certificate is registered")
	tokenRejected       = rejection("the token service rejects the certificate: check that it is registered for the user and still valid")
	ticketRejected      = rejection("vCenter rejects the ticket: check that the session manager is logged in to this vCenter")
	// The REST API rejects what opened the SOAP session.

	restPasswordRejected    = rejection("the user name or password that opened the SOAP session is rejected: the password was changed in vCenter, its identity source is down, or the account is locked")
	restCertificateRejected = rejection("the certificate that opened the SOAP session is rejected: check that its user still exists in vCenter")
)

func asRejection(err error, invalidLogin rejection) error {
	if faults.Is[*types.PasswordExpired](err) {
		return passwordExpired
	}
	if faults.Is[types.BaseInvalidLogin](err) {
		return invalidLogin
	}
	if f, ok := faults.Find[types.BaseNoPermission](err); ok && !faults.SessionLost(err) {
		privilege := ""
		if id := f.GetNoPermission().PrivilegeId; id != "" {
			privilege = " (it lacks the privilege " + id + ")"
		}
		return rejection("the account is not permitted to log in" + privilege + ": give it the role ReadOnly on the vCenter")
	}
	return err
}

// A postponedError delays the next login. Its text contains no time of day, so that repeated Events stay the same.
type postponedError struct {
	err error
	// nextAttempt is zero if another login must end first.
	nextAttempt time.Time
	// delays is zero for a LockoutError.
	delays                       delays
	wasUnanswered, isFromAttempt bool
}

func (p *postponedError) Error() string {
	if p.nextAttempt.IsZero() || p.delays == (delays{}) {
		return p.err.Error()
	}
	sessionNote := ""
	if p.wasUnanswered {
		sessionNote = "; it may have left a session in the vCenter"
	}
	if p.delays.min >= Never {
		return p.err.Error() + sessionNote
	}
	return fmt.Sprintf("%v%s; next attempt after %v, or at once with other credentials", p.err, sessionNote, p.delays)
}

// Never is a delay in LoginLimits for callers that never retry.
const Never = 365 * 24 * time.Hour

type delays struct{ min, max time.Duration }

func (d delays) String() string {
	if d.min == d.max {
		return d.max.String()
	}
	return fmt.Sprintf("%v to %v", d.min, d.max)
}

func (p *postponedError) Unwrap() error { return p.err }

// NextAttempt returns the time at which a failed login may be retried, zero if none is set.
func NextAttempt(err error) time.Time {
	var p *postponedError
	if errors.As(err, &p) {
		return p.nextAttempt
	}
	return time.Time{}
}

func notAttempted(err error) bool {
	var p *postponedError
	return errors.As(err, &p) && !p.isFromAttempt
}

// A LockoutError postpones a login with possibly valid credentials.
type LockoutError struct {
	Window time.Duration
}

func (e LockoutError) Error() string {
	return fmt.Sprintf("the login is postponed: another failed attempt within %v could lock the account", e.Window)
}

// Cause implements the interface of faults.CauseOf.
func (LockoutError) Cause() inventory.Cause { return inventory.CausePostponed }

// An unansweredError is a login without an answer. It may still open a session.
type unansweredError struct {
	error
	// wasSlow reports whether the login took longer than other calls may.
	wasSlow bool
}

func (u *unansweredError) Unwrap() error { return u.error }

// errUnusable is the error of a login if govmomi panics at a malformed answer.
var errUnusable = &unansweredError{errors.New("the answer cannot be used"), false}
