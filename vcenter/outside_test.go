package vcenter

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// only configures datacenters of east.
func only(datacenters ...string) func(*fleet.Fleet, []config.VCenter) {
	return func(_ *fleet.Fleet, cfgs []config.VCenter) { cfgs[0].Datacenters = datacenters }
}

func (w *world) isOutside(id inventory.Identity, moid string) func([]inventory.State) bool {
	return func(states []inventory.State) bool {
		if w.outcome(states, id, topology.ErrAbsent) {
			w.Errorf("%s is absent", id)
		}
		return w.outcome(states, id, topology.ErrUnknown, inventory.ErrOutside) && isThere(states[0].Snapshot, moid)
	}
}

// isThere reports whether this VM alone is known to be outside, from the snapshot or from its Node's record.
func isThere(s *inventory.Snapshot, moid string) bool {
	all := slices.Collect(maps.Keys(s.Recorded))
	all = append(all, s.Outside...)
	slices.Sort(all)
	return slices.Equal(slices.Compact(all), []string{moid})
}

// TestRestartWithARecord covers the record of a VM that is gone.
func TestRestartWithARecord(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*fleet.Fleet, []config.VCenter){"all datacenters": nil, "one": only("dc1")} {
		t.Run(name, func(t *testing.T) {
			w := run(t, twoVCenters, slow, change)
			east := w.sim.VCenter("east")
			w.until("the first page", func([]inventory.State) bool { return east.Requests()["WaitForUpdatesEx"] > 0 })
			nobody := known(identity(t, stranger), "east", "vm-99999")
			w.fleet.Follow([]inventory.Identity{nobody})
			w.until("absence", func(states []inventory.State) bool { return w.outcome(states, nobody, topology.ErrAbsent) })
			// The vCenter is not asked repeatedly.
			asked := east.Requests()["ModifyListView"]
			for i := range 3 {
				before := w.fleet.States()[0].Snapshot
				w.fleet.Follow([]inventory.Identity{nobody})
				w.do(east.SetUUID("n1", fmt.Sprintf("11111111-2222-3333-4444-00000000000%d", i)))
				w.until("another snapshot", func(states []inventory.State) bool { return states[0].Snapshot != before })
			}
			if n := east.Requests()["ModifyListView"]; n > asked {
				t.Errorf("the list was changed %d times", n-asked)
			}
		})
	}
}

// TestSearchOutside finds a VM that was never in a configured datacenter, and sends requests only to vCenters
// with configured datacenters.
func TestSearchOutside(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, slow, only("dc1"))
	n3, n1 := w.id("n3"), w.id("n1")
	w.fleet.Follow([]inventory.Identity{n1, n3})
	w.found(n1)
	err := w.fleet.SearchOutside(w.ctx, n3)
	if !errors.Is(err, inventory.ErrOutside) || !errors.Is(err, topology.ErrUnknown) || !strings.Contains(err.Error(), "/dc2/vm/n3") {
		t.Errorf("SearchOutside for n3: error %v, want an unknown ErrOutside with /dc2/vm/n3", err)
	}
	if err := w.fleet.SearchOutside(w.ctx, identity(t, "422e4956-0000-1139-6d72-59cc8f26bc90")); err != nil {
		t.Errorf("no VM: %v", err)
	}
	if n := w.sim.VCenter("west").Requests()["FindAllByUuid"]; n > 0 {
		t.Errorf("%d searches in a vCenter whose index has everything", n)
	}
	w.sim.VCenter("east").Refuse()
	if err := w.fleet.SearchOutside(w.ctx, n3); err != nil {
		t.Errorf("a vCenter that cannot be asked: %v", err)
	}
}

// TestDestroyedBeforeItIsToldOf destroys a VM outside the configured datacenters after it was read and before
// the vCenter adds it to the watched list, so no change is reported.
func TestDestroyedBeforeItIsToldOf(t *testing.T) {
	t.Parallel()
	opts := slow
	opts.TagRefresh = time.Second // The interval of the checks.
	w := run(t, twoVCenters, opts, only("dc1"))
	moid := w.moid("n3")
	n3 := known(w.id("n3"), "east", moid)
	east := w.sim.VCenter("east")
	w.fleet.Follow([]inventory.Identity{n3})
	w.until("n3 outside", w.isOutside(n3, moid))
	east.DelayMethod("WaitForUpdatesEx", 3*time.Second)
	before := time.Now()
	w.restarted()
	w.until("n3 outside, as a new watch says", func(states []inventory.State) bool {
		return states[0].Snapshot.ReadAt.After(before) && w.isOutside(n3, moid)(states)
	})
	if err := east.Destroy("n3"); err != nil {
		t.Fatal(err)
	}
	w.until("n3 gone", func(states []inventory.State) bool { return w.outcome(states, n3, topology.ErrAbsent) })
}
