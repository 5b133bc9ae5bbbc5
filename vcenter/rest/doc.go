// Package rest speaks the REST API of one vCenter, which is a service of its own beside SOAP.
//
// A [Client] is one session of that API. It speaks /api, and /rest with a vCenter that has only
// that. The transport that it is given bounds answers. No error holds anything of a body but the type of
// the API's own error: a body may be the page of a proxy.
//
// The package knows no resource but the session. It never logs in on its own, and repeats no
// request but at the other root.
package rest
