// Package vcentertest has shared helpers for the tests of vcenter's packages: simulated vCenters, a
// proxy that can replace answers, a session manager, a token service and certificates.
package vcentertest
