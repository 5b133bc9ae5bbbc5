// Package rest is a client for the REST API of one vCenter, a service apart from SOAP.
//
// A [Client] is one session. It uses /api, or /rest with a vCenter that has only /rest. Errors contain
// nothing from a body, which may be a proxy's page, except the API's error type. A client never logs in
// on its own and never retries, except at the second root.
package rest
