package vcenter

import (
	"context"
	"errors"
	"testing"
	"time"

	"vzones/config"
	"vzones/topology"
	"vzones/vcenter/inventory"
	"vzones/vcenter/vcentertest"
)

// TestBetweenTwoAddresses checks that results from the previous address are ignored after a change, also before
// the monitor has received it.
func TestBetweenTwoAddresses(t *testing.T) {
	t.Parallel()
	asked := 0
	source := func(context.Context, *config.VCenter) (Credentials, error) {
		asked++
		return Credentials{User: "somebody"}, nil
	}
	at := func(server string) *spec {
		return &spec{cfg: config.VCenter{Name: "east", Server: server, Port: 443}}
	}
	a := monitorOf(at("one.example.com"), source, Options{Timeout: time.Minute}, func(bool) {})
	publish := func(a *monitor) bool { a.current.state.Snapshot = &inventory.Snapshot{VCenter: "east"}; return true }
	a.update(publish)
	if a.status.Load().state.Snapshot == nil {
		t.Fatal("not published")
	}
	a.configure(at("two.example.com"))
	if s, h := a.state(), a.health(); s.Snapshot != nil || h.Snapshot != nil {
		t.Errorf("the fleet shows %+v", s)
	}
	a.setSpec(at("two.example.com"))
	if _, err := a.readCredentials(t.Context()); !errors.Is(err, configurationChanged) || asked > 0 {
		t.Errorf("%v; credentials were read %d times", err, asked)
	}
	a.update(publish)
	a.fail(t.Context(), errors.New("of the previous one"))
	a.update(func(a *monitor) bool { a.current.state.LastContact = time.Now(); return false })
	if s := a.status.Load().state; s.Snapshot != nil || s.Err != nil || !s.LastContact.IsZero() {
		t.Errorf("it shows: %+v", s)
	}
	a.applySpec(t.Context())
	if _, err := a.readCredentials(t.Context()); err != nil || asked != 1 {
		t.Errorf("%v; credentials were read %d times", err, asked)
	}
	a.update(publish)
	if a.status.Load().state.Snapshot == nil {
		t.Error("not published")
	}
	trusts := at("two.example.com")
	trusts.cfg.Insecure = true
	a.setSpec(trusts)
	if _, err := a.readCredentials(t.Context()); !errors.Is(err, configurationChanged) || asked != 1 {
		t.Errorf("trusted otherwise: %v; credentials were read %d times", err, asked)
	}
}

// TestAVCenterThatGoesDuringASearch invalidates the search. A session is not used at another address.
func TestAVCenterThatGoesDuringASearch(t *testing.T) {
	t.Parallel()
	opts, calls := slow, new(vcentertest.Counter)
	opts.Observer = calls
	w := run(t, twoVCenters, opts, nil)
	w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("w1")})
	w.found(w.id("n1"))
	w.found(w.id("w1"))
	absent := identity(t, "422e4956-ad22-1139-6d72-59cc8f26bc90")
	if err := w.fleet.ConfirmAbsent(w.ctx, absent); err != nil {
		t.Fatal(err)
	}
	west := w.sim.VCenter("west")
	west.Hang()
	begun, answered := west.Requests()["FindAllByUuid"], calls.Count("FindAllByUuid")
	done := make(chan error, 1)
	go func() { done <- w.fleet.ConfirmAbsent(w.ctx, absent) }()
	w.until("the search under way", func([]inventory.State) bool { return west.Requests()["FindAllByUuid"] > begun })
	w.until("east's answer", func([]inventory.State) bool { return calls.Count("FindAllByUuid") > answered })
	w.fleet.Apply(w.cfgs[1:], slow.Requirements)
	w.do(west.Recover())
	if err := <-done; !errors.Is(err, topology.ErrUnknown) {
		t.Errorf("absent from east, which is gone: %v", err)
	}
	v := (*w.fleet.vcenters.Load())[0]
	if v.session() == nil {
		t.Fatal("there is no session with west")
	}
	v.configure(&spec{cfg: w.cfgs[0]})
	if v.session() != nil {
		t.Error("the session with west is used for another vCenter")
	}
}
