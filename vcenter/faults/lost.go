package faults

import (
	"cmp"
	"errors"

	"github.com/vmware/govmomi/vim25/types"
)

// A SessionLostError says that the session is lost although the vCenter has not answered
// NotAuthenticated: it does not know what the session has created, or it answers with
// HTTP 200 and NotAuthenticated in the place of properties.
type SessionLostError struct{ Err error }

func (l *SessionLostError) Error() string { return l.Err.Error() }

// Unwrap returns the reason.
func (l *SessionLostError) Unwrap() error { return l.Err }

// SessionLost reports whether the server no longer knows the session.
func SessionLost(err error) bool {
	return errors.As(err, new(*SessionLostError)) || Is[*types.NotAuthenticated](err)
}

// Denied reports whether the account may not see an object that was asked for. It is
// false for a lost session, though vSphere's NotAuthenticated extends NoPermission.
func Denied(err error) bool { return Is[types.BaseNoPermission](err) && !SessionLost(err) }

// InProperties returns a SessionLostError if a property is missing since the session is
// not authenticated. Properties that are missing for other reasons, such as
// NoPermission, are not readable.
func InProperties(missing []types.MissingProperty) error {
	for i := range missing {
		if err := InAnswer(&missing[i].Fault); err != nil {
			return err
		}
	}
	return nil
}

// InAnswer returns a SessionLostError if a fault in an answer says that the session is not
// authenticated.
func InAnswer(f *types.LocalizedMethodFault) error {
	if _, ok := f.Fault.(*types.NotAuthenticated); ok {
		return &SessionLostError{Printable{errors.New(cmp.Or(f.LocalizedMessage, "the session is not authenticated"))}}
	}
	return nil
}
