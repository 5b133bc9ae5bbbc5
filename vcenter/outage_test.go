package vcenter

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"vzones/config"
	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
	"vzones/vcenter/vcentertest"
	"vzones/vcenter/watch"
)

// TestOutageIsLoggedOnce: an outage is logged once although its errors alternate, further
// times only at a higher verbosity, and its end.
func TestOutageIsLoggedOnce(t *testing.T) {
	t.Parallel()
	log := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true), ktesting.Verbosity(4)))
	ctx := klog.NewContext(t.Context(), log)
	a := monitorOf(&spec{cfg: config.VCenter{Name: "east", Server: "east"}}, FromFile, Options{}, func(bool) {})
	wordings := []error{
		errors.New("no answer within 15s"), errors.New("connection refused"),
		session.LockoutError{Window: time.Minute}, // of the attempts before
	}
	for range 2 {
		for range 3 {
			for _, err := range wordings {
				a.fail(ctx, err)
			}
		}
		a.update(func(a *monitor) bool {
			a.read(ctx, watch.Publication{Snapshot: &inventory.Snapshot{VCenter: "east"}, LastContact: time.Now()})
			return true
		})
	}
	text := log.GetSink().(ktesting.Underlier).GetBuffer().String()
	for what, want := range map[string]int{
		"Cannot read the vCenter; its Nodes keep what they have": 2,
		"Still cannot read the vCenter":                          16,
		"The vCenter can be read again":                          2,
	} {
		if got := strings.Count(text, what); got != want {
			t.Errorf("%d times %q, want %d:\n%s", got, what, want, text)
		}
	}
}

// TestStateHasTheCause: that a login waits says nothing of what fails, which is as it was.
func TestStateHasTheCause(t *testing.T) {
	t.Parallel()
	held := session.LockoutError{Window: time.Minute}
	for _, c := range []struct {
		errs []error
		want error
	}{
		{[]error{errors.New("connection refused")}, nil},
		{[]error{errors.New("connection refused"), held}, nil},
		{[]error{session.ErrRejected, held}, inventory.ErrLogin},
		{[]error{held}, inventory.ErrLogin}, // of another entry with the account
		{[]error{held, errors.New("connection refused")}, nil},
		{[]error{&credentialsError{errors.New("no such Secret")}}, inventory.ErrLogin},
		{[]error{&session.UntrustedError{Certificate: vcentertest.Issue(t, x509.Certificate{}, nil).Cert}}, inventory.ErrUntrusted},
		{[]error{vcentertest.SOAPFault(types.NoPermission{PrivilegeId: "System.View"})}, inventory.ErrDenied},
		{[]error{vcentertest.SOAPFault(types.SystemError{})}, inventory.ErrFault},
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

// TestUnusableCredentialsAreLoggedOnce: while a session is open, whatever the next attempt is said
// to be, and until they are accepted.
func TestUnusableCredentialsAreLoggedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true), ktesting.Verbosity(0)))
		ctx := klog.NewContext(t.Context(), log)
		a := monitorOf(&spec{cfg: config.VCenter{Name: "east", Server: "east"}}, FromFile, Options{}, func(bool) {})
		for range 2 {
			for i := range 5 {
				a.logUnusable(ctx, fmt.Errorf("%w; next attempt at 10:0%d:00 UTC", session.ErrRejected, i))
				a.logUnusable(ctx, session.LockoutError{Window: time.Minute})
				time.Sleep(time.Minute)
			}
			a.logAccepted(ctx)
		}
		text := log.GetSink().(ktesting.Underlier).GetBuffer().String()
		for what, want := range map[string]int{
			"Cannot use the changed credentials; the session that was opened with the previous ones stays in use": 2,
			`The changed credentials are accepted after="5m0s"`:                                                   2,
			"\n": 4,
		} {
			if got := strings.Count(text, what); got != want {
				t.Errorf("%d times %q, want %d:\n%s", got, what, want, text)
			}
		}
	})
}

// TestCauses: each error has the cause that it has, however it is wrapped.
func TestCauses(t *testing.T) {
	t.Parallel()
	panicked := (&faults.Guard{}).Run(t.Context(), "reading", func() error { panic("at the disco") })
	denied := vcentertest.SOAPFault(types.NoPermission{PrivilegeId: "System.View"})
	for want, errs := range map[string][]error{
		faults.CauseUntrusted:   {&session.UntrustedError{}},
		faults.CauseCredentials: {&credentialsError{errors.New("no such Secret")}, &credentialsError{denied}},
		faults.CausePostponed:   {session.LockoutError{}},
		faults.CauseInternal:    {panicked},
		faults.CauseRejected:    {session.ErrRejected},
		faults.CauseDenied:      {denied},
		faults.CauseFault:       {vcentertest.SOAPFault(types.SystemError{})},
		faults.CauseUnreachable: {errors.New("connection refused"), context.DeadlineExceeded},
	} {
		for _, err := range errs {
			if got := faults.CauseOf(fmt.Errorf("vCenter %q: %w", "east", wrapped{err})); got != want {
				t.Errorf("%T: %s, want %s", err, got, want)
			}
		}
	}
}

// wrapped is an error around another one.
type wrapped struct{ error }

func (w wrapped) Unwrap() error { return w.error }
