package inventory

import (
	"errors"
	"slices"
)

// These say more about a topology.ErrUnknown, for whoever has to act on it.
var (
	// ErrOutside: the machine is in none of the configured datacenters.
	ErrOutside = errors.New("in none of the configured datacenters")
	// ErrUnreachable: a vCenter cannot be reached or read; see Unreachable.
	ErrUnreachable = errors.New("vCenter unreachable")
	// ErrLogin: a vCenter cannot be logged in to, since its credentials are missing or
	// rejected. It is in an Unreachable.
	ErrLogin = errors.New("login failed")
	// ErrPoweredOff: the only machine that fits is off, and the Node's machine runs or was last
	// found as another one.
	ErrPoweredOff = errors.New("powered off")
	// ErrUnreadable: a machine's configuration cannot be read.
	ErrUnreadable = errors.New("configuration not readable")
)

// Unreachable is the error of a vCenter that cannot be read. It wraps ErrUnreachable.
type Unreachable struct {
	VCenter string
	// Err is the error, which names the vCenter too.
	Err error
	// Cause is that of the State.
	Cause Cause
}

func (u *Unreachable) Error() string { return u.Err.Error() }

// Unwrap returns ErrUnreachable, and what else it is.
func (u *Unreachable) Unwrap() []error { return []error{ErrUnreachable, u.Cause, u.Err} }

// CheckReachable returns the error of the vCenter as an *Unreachable, nil if it can be
// read.
func (s State) CheckReachable() error {
	if s.Err == nil {
		return nil
	}
	return &Unreachable{s.VCenter, s.Err, s.Cause}
}

// UnreachableIn returns the names of the vCenters whose *Unreachable an error wraps,
// sorted.
func UnreachableIn(err error) []string {
	var vcenters []string
	for _, u := range unreachableIn(err) {
		vcenters = append(vcenters, u.VCenter)
	}
	slices.Sort(vcenters)
	return slices.Compact(vcenters)
}

// FirstUnreachable returns the first *Unreachable that an error wraps, nil if there is
// none. It is about the Node's own vCenter if that is among those that cannot be read.
func FirstUnreachable(err error) *Unreachable {
	all := unreachableIn(err)
	if len(all) == 0 {
		return nil
	}
	return all[0]
}

func unreachableIn(err error) (all []*Unreachable) {
	switch e := err.(type) { //nolint:errorlint // this is the walk
	case *Unreachable:
		all = append(all, e)
	case interface{ Unwrap() error }:
		all = unreachableIn(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			all = append(all, unreachableIn(one)...)
		}
	}
	return all
}

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
