// Package session opens, keeps and closes the sessions with one vCenter.
//
// An [Endpoint] calls a vCenter with deadlines and limits. [Open] logs in by password, certificate or ticket of a
// session manager.
//
// The phases of a session are:
//
//	phase    state                                    next     event
//	opening  the login is pending, at most for        open     the vCenter accepts the credentials
//	         Options.LoginTimeout                     –        it does not: Open returns the error
//	open     calls are made; the REST session is      closed   Close
//	         opened, and reopened after the           lost     a call returns a
//	         vCenter has forgotten it                          [faults.SessionLostError]
//	lost     the vCenter has forgotten the session    closed   Close, which ends the REST session
//	closed   no calls are made                        –
//
// The package sends nothing to an untrusted server, and never replaces a SOAP session by itself.
package session
