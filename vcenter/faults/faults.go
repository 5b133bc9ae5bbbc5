package faults

import (
	"errors"
	"reflect"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// Gone reports whether an object that was asked for is no longer there.
func Gone(err error) bool { return Is[types.ManagedObjectNotFound](err) }

// Is reports whether an error holds a vSphere fault of type F or of one that
// extends F, as PasswordExpired extends InvalidLogin. Causes of faults count too.
func Is[F any](err error) bool {
	_, ok := Of[F](err)
	return ok
}

// Of returns the first fault of type F, or the F that the first fault extends.
func Of[F any](err error) (F, bool) {
	var found F
	ok := anyFault(err, func(f types.BaseMethodFault) bool {
		base, is := embedded(reflect.ValueOf(f), reflect.TypeFor[F]())
		if is {
			found = base.Interface().(F)
		}
		return is
	})
	return found, ok
}

// ErrRejected says that a vCenter does not accept credentials. See package session.
var ErrRejected = errors.New("the user name or password is rejected")

// A RefusedAnswer says why an answer of a server is not accepted.
type RefusedAnswer string

func (r RefusedAnswer) Error() string { return string(r) }

// FromServer reports whether the server has answered, with a fault.
func FromServer(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if soap.IsSoapFault(err) || soap.IsVimFault(err) {
			return true
		}
	}
	return false
}

// embedded finds a type in a struct, which is itself or what it embeds: govmomi embeds
// the fault that a fault extends.
func embedded(v reflect.Value, want reflect.Type) (reflect.Value, bool) {
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return v, false
	}
	if v.Type() == want {
		return v, true
	}
	for i := range v.NumField() {
		if v.Type().Field(i).Anonymous {
			if base, ok := embedded(v.Field(i), want); ok {
				return base, true
			}
		}
	}
	return v, false
}

// anyFault reports whether a fault in an error's tree, or a cause of one, is as wanted.
func anyFault(err error, wanted func(types.BaseMethodFault) bool) bool {
	switch e := err.(type) { //nolint:errorlint // it walks the tree itself
	case nil:
		return false
	case interface{ Fault() types.BaseMethodFault }:
		return anyCause(e.Fault(), wanted)
	case interface{ Unwrap() error }:
		return anyFault(e.Unwrap(), wanted)
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			if anyFault(err, wanted) {
				return true
			}
		}
	}
	return false
}

func anyCause(f types.BaseMethodFault, wanted func(types.BaseMethodFault) bool) bool {
	for f != nil {
		if wanted(f) {
			return true
		}
		base := f.GetMethodFault()
		if base == nil || base.FaultCause == nil {
			return false
		}
		f = base.FaultCause.Fault
	}
	return false
}
