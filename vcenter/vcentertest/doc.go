// Package vcentertest has what tests of the packages below vcenter share: simulated vCenters,
// a server before one that answers some requests itself, a session manager, a token
// service, and certificates.
package vcentertest
