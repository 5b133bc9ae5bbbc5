package vcenter

import (
	"errors"
	"slices"
	"testing"
	"time"

	"vzones/config"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// TestAPasswordInTheFile is taken from the configuration that was applied last.
func TestAPasswordInTheFile(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, slow, nil)
	w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("w1")})
	w.found(w.id("n1"))
	w.found(w.id("w1"))
	east, west := w.sim.VCenter("east"), w.sim.VCenter("west")
	east.SetPassword("second-example")
	cfgs := slices.Clone(w.cfgs)
	cfgs[0].Password = config.NewPassword("second-example")
	w.fleet.Apply(cfgs, slow.Requirements)
	w.until("logged in again", func([]inventory.State) bool { return logins(east) == 2 && east.SOAPSessions() == 1 })
	if s := w.east(); s.Err != nil || s.Snapshot == nil {
		t.Errorf("error %v, snapshot %v", s.Err, s.Snapshot)
	}
	if n := logins(west); n != 1 {
		t.Errorf("%d logins to west", n)
	}
}

// TestAPasswordWithOtherDatacenters: neither change hides the other.
func TestAPasswordWithOtherDatacenters(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, slow, nil)
	w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("n3")})
	w.found(w.id("n3"))
	east := w.sim.VCenter("east")
	east.SetPassword("second-example")
	cfgs := slices.Clone(w.cfgs)
	cfgs[0].Password = config.NewPassword("second-example")
	cfgs[0].Datacenters = []string{"dc1"}
	w.fleet.Apply(cfgs, slow.Requirements)
	w.until("logged in again", func([]inventory.State) bool { return logins(east) == 2 && east.SOAPSessions() == 1 })
	w.until("n3 not found", func(states []inventory.State) bool {
		_, err := w.find(states, w.id("n3"))
		return err != nil
	})
	w.found(w.id("n1"))
}

// TestAnAddressThatChangesWhileTheVCenterHangs: what was known of the previous one
// is nothing from the moment of the change on, and its session proves nothing.
func TestAnAddressThatChangesWhileTheVCenterHangs(t *testing.T) {
	t.Parallel()
	opts := slow
	opts.Timeout = 20 * time.Second
	w, a := renewingWith(t, opts)
	n1, w1 := w.id("n1"), w.id("w1")
	east := w.sim.VCenter("east")
	contents := east.Requests()["RetrieveServiceContent"]
	east.SetDelay(3 * time.Second)
	a.set(east.User(), "wrong-example")
	w.fleet.CredentialsChanged()
	w.until("the login under way", func([]inventory.State) bool { return east.Requests()["RetrieveServiceContent"] > contents })
	swapped := []config.VCenter{w.cfgs[1], w.cfgs[0]}
	swapped[0].Name, swapped[1].Name = "east", "west"
	w.fleet.Apply(swapped, slow.Requirements)
	for _, s := range w.fleet.States() {
		if s.Snapshot != nil || s.Err != nil || !s.LastContact.IsZero() {
			t.Errorf("%s is known: %+v", s.VCenter, s)
		}
	}
	absent := identity(t, "422e4956-ad22-1139-6d72-59cc8f26bc90")
	if err := w.fleet.ConfirmAbsent(w.ctx, absent); !errors.Is(err, topology.ErrUnknown) {
		t.Errorf("absence is confirmed by sessions with other vCenters: %v", err)
	}
	// west has read w1 again under the name east only once east's login is over.
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		for _, id := range []inventory.Identity{n1, w1} {
			if _, err := w.find(w.fleet.States(), id); errors.Is(err, topology.ErrAmbiguous) || errors.Is(err, topology.ErrAbsent) {
				t.Fatal(err)
			}
		}
	}
	if err := east.Recover(); err != nil {
		t.Fatal(err)
	}
}
