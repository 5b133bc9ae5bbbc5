package faults

import (
	"cmp"
	"errors"

	"github.com/vmware/govmomi/vim25/types"
)

// A SessionLostError is a lost session without the fault NotAuthenticated: the vCenter does not
// know an object of the session, or returns NotAuthenticated in place of properties.
type SessionLostError struct{ Err error }

func (l *SessionLostError) Error() string { return l.Err.Error() }

// Unwrap returns the cause.
func (l *SessionLostError) Unwrap() error { return l.Err }

// SessionLost reports whether the server no longer knows the session.
func SessionLost(err error) bool {
	return errors.As(err, new(*SessionLostError)) || Is[*types.NotAuthenticated](err)
}

// Denied reports whether the account lacks a permission. NotAuthenticated extends NoPermission, but
// means a lost session.
func Denied(err error) bool { return Is[types.BaseNoPermission](err) && !SessionLost(err) }

// InProperties returns a SessionLostError if properties are missing because of NotAuthenticated.
func InProperties(missing []types.MissingProperty) error {
	for i := range missing {
		if err := InAnswer(&missing[i].Fault); err != nil {
			return err
		}
	}
	return nil
}

// InAnswer returns a SessionLostError if the fault is NotAuthenticated.
func InAnswer(f *types.LocalizedMethodFault) error {
	if _, ok := f.Fault.(*types.NotAuthenticated); ok {
		return &SessionLostError{Printable{errors.New(cmp.Or(f.LocalizedMessage, "the session is not authenticated"))}}
	}
	return nil
}
