package vcenter

import (
	"errors"

	"vzones/vcenter/faults"
	"vzones/vcenter/session"
)

// The causes for which a vCenter cannot be read, beside those of package faults. They hold nothing
// of what an error says.
const (
	// CauseCredentials is that the credentials are not there, or cannot be read.
	CauseCredentials = "credentials missing or unreadable"
	// CauseUntrusted is a certificate of the vCenter, or of what it is reached by.
	CauseUntrusted = "certificate not trusted"
	// CausePostponed is a login that is not tried yet, so that the account is not locked.
	CausePostponed = "login postponed, so that the account is not locked"
	// CauseInternal is a panic of the daemon.
	CauseInternal = "internal error of the daemon"
)

// CauseOf returns what fails, one of these or of faults.CauseOf: errors with the same cause are the same outage, however
// they are worded.
func CauseOf(err error) string {
	switch {
	case errors.As(err, new(*session.UntrustedError)):
		return CauseUntrusted
	case errors.As(err, new(*credentialsError)):
		return CauseCredentials
	case errors.As(err, new(session.LockoutError)):
		return CausePostponed
	case faults.Recovered(err):
		return CauseInternal
	}
	return faults.CauseOf(err)
}
