package condition_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"vzones/provider/condition"
	"vzones/provider/placement"
	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/inventory"
)

// TestCondition: it is recorded when it has lasted, again after the time to repeat, and at its end;
// another one at once when it has lasted.
func TestCondition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c condition.Condition
		var got []string
		began := time.Now()
		busy := time.Duration(0)
		note := func(what string) func() time.Duration {
			return func() time.Duration {
				if busy == 0 {
					got = append(got, fmt.Sprint(what, " ", time.Since(began)))
				}
				return busy
			}
		}
		look := func(key string, d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Second) {
				if key == "" {
					c.End(note("end"))
				} else {
					c.Observe(key, 10*time.Second, 50*time.Minute, note(key))
				}
			}
		}
		look("short", 9*time.Second)
		look("", time.Minute-9*time.Second)
		look("a", 2*time.Hour-time.Minute)
		look("b", 30*time.Second)
		look("a", 5*time.Second) // too short to say so
		look("b", 25*time.Second)
		busy = time.Second // nothing can be recorded now
		look("", 30*time.Second)
		busy = 0
		look("b", 30*time.Second) // it never was over
		look("", time.Minute)
		want := []string{"a 1m10s", "a 51m10s", "a 1h41m10s", "b 2h0m10s", "end 2h2m0s"}
		if !slices.Equal(got, want) {
			t.Errorf("got %q\nwant %q", got, want)
		}
		if c.IsRecorded("") || c.IsRecorded("b") {
			t.Error("recorded after its end")
		}
	})
}

// TestReasonsThatAlternate: a matter whose reasons alternate is recorded, and not each time.
func TestReasonsThatAlternate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c condition.Condition
		var got []string
		began := time.Now()
		for i := 0; time.Since(began) < 12*time.Minute; i++ {
			key := condition.Key(&inventory.Unreachable{VCenter: "west", Err: errors.New("fails"), Cause: []error{nil, inventory.ErrLogin}[i/2%2]})
			c.Observe(key, 10*time.Second, 50*time.Minute, func() time.Duration {
				got = append(got, fmt.Sprint(time.Since(began)))
				return 0
			})
			time.Sleep(time.Second)
		}
		if len(got) < 2 || len(got) > 3 || got[0] != "10s" {
			t.Errorf("recorded after %q", got)
		}
	})
}

// TestIsUnknown: what could not be read, and what is none of the outcomes.
func TestIsUnknown(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{inventory.ErrUnreachable, true},
		{inventory.ErrUnreadable, true},
		{fmt.Errorf("the machine is %w", inventory.ErrOutside), true},
		{fmt.Errorf("%w: tags", topology.ErrUnknown), true},
		{fmt.Errorf("something else"), true},
		{topology.ErrMissing, false},
		{topology.ErrAmbiguous, false},
		{topology.ErrAbsent, false},
		{placement.ErrShared, false},
	} {
		if got := condition.IsUnknown(c.err); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}

// TestMessage: what cannot be read of a vCenter has the reason, the advice and the status of its
// cause, by the Node's own vCenter, which comes first.
func TestMessage(t *testing.T) {
	unreachable := func(vcenter string, cause error) error {
		return &inventory.Unreachable{VCenter: vcenter, Err: fmt.Errorf("vCenter %q fails", vcenter), Cause: cause}
	}
	for name, c := range map[string]struct {
		err          error
		reason, want string
		unknown      bool
	}{
		"network":    {unreachable("east", nil), "VCenterUnreachable", `vCenter "east" fails; check that the vCenter runs and that the cluster reaches it`, true},
		"login":      {unreachable("east", inventory.ErrLogin), "VCenterLoginFailed", `vCenter "east" fails; correct the credentials of the vCenter where the daemon reads them`, true},
		"untrusted":  {unreachable("east", inventory.ErrUntrusted), "CertificateUntrusted", `vCenter "east" fails`, true},
		"denied":     {unreachable("east", inventory.ErrDenied), "VCenterUnreachable", `vCenter "east" fails; give the account its role on the vCenter`, true},
		"fault":      {unreachable("east", inventory.ErrFault), "VCenterUnreachable", `vCenter "east" fails; look at the vCenter's own logs`, true},
		"pending":    {unreachable("east", inventory.ErrPending), "VCenterUnreachable", `vCenter "east" fails`, true},
		"two":        {quote.Errors(2, unreachable("east", nil), unreachable("west", inventory.ErrLogin)), "VCenterUnreachable", `vCenter "east" fails; vCenter "west" fails; check that the vCenter runs and that the cluster reaches it`, true},
		"two, other": {quote.Errors(2, unreachable("west", inventory.ErrLogin), unreachable("east", nil)), "VCenterLoginFailed", `vCenter "west" fails; vCenter "east" fails; correct the credentials of the vCenter where the daemon reads them`, true},
		"absent":     {topology.Errorf(topology.ErrAbsent, "no vCenter has it"), "MachineNotFound", "no vCenter has it", false},
		"unreadable": {topology.Errorf(topology.Kinds{topology.ErrUnknown, inventory.ErrUnreadable}, "no UUID"), "MachineUnreadable", "no UUID; reconnect its host or datastore, or remove it from the inventory if it is orphaned", true},
	} {
		err := topology.Errorf(topology.ErrUnknown, "%w", c.err)
		if name == "absent" {
			err = c.err
		}
		if got := condition.Message(err); got != c.want || condition.Of(err).Event != c.reason || condition.IsUnknown(err) != c.unknown {
			t.Errorf("%s: %s, unknown %t: %s", name, condition.Of(err).Event, condition.IsUnknown(err), got)
		}
	}
}
