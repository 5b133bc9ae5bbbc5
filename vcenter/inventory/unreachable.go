package inventory

import (
	"errors"
	"slices"
)

// Causes of topology.ErrUnknown that need different actions.
var (
	ErrOutside     = errors.New("in none of the configured datacenters")
	ErrUnreachable = errors.New("vCenter unreachable")
	ErrLogin       = errors.New("login failed")
	// ErrPoweredOff: a match is off, and the Node may run as another VM.
	ErrPoweredOff = errors.New("powered off")
	ErrUnreadable = errors.New("configuration not readable")
)

// Unreachable is the error of a vCenter that cannot be read.
type Unreachable struct {
	VCenter string
	// Err names the vCenter too.
	Err   error
	Cause Cause
}

func (u *Unreachable) Error() string { return u.Err.Error() }

func (u *Unreachable) Unwrap() []error { return []error{ErrUnreachable, u.Cause, u.Err} }

// CheckReachable returns the error of the vCenter as an *Unreachable, nil if it can be read.
func (s State) CheckReachable() error {
	if s.Err == nil {
		return nil
	}
	return &Unreachable{s.VCenter, s.Err, s.Cause}
}

// UnreachableIn returns the sorted names of the vCenters whose *Unreachable an error wraps.
func UnreachableIn(err error) []string {
	var vcenters []string
	for _, u := range unreachableIn(err) {
		vcenters = append(vcenters, u.VCenter)
	}
	slices.Sort(vcenters)
	return slices.Compact(vcenters)
}

// FirstUnreachable returns the first *Unreachable that an error wraps, or nil. The Node's own vCenter comes first.
func FirstUnreachable(err error) *Unreachable {
	found := unreachableIn(err)
	if len(found) == 0 {
		return nil
	}
	return found[0]
}

func unreachableIn(err error) (found []*Unreachable) {
	switch e := err.(type) { //nolint:errorlint // this is the walk
	case *Unreachable:
		found = append(found, e)
	case interface{ Unwrap() error }:
		found = unreachableIn(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, wrapped := range e.Unwrap() {
			found = append(found, unreachableIn(wrapped)...)
		}
	}
	return found
}

// A Cause is a short reason a vCenter cannot be read.
type Cause string

// The causes. The empty Cause is treated as CauseUnreachable.
const (
	CauseCredentials Cause = "credentials missing or unreadable"
	CauseRejected    Cause = "credentials rejected"
	CausePostponed   Cause = "login postponed, so that the account is not locked"
	// CauseUntrusted: the certificate of the vCenter, a session manager or a proxy.
	CauseUntrusted Cause = "certificate not trusted"
	CauseDenied    Cause = "permission denied"
	// CauseFault: any other fault of the vCenter, or a rejected answer.
	CauseFault       Cause = "answers with an error"
	CausePending     Cause = "about to be read"
	CauseUnreachable Cause = "unreachable"
	CauseInternal    Cause = "internal error of the daemon"
)

func (c Cause) Error() string { return string(c) }

func (c Cause) Unwrap() error {
	if c == CauseCredentials || c == CauseRejected || c == CausePostponed {
		return ErrLogin
	}
	return nil
}

// Advice returns the action to take, empty if the error contains it.
func (c Cause) Advice() string {
	switch c {
	case CauseCredentials, CauseRejected, CausePostponed:
		return "correct the credentials"
	case CauseUntrusted, CausePending:
		return ""
	case CauseDenied:
		return "give the account its role on the vCenter"
	case CauseFault:
		return "check the vCenter's logs"
	case CauseInternal:
		return "report the stack trace in the daemon's log as a bug"
	}
	return "check that the vCenter runs and that the cluster can reach it"
}
