package vcenter

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/config"
	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
	"vzones/vcenter/vcentertest"
)

// TestStateHasTheCause checks that a postponed login keeps the cause of the failure.
func TestStateHasTheCause(t *testing.T) {
	t.Parallel()
	held := session.LockoutError{Window: time.Minute}
	for _, c := range []struct {
		errs []error
		want error
	}{
		{[]error{errors.New("connection refused")}, inventory.CauseUnreachable},
		{[]error{errors.New("connection refused"), held}, inventory.CauseUnreachable},
		{[]error{session.ErrRejected, held}, inventory.ErrLogin},
		{[]error{held}, inventory.ErrLogin}, // Of another entry with the same account.
		{[]error{held, errors.New("connection refused")}, inventory.CauseUnreachable},
		{[]error{&credentialsError{errors.New("no such Secret")}}, inventory.ErrLogin},
		{[]error{&credentialsError{errors.New("no such Secret")}, held}, inventory.CausePostponed},
		{[]error{&session.UntrustedError{Certificate: vcentertest.Issue(t, x509.Certificate{}, nil).Cert}}, inventory.CauseUntrusted},
		{[]error{vcentertest.SOAPFault(types.NoPermission{PrivilegeId: "System.View"})}, inventory.CauseDenied},
		{[]error{vcentertest.SOAPFault(types.SystemError{})}, inventory.CauseFault},
	} {
		a := monitorOf(&spec{cfg: config.VCenter{Name: "east", Server: "east"}}, FromFile, Options{}, func(bool) {})
		for _, err := range c.errs {
			a.fail(t.Context(), err)
		}
		if got := a.status.Load().state.Cause; !errors.Is(got, c.want) {
			t.Errorf("%v: %v, not %v", c.errs, got, c.want)
		}
	}
}

func TestCauses(t *testing.T) {
	t.Parallel()
	panicked := (&faults.Guard{}).Run(t.Context(), "reading", func() error { panic("at the disco") })
	denied := vcentertest.SOAPFault(types.NoPermission{PrivilegeId: "System.View"})
	for want, errs := range map[inventory.Cause][]error{
		inventory.CauseUntrusted:   {&session.UntrustedError{}},
		inventory.CauseCredentials: {&credentialsError{errors.New("no such Secret")}, &credentialsError{denied}},
		inventory.CausePostponed:   {session.LockoutError{}},
		inventory.CauseInternal:    {panicked},
		inventory.CauseRejected:    {session.ErrRejected},
		inventory.CauseDenied:      {denied},
		inventory.CauseFault:       {vcentertest.SOAPFault(types.SystemError{})},
		inventory.CauseUnreachable: {errors.New("connection refused"), context.DeadlineExceeded},
	} {
		for _, err := range errs {
			if got := faults.CauseOf(fmt.Errorf("vCenter %q: %w", "east", wrapped{err})); got != want {
				t.Errorf("%T: %s, want %s", err, got, want)
			}
		}
	}
}

type wrapped struct{ error }

func (w wrapped) Unwrap() error { return w.error }
