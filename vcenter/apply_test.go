package vcenter

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"vzones/config"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

func TestVCentersComeAndGo(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, slow, nil)
	east, west := w.sim.VCenter("east"), w.sim.VCenter("west")
	n1, w1 := w.id("n1"), w.id("w1")
	w.fleet.Follow([]inventory.Identity{n1, w1})
	w.found(n1)
	w.found(w1)

	w.fleet.Apply(w.cfgs[1:], slow.Requirements)
	if _, err := w.find(w.fleet.States(), w1); err != nil {
		t.Errorf("w1: %v", err)
	}
	w.until("logged out of east", func([]inventory.State) bool { return east.Sessions() == 0 })
	if states := w.fleet.States(); len(states) != 1 || states[0].VCenter != "west" {
		t.Errorf("states of %v", states)
	}
	// What is known of its machines tells that nobody can say they are gone.
	known := n1
	known.Recorded = topology.Ref{VCenter: "east", ID: "vm-1"}
	if _, err := w.find(w.fleet.States(), known); !errors.Is(err, topology.ErrUnknown) {
		t.Errorf("n1 is not unknown: %v", err)
	}

	w.fleet.Apply(w.cfgs, slow.Requirements)
	if _, err := w.find(w.fleet.States(), n1); !errors.Is(err, topology.ErrUnknown) && err != nil {
		t.Errorf("n1: %v", err)
	}
	if got := w.zone(n1); got != "east/a" {
		t.Errorf("n1 is in %s", got)
	}
	if logins(west) != 1 || west.Requests()["CreatePropertyCollector"] != 1 {
		t.Errorf("requests went to west again: %v", west.Requests())
	}
}

func TestAnotherAddress(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, slow, nil)
	w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("w1")})
	w.found(w.id("n1"))
	w.found(w.id("w1"))
	// East's entry has west's address now, and the other way round.
	swapped := []config.VCenter{w.cfgs[1], w.cfgs[0]}
	swapped[0].Name, swapped[1].Name = "east", "west"
	w.fleet.Apply(swapped, slow.Requirements)
	w.until("n1 found in west", func(states []inventory.State) bool {
		m, err := w.find(states, w.id("n1"))
		return err == nil && m.Ref.VCenter == "west"
	})
	if got := w.zone(w.id("n1")); got != "east/a" {
		t.Errorf("n1 is in %s", got)
	}
	w.until("w1 found in east", func(states []inventory.State) bool {
		m, err := w.find(states, w.id("w1"))
		return err == nil && m.Ref.VCenter == "east"
	})
	if got := w.east().Snapshot.Instance; got != w.sim.VCenter("west").InstanceUUID() {
		t.Errorf("east is %s", got)
	}
	w.until("one session each", func([]inventory.State) bool {
		return w.sim.VCenter("east").SOAPSessions() == 1 && w.sim.VCenter("west").SOAPSessions() == 1
	})
}

func TestOtherDatacenters(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, slow, nil)
	n3 := w.id("n3")
	w.fleet.Follow([]inventory.Identity{n3})
	w.found(n3)
	cfgs := []config.VCenter{w.cfgs[0], w.cfgs[1]}
	cfgs[0].Datacenters = []string{"dc1"}
	w.fleet.Apply(cfgs, slow.Requirements)
	w.until("n3 not found", func(states []inventory.State) bool {
		_, err := w.find(states, n3)
		return err != nil
	})
	if err := w.fleet.SearchOutside(w.ctx, n3); !errors.Is(err, inventory.ErrOutside) {
		t.Errorf("n3: %v", err)
	}
	w.fleet.Apply(w.cfgs, slow.Requirements)
	w.found(n3)
	if n := logins(w.sim.VCenter("east")); n != 1 {
		t.Errorf("%d logins", n)
	}
}

// TestTagsAreWantedLater: until they are read, they are unknown and not missing.
func TestTagsAreWantedLater(t *testing.T) {
	t.Parallel()
	opts := slow
	opts.Requirements = Requirements{}
	w := run(t, twoVCenters, opts, nil)
	n1 := w.id("n1")
	w.fleet.Follow([]inventory.Identity{n1})
	w.found(n1)
	w.fleet.Apply(w.cfgs, Requirements{Tags: true, Categories: []string{"region", "zone"}})
	w.until("n1 placed", func([]inventory.State) bool {
		p, err := topology.Resolve(policy, w.found(n1).Paths)
		if errors.Is(err, topology.ErrMissing) {
			t.Errorf("tags that are not read count as missing: %v", err)
		}
		return err == nil && p.Value(topology.LabelZone) == "a"
	})
	w.fleet.Apply(w.cfgs, Requirements{Tags: true, Categories: []string{"region", "rack"}})
	w.until("the missing category known", func(states []inventory.State) bool {
		return slices.Equal(inventory.InvisibleCategories(states), []string{"rack"})
	})
	if n := logins(w.sim.VCenter("east")); n != 1 {
		t.Errorf("%d logins", n)
	}
}

// TestARemovedVCenterThatHangs holds nobody up.
func TestARemovedVCenterThatHangs(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, slow, nil)
	n1, w1 := w.id("n1"), w.id("w1")
	w.fleet.Follow([]inventory.Identity{n1, w1})
	w.found(n1)
	w.found(w1)
	w.sim.VCenter("east").Hang()
	began := time.Now()
	w.fleet.Apply(w.cfgs[1:], slow.Requirements)
	w.fleet.Apply(w.cfgs, slow.Requirements)
	w.fleet.Apply(w.cfgs[1:], slow.Requirements)
	if err := w.sim.VCenter("east").Recover(); err != nil {
		t.Fatal(err)
	}
	w.fleet.Apply(w.cfgs, slow.Requirements)
	w.found(n1)
	t.Logf("took %v", time.Since(began))
}

// TestAnotherCertificate: the session goes on once it is trusted.
func TestAnotherCertificate(t *testing.T) {
	t.Parallel()
	opts := slow
	opts.Timeout = time.Second
	w := run(t, twoVCenters, opts, nil)
	east := w.sim.VCenter("east")
	w.fleet.Follow([]inventory.Identity{w.id("n1")})
	w.found(w.id("n1"))
	if err := east.RenewCertificate(); err != nil {
		t.Fatal(err)
	}
	w.until("the certificate refused", func([]inventory.State) bool {
		err := w.east().Err
		return err != nil && strings.Contains(err.Error(), "SHA-256")
	})
	if w.east().Snapshot == nil {
		t.Error("what was known is lost")
	}
	cfgs := slices.Clone(w.cfgs)
	cfgs[0].CA = east.Certificate()
	w.fleet.Apply(cfgs, opts.Requirements)
	w.until("recovery", func([]inventory.State) bool { return w.east().Err == nil })
	if err := east.MoveVM("n1", "c2-host-1"); err != nil {
		t.Fatal(err)
	}
	w.until("a move seen", func([]inventory.State) bool { return w.zone(w.id("n1")) == "east/b" })
	if e, n := logins(east), logins(w.sim.VCenter("west")); e != 1 || n != 1 {
		t.Errorf("%d logins to east, %d to west", e, n)
	}
	w.stop()
	if n := east.Sessions(); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}
