package vcenter

import (
	"slices"
	"testing"
	"time"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/vcenter/inventory"
)

// TestASnapshotIsCurrentOrHasAnError checks that after the end of a watch the snapshot is not current until
// the next watch has read the vCenter.
func TestASnapshotIsCurrentOrHasAnError(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*world, *accounts) error{
		"another configuration": func(w *world, _ *accounts) error { narrow(w); return nil },
		"a datacenter is renamed": func(w *world, _ *accounts) error {
			return w.sim.VCenter("east").Rename("dc2", "dc9")
		},
		"the session ends": func(w *world, _ *accounts) error { w.sim.VCenter("east").EndSessions(); return nil },
		"other credentials": func(w *world, a *accounts) error {
			east := w.sim.VCenter("east")
			east.SetPassword("second-example")
			a.set(east.User(), "second-example")
			w.fleet.CredentialsChanged()
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var a accounts
			w := runWith(t, twoVCenters, slow, a.read, func(_ *fleet.Fleet, cfgs []config.VCenter) {
				cfgs[0].Datacenters = []string{"dc1", "dc2"}
			})
			n1, east := w.id("n1"), w.sim.VCenter("east")
			w.fleet.Follow([]inventory.Identity{n1})
			w.in(n1, "east/a")
			w.quiet()
			before := w.east()
			if before.Err != nil || before.Outdated {
				t.Fatalf("before anything happens: error %v, outdated %t", before.Err, before.Outdated)
			}
			watches := func() int { return east.Requests()["CreatePropertyCollector"] }
			begun := watches()
			east.DelayFirstPage(time.Second)
			if err := end(w, &a); err != nil {
				t.Fatal(err)
			}
			w.until("the next watch", func([]inventory.State) bool { return watches() > begun })
			w.until("its snapshot", func(states []inventory.State) bool {
				east := inventory.StateOf(states, "east")
				isNew := east.Snapshot != before.Snapshot
				if isNew == (east.Err != nil) || isNew == east.Outdated {
					t.Fatalf("snapshot of the next watch: %t, but error %v, outdated %t", isNew, east.Err, east.Outdated)
				}
				return isNew
			})
		})
	}
}

// TestAnotherConfigurationOutdatesASnapshot at once, even while the vCenter fails. A failure alone does not,
// because the snapshot may still initialize Nodes for some time.
func TestAnotherConfigurationOutdatesASnapshot(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, quick, nil)
	n1, east := w.id("n1"), w.sim.VCenter("east")
	w.fleet.Follow([]inventory.Identity{n1})
	w.found(n1)
	east.Drop()
	w.until("a failure", func([]inventory.State) bool { return w.east().Err != nil && w.east().Cause != inventory.CausePending })
	if s := w.east(); s.Outdated {
		t.Errorf("outdated by a failure: %v", s.Err)
	}
	narrow(w)
	if s := w.east(); !s.Outdated || s.Err == nil || s.Snapshot == nil {
		t.Errorf("with another configuration: outdated %t, error %v, has a snapshot: %t", s.Outdated, s.Err, s.Snapshot != nil)
	}
	if slices.ContainsFunc(w.fleet.States(), func(s inventory.State) bool { return s.VCenter == "west" && s.Err != nil }) {
		t.Error("the other vCenter, whose configuration has not changed, has an error")
	}
	if err := east.Recover(); err != nil {
		t.Fatal(err)
	}
	w.until("recovery", func([]inventory.State) bool { return w.east().Err == nil && !w.east().Outdated })
}
