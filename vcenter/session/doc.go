// Package session opens, keeps and closes the sessions with one vCenter.
//
// An [Endpoint] calls a vCenter with deadlines and a bounded number of concurrent requests, and reports each
// call to an [Observer]. [Open] logs in by password, certificate or ticket of a session manager, and returns a
// [Session], whose SOAP client is safe for concurrent use. [Session.Close] logs out. A [REST] is the session
// of the REST API, opened on first use. A [LoginThrottle] decides when rejected credentials may be retried, so
// that no account is locked.
//
// The phases of a session are:
//
//	phase    state                                    next     event
//	opening  the login is pending, at most for        open     the vCenter accepts the credentials
//	         Options.LoginTimeout                     –        it does not: Open returns the error
//	open     calls are made; the REST session is      closed   Close
//	         opened, and reopened after the           lost     a call returns a
//	         vCenter has forgotten it                          [faults.SessionLostError]
//	lost     the vCenter has forgotten the session    closed   Close, which releases the rest
//	closed   no calls are made                        –
//
// See [REST] and [LoginThrottle] for the phases of the REST session and of credentials.
//
// The package verifies certificates, and sends nothing to an untrusted server. It tracks the objects created
// through a session in order to destroy them. It never logs in again on its own initiative.
package session
