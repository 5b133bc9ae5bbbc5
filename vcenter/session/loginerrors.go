package session

import (
	"errors"
	"fmt"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
)

// ErrRejected says that a vCenter does not accept the credentials. They are tried
// again after minutes, since trying them often would lock the account.
var ErrRejected = faults.ErrRejected

// A rejection is an ErrRejected that says what was rejected and what to do.
type rejection string

func (r rejection) Error() string { return string(r) }

// Is reports whether another error is ErrRejected.
func (rejection) Is(target error) bool { return target == ErrRejected }

const (
	passwordRejected    = rejection("the user name or password is rejected; vCenter also rejects the right ones while its identity source is down or the account is locked")
	passwordExpired     = rejection("the account's password has expired: change it in vCenter, then where the daemon reads it")
	certificateRejected = rejection("the certificate is rejected: is its user in a group of vCenter, and is it the one that was registered?")
	tokenRefused        = rejection("the token service rejects the certificate: is it the one that was registered for the user, and valid now?")
	ticketRejected      = rejection("vCenter rejects the ticket: is the session manager logged in to this vCenter?")
	// What follows is of a session that the SOAP API has opened with the same
	// credentials.

	restPasswordRejected    = rejection("the user name or password is rejected, with which the SOAP session was opened: the password was changed in vCenter, or its identity source is down or the account is locked")
	restCertificateRejected = rejection("the certificate is rejected, with which the SOAP session was opened: is its user still in vCenter?")
)

// asRejection returns the rejection that a fault of a login is, or else the error. Faults
// count by what they extend: PasswordExpired is an InvalidLogin.
func asRejection(err error, of rejection) error {
	if faults.Is[*types.PasswordExpired](err) {
		return passwordExpired
	}
	if faults.Is[types.BaseInvalidLogin](err) {
		return of
	}
	if f, ok := faults.Of[types.BaseNoPermission](err); ok && !faults.SessionLost(err) {
		privilege := ""
		if id := f.GetNoPermission().PrivilegeId; id != "" {
			privilege = " (it lacks the privilege " + id + ")"
		}
		return rejection("the account may not log in" + privilege + ": give it the role ReadOnly on the vCenter")
	}
	return err
}

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

// errUnusable is how a login ends that panics, as govmomi does at odd answers.
var errUnusable = &unansweredError{errors.New("the answer cannot be used"), false}
