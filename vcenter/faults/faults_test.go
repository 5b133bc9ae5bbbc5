package faults_test

import (
	"errors"
	"fmt"
	"testing"

	"vzones/vcenter/faults"
	"vzones/vcenter/vcentertest"

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
		"itself, by value":             {err: vcentertest.SOAPFault(types.InvalidLogin{}), login: true},
		"itself, by pointer":           {err: soap.WrapVimFault(&types.InvalidLogin{}), login: true},
		"extends it":                   {err: vcentertest.SOAPFault(types.PasswordExpired{}), login: true},
		"extends it in another way":    {err: vcentertest.SOAPFault(types.InvalidClientCertificate{}), login: true},
		"no permission":                {err: vcentertest.SOAPFault(types.NoPermission{}), denied: true, secure: true},
		"a lost session is not denied": {err: vcentertest.SOAPFault(types.NotAuthenticated{}), lost: true, secure: true},
		"gone":                         {err: vcentertest.SOAPFault(types.ManagedObjectNotFound{}), gone: true},
		"wrapped":                      {err: fmt.Errorf("a: %w", fmt.Errorf("b: %w", vcentertest.SOAPFault(types.NotAuthenticated{}))), lost: true, secure: true},
		"joined":                       {err: errors.Join(errors.New("a"), fmt.Errorf("b: %w", vcentertest.SOAPFault(types.PasswordExpired{}))), login: true},
		"a cause":                      {err: soap.WrapVimFault(causedBy(causedBy(&types.NotAuthenticated{}))), lost: true, secure: true},
		"another fault":                {err: soap.WrapVimFault(causedBy(&types.HostCommunication{}))},
		"a fault without detail":       {err: soap.WrapSoapFault(&soap.Fault{Code: "ServerFaultCode"})},
		"an error that wraps nothing":  {err: wrapsNothing{}},
	} {
		got := [5]bool{faults.Gone(c.err), faults.Denied(c.err), faults.SessionLost(c.err), faults.Is[types.BaseInvalidLogin](c.err), faults.Is[types.BaseSecurityError](c.err)}
		if want := [5]bool{c.gone, c.denied, c.lost, c.login, c.secure}; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	f, ok := faults.Of[types.BaseNoPermission](vcentertest.SOAPFault(types.NotAuthenticated{NoPermission: types.NoPermission{PrivilegeId: "System.View"}}))
	if !ok || f.GetNoPermission().PrivilegeId != "System.View" {
		t.Errorf("%v, %v", f, ok)
	}
}

func TestLost(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"no error":            {nil, false},
		"a SOAP fault":        {vcentertest.SOAPFault(types.NotAuthenticated{}), true},
		"a VIM fault":         {soap.WrapVimFault(&types.NotAuthenticated{}), true},
		"wrapped":             {fmt.Errorf("reading: %w", vcentertest.SOAPFault(types.NotAuthenticated{})), true},
		"wrapped twice":       {fmt.Errorf("vCenter: %w", fmt.Errorf("reading: %w", vcentertest.SOAPFault(types.NotAuthenticated{}))), true},
		"another fault":       {fmt.Errorf("reading: %w", vcentertest.SOAPFault(types.NoPermission{})), false},
		"a rejected password": {vcentertest.SOAPFault(types.InvalidLogin{}), false},
		"text that looks so":  {errors.New("NotAuthenticated"), false},
	} {
		if got := faults.SessionLost(c.err); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// wrapsNothing has a method Unwrap, and nothing that it could return.
type wrapsNothing struct{}

func (wrapsNothing) Error() string { return "made-up" }
func (wrapsNothing) Unwrap() error { return nil }
