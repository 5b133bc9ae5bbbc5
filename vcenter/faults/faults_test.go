package faults_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// causedBy is a fault with a cause.
func causedBy(cause types.BaseMethodFault) types.BaseMethodFault {
	f := &types.SystemError{}
	f.FaultCause = &types.LocalizedMethodFault{Fault: cause}
	return f
}

// TestFaultsCountByWhatTheyExtend however they come.
func TestFaultsCountByWhatTheyExtend(t *testing.T) {
	for name, c := range map[string]struct {
		err                               error
		gone, denied, lost, login, secure bool
	}{
		"none":                         {err: nil},
		"no fault":                     {err: errors.New("NotAuthenticated")},
		"itself, by value":             {err: soapFault(types.InvalidLogin{}), login: true},
		"itself, by pointer":           {err: soap.WrapVimFault(&types.InvalidLogin{}), login: true},
		"extends it":                   {err: soapFault(types.PasswordExpired{}), login: true},
		"extends it in another way":    {err: soapFault(types.InvalidClientCertificate{}), login: true},
		"no permission":                {err: soapFault(types.NoPermission{}), denied: true, secure: true},
		"a lost session is not denied": {err: soapFault(types.NotAuthenticated{}), lost: true, secure: true},
		"gone":                         {err: soapFault(types.ManagedObjectNotFound{}), gone: true},
		"wrapped":                      {err: fmt.Errorf("a: %w", fmt.Errorf("b: %w", soapFault(types.NotAuthenticated{}))), lost: true, secure: true},
		"joined":                       {err: errors.Join(errors.New("a"), fmt.Errorf("b: %w", soapFault(types.PasswordExpired{}))), login: true},
		"a cause":                      {err: soap.WrapVimFault(causedBy(causedBy(&types.NotAuthenticated{}))), lost: true, secure: true},
		"another fault":                {err: soap.WrapVimFault(causedBy(&types.HostCommunication{}))},
		"a fault without detail":       {err: soap.WrapSoapFault(&soap.Fault{Code: "ServerFaultCode"})},
		"an error that wraps nothing":  {err: &unanswered{}},
	} {
		got := [5]bool{gone(c.err), denied(c.err), lost(c.err), faulted[types.InvalidLogin](c.err), faulted[types.SecurityError](c.err)}
		if want := [5]bool{c.gone, c.denied, c.lost, c.login, c.secure}; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	f, ok := faultOf[types.NoPermission](soapFault(types.NotAuthenticated{NoPermission: types.NoPermission{PrivilegeId: "System.View"}}))
	if !ok || f.PrivilegeId != "System.View" {
		t.Errorf("%v, %v", f, ok)
	}
}

// TestLostSessionAtALogin is no rejection: it says nothing about the account.
func TestLostSessionAtALogin(t *testing.T) {
	for name, c := range map[string]struct {
		fault    types.AnyType
		rejected bool
	}{
		"NotAuthenticated": {types.NotAuthenticated{}, false},
		"NoPermission":     {types.NoPermission{}, true},
		"PasswordExpired":  {types.PasswordExpired{}, true},
		"SystemError":      {types.SystemError{}, false},
	} {
		if err := refused(soapFault(c.fault), certificateRejected); errors.Is(err, ErrRejected) != c.rejected {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := refused(nil, passwordRejected); err != nil {
		t.Error(err)
	}
}
