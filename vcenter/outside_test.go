package vcenter

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// only configures datacenters of east.
func only(datacenters ...string) func(*fleet.Fleet, []config.VCenter) {
	return func(_ *fleet.Fleet, cfgs []config.VCenter) { cfgs[0].Datacenters = datacenters }
}

// to moves a machine of east to the host of another.
func (w *world) to(machine, beside string) {
	w.Helper()
	m, err := w.sim.Machine(beside)
	if err != nil {
		w.Fatal(err)
	}
	if err := w.sim.VCenter("east").MoveVM(machine, m.Host); err != nil {
		w.Fatal(err)
	}
}

func (w *world) isOutside(id inventory.Identity, moid string) func([]inventory.State) bool {
	return func(states []inventory.State) bool {
		if w.outcome(states, id, topology.ErrAbsent) {
			w.Errorf("%s is absent", id)
		}
		return w.outcome(states, id, topology.ErrUnknown, inventory.ErrOutside) && isThere(states[0].Snapshot, moid)
	}
}

// TestMovedOutOfTheConfiguredDatacenters and back, and destroyed there, as seen by
// watches that begin again.
func TestMovedOutOfTheConfiguredDatacenters(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, slow, only("dc1"))
	moid := w.moid("n1")
	n1 := known(w.id("n1"), "east", moid)
	w.fleet.Follow([]inventory.Identity{n1})
	w.found(n1)
	w.to("n1", "n3")
	w.restarted()
	w.until("n1 outside", w.isOutside(n1, moid))
	if err := w.fleet.ConfirmAbsent(w.ctx, n1); err == nil {
		t.Error("its absence is confirmed")
	}
	w.to("n1", "n2")
	w.restarted()
	w.until("n1 back, and its tags read", func(states []inventory.State) bool {
		return w.zone(n1) == "east/b" && len(states[0].Snapshot.Outside) == 0
	})
	if m := w.found(n1); m.Ref.ID != moid {
		t.Errorf("back as %v", m.Ref)
	}
	w.to("n1", "n3")
	w.restarted()
	w.until("n1 outside again", w.isOutside(n1, moid))
	if err := w.sim.VCenter("east").Destroy("n1"); err != nil {
		t.Fatal(err)
	}
	w.until("n1 gone", func(states []inventory.State) bool { return w.outcome(states, n1, topology.ErrAbsent) })
	if err := w.fleet.ConfirmAbsent(w.ctx, n1); err != nil {
		t.Errorf("not confirmed: %v", err)
	}
}

// isThere reports whether a machine, and no other, is outside, by what was read or by what
// its Node tells.
func isThere(s *inventory.Snapshot, moid string) bool {
	all := slices.Collect(maps.Keys(s.Recorded))
	all = append(all, s.Outside...)
	slices.Sort(all)
	return slices.Equal(slices.Compact(all), []string{moid})
}

