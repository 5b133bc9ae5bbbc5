package report_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"vzones/internal/quote"
	"vzones/provider/placement"
	"vzones/provider/report"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// TestTracker: a problem is recorded once it has lasted, again after the interval, and at its end. A different
// problem is recorded once it has lasted.
func TestTracker(t *testing.T) {
	var tracker report.Tracker
	var got []string
	began := time.Now()
	now := began
	busy := false
	observe := func(key string, d time.Duration) {
		for end := now.Add(d); now.Before(end); now = now.Add(time.Second) {
			switch {
			case key != "":
				p := report.Problem{Key: key}
				if due := tracker.Observe(p, 10*time.Second, 50*time.Minute, now); !due.After(now) && !busy {
					got = append(got, fmt.Sprint(key, " ", now.Sub(began)))
					tracker.Recorded(p, now)
				}
			case tracker.End() && !busy:
				got = append(got, fmt.Sprint("end ", now.Sub(began)))
				tracker = report.Tracker{}
			}
		}
	}
	observe("short", 9*time.Second)
	observe("", time.Minute-9*time.Second)
	observe("a", 2*time.Hour-time.Minute)
	observe("b", 30*time.Second)
	// This is too short for an Event.
	observe("a", 5*time.Second)
	observe("b", 25*time.Second)
	// Nothing can be recorded now.
	busy = true
	observe("", 30*time.Second)
	busy = false
	// The problem never ended.
	observe("b", 30*time.Second)
	observe("", time.Minute)
	want := []string{"a 1m10s", "a 51m10s", "a 1h41m10s", "b 2h0m10s", "end 2h2m0s"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if last, current := tracker.LastRecorded(); current || last != (report.Problem{}) {
		t.Errorf("%+v is said after its end", last)
	}
}

// TestCausesThatAlternate: a problem with alternating causes is recorded, but not at each change.
func TestCausesThatAlternate(t *testing.T) {
	var tracker report.Tracker
	var got []string
	began := time.Now()
	for i := range 12 * 60 {
		now := began.Add(time.Duration(i) * time.Second)
		p := report.ProblemOf(&inventory.Unreachable{VCenter: "west", Err: errors.New("fails"), Cause: []inventory.Cause{inventory.CauseUnreachable, inventory.CauseRejected}[i/2%2]})
		if due := tracker.Observe(p, 10*time.Second, 50*time.Minute, now); !due.After(now) {
			got = append(got, fmt.Sprint(now.Sub(began)))
			tracker.Recorded(p, now)
		}
	}
	if len(got) < 2 || len(got) > 3 || got[0] != "10s" {
		t.Errorf("recorded after %q", got)
	}
}

// TestUnknown: errors of reads and errors without an outcome are unknown.
func TestUnknown(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{inventory.ErrUnreachable, true},
		{inventory.ErrUnreadable, true},
		{fmt.Errorf("the VM is %w", inventory.ErrOutside), true},
		{fmt.Errorf("%w: tags", topology.ErrUnknown), true},
		{fmt.Errorf("something else"), true},
		{topology.ErrMissing, false},
		{topology.ErrAmbiguous, false},
		{topology.ErrAbsent, false},
		{placement.ErrShared, false},
	} {
		if got := report.ProblemOf(c.err).Unknown; got != c.want {
			t.Errorf("ProblemOf(%q).Unknown = %t, want %t", c.err, got, c.want)
		}
	}
}

// TestMessage: reason and advice depend on the cause of the Node's own vCenter, which comes first.
func TestMessage(t *testing.T) {
	unreachable := func(vcenter string, cause inventory.Cause) error {
		return &inventory.Unreachable{VCenter: vcenter, Err: fmt.Errorf("vCenter %q fails", vcenter), Cause: cause}
	}
	for name, c := range map[string]struct {
		err          error
		reason, want string
		unknown      bool
	}{
		"network":    {unreachable("east", inventory.CauseUnreachable), "VCenterUnreachable", `vCenter "east" fails; check that the vCenter runs and that the cluster can reach it`, true},
		"login":      {unreachable("east", inventory.CauseRejected), "CredentialsRejected", `vCenter "east" fails; correct the credentials`, true},
		"untrusted":  {unreachable("east", inventory.CauseUntrusted), "CertificateUntrusted", `vCenter "east" fails`, true},
		"denied":     {unreachable("east", inventory.CauseDenied), "VCenterUnreachable", `vCenter "east" fails; give the account its role on the vCenter`, true},
		"fault":      {unreachable("east", inventory.CauseFault), "VCenterUnreachable", `vCenter "east" fails; check the vCenter's logs`, true},
		"pending":    {unreachable("east", inventory.CausePending), "VCenterUnreachable", `vCenter "east" fails`, true},
		"two":        {quote.Errors(2, unreachable("east", inventory.CauseUnreachable), unreachable("west", inventory.CauseRejected)), "VCenterUnreachable", `vCenter "east" fails; vCenter "west" fails; check that the vCenter runs and that the cluster can reach it`, true},
		"two, other": {quote.Errors(2, unreachable("west", inventory.CauseRejected), unreachable("east", inventory.CauseUnreachable)), "CredentialsRejected", `vCenter "west" fails; vCenter "east" fails; correct the credentials`, true},
		"absent":     {topology.Errorf(topology.ErrAbsent, "no vCenter has it"), "VMNotFound", "no vCenter has it", false},
		"unreadable": {topology.Errorf(topology.Kinds{topology.ErrUnknown, inventory.ErrUnreadable}, "no UUID"), "VMUnreadable", "no UUID; reconnect its host or datastore, or remove it from the inventory if it is orphaned", true},
	} {
		err := topology.Errorf(topology.ErrUnknown, "%w", c.err)
		if name == "absent" {
			err = c.err
		}
		if got := report.EventText(err); got != c.want || report.OutcomeOfError(err).Event != c.reason || report.ProblemOf(err).Unknown != c.unknown {
			t.Errorf("%s: %s, unknown %t: %s", name, report.OutcomeOfError(err).Event, report.ProblemOf(err).Unknown, got)
		}
	}
}

// TestRepeatAfter: the interval ends before API servers forget an Event, is stable, and spreads
// thousands of Nodes.
func TestRepeatAfter(t *testing.T) {
	seconds := map[time.Duration]int{}
	for i := range 5000 {
		name := fmt.Sprint("node-", i)
		after := report.RepeatInterval(name)
		if after < 50*time.Minute || after > 55*time.Minute || after != report.RepeatInterval(name) {
			t.Errorf("RepeatAfter(%q) = %s, and then %s, want the same from 50 to 55 minutes", name, after, report.RepeatInterval(name))
		}
		seconds[after.Truncate(time.Second)]++
	}
	for at, n := range seconds {
		if n > 50 {
			t.Errorf("%d at %v", n, at)
		}
	}
}
