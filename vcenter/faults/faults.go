package faults

import (
	"errors"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// Gone reports whether the requested object no longer exists.
func Gone(err error) bool { return Is[*types.ManagedObjectNotFound](err) }

// Is reports whether an error contains a vSphere fault of type F, including causes of faults.
// A base type such as types.BaseInvalidLogin also matches extensions such as PasswordExpired.
func Is[F any](err error) bool {
	_, ok := Find[F](err)
	return ok
}

// Find returns the first fault of type F.
func Find[F any](err error) (found F, ok bool) {
	ok = anyFault(err, func(f types.BaseMethodFault) (is bool) {
		found, is = f.(F)
		return is
	})
	return found, ok
}

// ErrRejected means that a vCenter rejects credentials.
var ErrRejected = errors.New("the user name or password is rejected")

// A RejectedAnswer is the reason to reject a server's answer.
type RejectedAnswer string

func (r RejectedAnswer) Error() string { return string(r) }

// FromServer reports whether an error contains a SOAP fault.
func FromServer(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if soap.IsSoapFault(err) || soap.IsVimFault(err) {
			return true
		}
	}
	return false
}

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
