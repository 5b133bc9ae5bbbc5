package inventory

// A Cause says in a few words why a vCenter cannot be read. It has nothing of what the error says. It is an error
// itself, which an [Unreachable] wraps.
type Cause string

// The causes. Without one a vCenter counts as unreachable.
const (
	// CauseCredentials is that the credentials are not there, or cannot be read.
	CauseCredentials Cause = "credentials missing or unreadable"
	CauseRejected    Cause = "credentials rejected"
	// CausePostponed is a login that is not tried yet, so that the account is not locked.
	CausePostponed Cause = "login postponed, so that the account is not locked"
	// CauseUntrusted is a certificate of the vCenter, or of what it is reached by.
	CauseUntrusted Cause = "certificate not trusted"
	// CauseDenied is that the account lacks a privilege.
	CauseDenied Cause = "permission denied"
	// CauseFault is any other fault that the vCenter answers with, or an answer that is refused.
	CauseFault Cause = "answers with an error"
	// CausePending is that the vCenter answers, and is about to be read.
	CausePending Cause = "about to be read"
	// CauseUnreachable is that there is no connection, or no answer of a vCenter.
	CauseUnreachable Cause = "unreachable"
	// CauseInternal is a panic of the daemon.
	CauseInternal Cause = "internal error of the daemon"
)

// Error implements error.
func (c Cause) Error() string { return string(c) }

// Unwrap returns ErrLogin if the vCenter cannot be logged in to.
func (c Cause) Unwrap() error {
	if c == CauseCredentials || c == CauseRejected || c == CausePostponed {
		return ErrLogin
	}
	return nil
}

// Advice says what to do. It is empty where the error says that, or where there is nothing to do.
func (c Cause) Advice() string {
	switch c {
	case CauseCredentials, CauseRejected, CausePostponed:
		return "correct the credentials of the vCenter where the daemon reads them"
	case CauseUntrusted, CausePending:
		return ""
	case CauseDenied:
		return "give the account its role on the vCenter"
	case CauseFault:
		return "look at the vCenter's own logs"
	case CauseInternal:
		return "report the stack in the daemon's log as a bug"
	}
	return "check that the vCenter runs and that the cluster reaches it"
}