// TestRestartWithARecord: what a Node tells of where its machine was.
func TestRestartWithARecord(t *testing.T) {
	t.Parallel()
	t.Run("outside", func(t *testing.T) {
		w := run(t, twoVCenters, slow, only("dc1"))
		n3, moid := w.id("n3"), w.moid("n3")
		its := known(n3, "east", moid)
		w.fleet.Follow([]inventory.Identity{its})
		w.until("n3 outside", w.isOutside(its, moid))
		w.restarted()
		w.until("n3 outside in a new watch", w.isOutside(its, moid))
		// It is so for its Node only.
		if states := w.fleet.States(); w.outcome(states, n3, inventory.ErrOutside) || len(states[0].Snapshot.Outside) > 0 {
			t.Errorf("another Node with the UUID hears of it: %v", states[0].Snapshot.Outside)
		}
		// In a vCenter whose datacenters are all configured it would be inside.
		if s := w.fleet.States()[1].Snapshot; s != nil && len(s.Outside) > 0 {
			t.Errorf("outside of west: %v", s.Outside)
		}
	})
	t.Run("outside, another machine's", func(t *testing.T) {
		w := run(t, twoVCenters, slow, only("dc1"))
		nobody := identity(t, stranger)
		w.fleet.Follow([]inventory.Identity{known(nobody, "east", w.moid("n3"))})
		w.until("absence", func(states []inventory.State) bool { return w.outcome(states, nobody, topology.ErrAbsent) })
	})
	for name, change := range map[string]func(*fleet.Fleet, []config.VCenter){"gone": nil, "gone, with datacenters": only("dc1")} {
		t.Run(name, func(t *testing.T) {
			w := run(t, twoVCenters, slow, change)
			began := time.Now() // making the vCenters takes its time on a busy machine
			nobody := known(identity(t, stranger), "east", "vm-99999")
			w.fleet.Follow([]inventory.Identity{nobody})
			w.until("absence", func(states []inventory.State) bool { return w.outcome(states, nobody, topology.ErrAbsent) })
			// A machine that is not there has no details to wait for.
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
			if err := w.fleet.ConfirmAbsent(w.ctx, nobody); err != nil {
				t.Errorf("not confirmed: %v", err)
			}
			// It is not asked for again and again.
			east := w.sim.VCenter("east")
			asked := east.Requests()["ModifyListView"]
			for i := range 3 {
				before := w.fleet.States()[0].Snapshot
				if err := east.SetHostName("n1", time.Now().String()); err != nil {
					t.Fatal(err)
				}
				w.fleet.Follow([]inventory.Identity{nobody})
				if err := east.SetUUID("n1", fmt.Sprintf("11111111-2222-3333-4444-00000000000%d", i)); err != nil {
					t.Fatal(err)
				}
				w.until("another snapshot", func(states []inventory.State) bool { return states[0].Snapshot != before })
			}
			if n := east.Requests()["ModifyListView"]; n > asked {
				t.Errorf("the list was changed %d times", n-asked)
			}
		})
	}
	t.Run("unreadable", func(t *testing.T) {
		w := run(t, twoVCenters, slow, func(sim *fleet.Fleet, cfgs []config.VCenter) {
			if err := sim.VCenter("east").SetConnection("n1", "inaccessible"); err != nil {
				t.Fatal(err)
			}
			cfgs[0].Datacenters = []string{"dc1"}
		})
		n1 := known(identity(t, stranger), "east", w.moid("n1"))
		w.fleet.Follow([]inventory.Identity{n1})
		w.until("n1 unreadable", func(states []inventory.State) bool {
			if w.outcome(states, n1, topology.ErrAbsent) {
				t.Error("n1 is absent")
			}
			return w.outcome(states, n1, inventory.ErrUnreadable) && inventory.IsIndexed(states, n1)
		})
		if err := w.fleet.ConfirmAbsent(w.ctx, n1); err == nil || errors.Is(err, topology.ErrUnknown) {
			t.Errorf("it is there: %v", err)
		}
	})
}

// TestARecordOfAMachineThatMayNotBeSeen is not an error of the vCenter.
func TestARecordOfAMachineThatMayNotBeSeen(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, slow, only("dc1"))
	n1, n3 := w.id("n1"), w.id("n3")
	w.fleet.Follow([]inventory.Identity{n1})
	w.found(n1)
	east := w.sim.VCenter("east")
	east.Fault("RetrievePropertiesEx", &types.NoPermission{})
	n3 = known(n3, "east", w.moid("n3"))
	w.fleet.Follow([]inventory.Identity{n1, n3})
	w.until("n3 outside, from the watch", func(states []inventory.State) bool {
		if states[0].Err != nil {
			t.Fatalf("error: %v", states[0].Err)
		}
		return w.outcome(states, n3, inventory.ErrOutside)
	})
	w.found(n1)
}

// TestSearchOutside: a machine that was never in a configured datacenter is found
// by a search, and only where there is something outside of an index.
func TestSearchOutside(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, slow, only("dc1"))
	n3, n1 := w.id("n3"), w.id("n1")
	w.fleet.Follow([]inventory.Identity{n1, n3})
	w.found(n1)
	err := w.fleet.SearchOutside(w.ctx, n3)
	if !errors.Is(err, inventory.ErrOutside) || !errors.Is(err, topology.ErrUnknown) || !strings.Contains(err.Error(), "/dc2/vm/n3") {
		t.Errorf("n3: %v", err)
	}
	if err := w.fleet.SearchOutside(w.ctx, identity(t, "422e4956-0000-1139-6d72-59cc8f26bc90")); err != nil {
		t.Errorf("no machine: %v", err)
	}
	if n := w.sim.VCenter("west").Requests()["FindAllByUuid"]; n > 0 {
		t.Errorf("%d searches in a vCenter whose index has everything", n)
	}
	w.sim.VCenter("east").Refuse()
	if err := w.fleet.SearchOutside(w.ctx, n3); err != nil {
		t.Errorf("a vCenter that cannot be asked: %v", err)
	}
}

// TestDestroyedBeforeItIsToldOf: a machine outside of the configured datacenters is
// destroyed after it was read, and before the vCenter looks at the list of machines
// that it is on. No change tells of that.
func TestDestroyedBeforeItIsToldOf(t *testing.T) {
	t.Parallel()
	opts := slow
	opts.TagRefresh = time.Second // which is when the vCenter is asked
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
