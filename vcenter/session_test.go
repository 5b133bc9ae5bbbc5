package vcenter

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/klog/v2/ktesting"

	"vzones/config"
	"vzones/vcenter/inventory"
	"vzones/vcenter/vcentertest"
)

func TestRejectedPasswordIsTriedOnce(t *testing.T) {
	t.Parallel()
	sim, cfgs := vcentertest.Simulate(t, twoVCenters)
	east := sim.VCenter("east")
	good := cfgs[0].Password
	cfgs[0].Password = config.NewPassword("wrong")
	current := make(chan config.Password, 1)
	current <- cfgs[0].Password
	asked := make(chan struct{}, 100)
	source := func(ctx context.Context, c *config.VCenter) (Credentials, error) {
		if c.Name != "east" {
			return FromFile(ctx, c)
		}
		p := <-current
		current <- p
		asked <- struct{}{}
		return Credentials{User: c.User, Password: p}, nil
	}
	f := NewFleet(cfgs, source, quick)
	changed := f.Subscribe()
	_, ctx := ktesting.NewTestContext(t)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	for range 5 {
		<-asked
	}
	if n := east.Requests()["Login"]; n != 1 {
		t.Errorf("%d logins with a password that is rejected", n)
	}
	if failure := f.States()[0].Err; failure == nil || strings.Contains(failure.Error(), "wrong") {
		t.Errorf("error is %v", failure)
	}
	<-current
	current <- good
	for f.States()[0].Snapshot == nil {
		<-changed
	}
	if n := east.Requests()["Login"]; n != 2 {
		t.Errorf("%d logins", n)
	}
}

// TestPasswordChangedUnderALivingSession: the tagging API rejects the password that
// the session was opened with. It is not tried there again and again, the session
// lives on, and only the tags are unknown.
func TestPasswordChangedUnderALivingSession(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, quick, nil)
	id := w.id("n1")
	w.fleet.Follow([]inventory.Identity{id})
	w.found(id)
	w.until("n1 placed", func([]inventory.State) bool { return w.zone(id) == "east/a" })
	east := w.sim.VCenter("east")
	const list = "POST /com/vmware/cis/tagging/tag-association?~action=list-attached-tags-on-objects"
	logins, restLogins := logins(east), restLogins(east)
	east.SetPassword("another")
	east.FaultREST("POST /com/vmware/cis/tagging/*", http.StatusUnauthorized)
	w.until("the tags unknown", func([]inventory.State) bool { return strings.Contains(w.zone(id), "next attempt after ") })
	// The next attempts find the same credentials and do not use them.
	time.Sleep(5 * quick.TagRefresh)
	requests := east.Requests()
	if n := requests["Login"]; n != logins {
		t.Errorf("%d further logins", n-logins)
	}
	if n := requests["POST /com/vmware/cis/session"]; n != restLogins+1 {
		t.Errorf("%d further logins to the tagging API", n-restLogins)
	}
	if n := requests[list]; n > 20 {
		t.Errorf("%d readings", n)
	}
	if s := w.east(); east.SOAPSessions() != 1 || s.Err != nil {
		t.Errorf("%d sessions, error %v", east.SOAPSessions(), s.Err)
	}
}

func TestLostSessionsAreReplaced(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, quick, nil)
	id := w.id("n1")
	w.fleet.Follow([]inventory.Identity{id})
	w.found(id)
	east := w.sim.VCenter("east")
	for range 3 {
		east.EndSessions()
		before := w.fleet.States()[0].Snapshot.ReadAt
		w.until("a newer snapshot", func(states []inventory.State) bool {
			return states[0].Err == nil && states[0].Snapshot.ReadAt.After(before) && states[0].Snapshot.Machines != nil
		})
		if got := w.zone(id); got != "east/a" {
			t.Errorf("n1 is in %s", got)
		}
	}
	if n := east.Sessions(); n > 2 {
		t.Errorf("%d sessions", n)
	}
}

// TestSessionsThatEndAtOnceAreNoStorm: a vCenter that forgets each session as soon
// as it was read is not logged in to without a pause.
func TestSessionsThatEndAtOnceAreNoStorm(t *testing.T) {
	t.Parallel()
	opts := slow
	opts.RetryMin, opts.RetryMax = 100*time.Millisecond, 30*time.Second
	w := run(t, twoVCenters, opts, nil)
	east := w.sim.VCenter("east")
	began := time.Now()
	for range 6 {
		logins := east.Requests()["Login"]
		w.until("read", func(states []inventory.State) bool { return states[0].Snapshot != nil && states[0].Err == nil })
		east.EndSessions()
		w.until("a new session", func([]inventory.State) bool { return east.Requests()["Login"] > logins || logins == 0 })
	}
	// The pauses after the first are at least 50, 100, 200, 400 ms long.
	if took := time.Since(began); took < 700*time.Millisecond {
		t.Errorf("six logins in %v", took)
	}
}

func TestRunLogsOut(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, quick, nil)
	w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("w1")})
	w.found(w.id("n1"))
	w.found(w.id("w1"))
	w.stop()
	for _, v := range w.sim.VCenters() {
		if n := v.Sessions(); n != 0 {
			t.Errorf("%s has %d sessions left", v.Name(), n)
		}
	}
}

func TestRunEndsWhileAVCenterHangs(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, Options{Requirements: Requirements{Tags: true}}, nil)
	w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("w1")})
	w.found(w.id("n1"))
	w.found(w.id("w1"))
	w.sim.VCenter("east").Hang()
	started := time.Now()
	w.stop()
	// The bound is the logout's own deadline, ten times over.
	if took := time.Since(started); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	if n := w.sim.VCenter("west").Sessions(); n != 0 {
		t.Errorf("west has %d sessions left", n)
	}
}
