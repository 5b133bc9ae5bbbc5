package session

import (
	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/faults"
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
