package vcenter

import "github.com/vmware/govmomi/vim25/types"

// A lostError says that the session is lost although the vCenter has not answered
// NotAuthenticated: it does not know what the session has made, or it answers with
// HTTP 200 and NotAuthenticated in the place of properties.
type lostError struct{ error }

func (l lostError) Unwrap() error { return l.error }

// judge says of an error that the session is lost, where it is that the vCenter does
// not know an object that the session has made and not destroyed.
func (s *session) judge(err error) error {
	if err == nil || lost(err) {
		return err
	}
	if notFound, ok := faultOf[types.ManagedObjectNotFound](err); ok && s.made(notFound.Obj) {
		return lostError{err}
	}
	return err
}

// unauthenticated returns a lostError if a property is missing since the session is
// not authenticated. Properties that are missing for other reasons, such as
// NoPermission, are not readable.
func unauthenticated(missing []types.MissingProperty) error {
	for i := range missing {
		if err := unauthenticatedFault(&missing[i].Fault); err != nil {
			return err
		}
	}
	return nil
}

func unauthenticatedFault(f *types.LocalizedMethodFault) error {
	if _, ok := f.Fault.(*types.NotAuthenticated); ok {
		return lostError{faultError{f}}
	}
	return nil
}

// A faultError is a fault in an answer that is not an error as a whole.
type faultError struct{ *types.LocalizedMethodFault }

func (f faultError) Error() string {
	if f.LocalizedMessage != "" {
		return f.LocalizedMessage
	}
	return "the session is not authenticated"
}

// unread takes what is missing in a change of an object for values that are unset:
// they cannot be read any more.
func unread(u *types.ObjectUpdate) {
	for _, m := range u.MissingSet {
		if !isHostFact(m.Path) { // of which it matters why
			u.ChangeSet = append(u.ChangeSet, types.PropertyChange{Name: m.Path, Op: types.PropertyChangeOpRemove})
		}
	}
}
