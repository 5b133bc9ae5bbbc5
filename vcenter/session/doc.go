// Package session owns the login to one vCenter and the way to it.
//
// An [Endpoint] is how a vCenter is called: with a deadline, a bounded number of
// requests at a time, each observed. [Open] logs in to it by password, certificate,
// token of a shared session manager, and returns a [Session], whose SOAP client may be
// used concurrently; [Session.Close] logs out. A [REST] is the session of the REST API
// beside it, opened when it is first needed. A [LoginThrottle] remembers which credentials
// were rejected and decides when they may be tried again, so that no account is locked.
//
// The phases of a session are:
//
//	phase    what holds                               next     when
//	opening  the login is under way, at most for      open     the vCenter has accepted the credentials
//	         Options.LoginTimeout                     –        it has not: Open returns why
//	open     calls are made; the REST session is      closed   Close
//	         opened, and opened again once the        lost     a call's error is a
//	         vCenter has forgotten it                          [faults.SessionLostError]
//	lost     the vCenter has forgotten the session    closed   Close, which ends what is left
//	closed   nothing is called any more               –
//
// Those of the REST session beside it are in the comment of [REST], those of credentials in
// that of [LoginThrottle].
//
// The package verifies certificates, and sends nothing to a server that it does not trust.
// It remembers the objects that were created on the server through a session, to destroy
// them. It never logs in again on its own, never reads credentials from where they are kept,
// and knows nothing of machines, tags or Kubernetes.
package session
