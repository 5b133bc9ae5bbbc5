package vcenter

import (
	"errors"
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

// followedOnly has all vCenters watched with index: followed.
func followedOnly(_ *fleet.Fleet, cfgs []config.VCenter) {
	for i := range cfgs {
		cfgs[i].Followed = true
	}
}

// both is the identity of a Node that was not found yet: its UUID may be in either
// byte order.
func both(id inventory.Identity) inventory.Identity {
	id.UUIDs = []inventory.UUID{id.UUIDs[0].Swapped(), id.UUIDs[0]}
	return id
}

// in waits for a machine to be in a zone, whose tag is read after the machine.
func (w *world) in(id inventory.Identity, zone string) {
	w.Helper()
	w.until(id.String()+" in "+zone, func([]inventory.State) bool { return w.zone(id) == zone })
}

// TestFollowedAloneAreWatched: no view has all machines, and the index those that
// are followed.
func TestFollowedAloneAreWatched(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, slow, followedOnly)
	n1, w1, nobody := w.id("n1"), w.id("w1"), identity(t, stranger)
	w.fleet.Follow([]inventory.Identity{both(n1), w1, nobody})
	w.in(n1, "east/a")
	w.in(w1, "west/a")
	w.until("absence of a stranger", func(states []inventory.State) bool { return w.outcome(states, nobody, topology.ErrAbsent) })
	for _, s := range w.fleet.States() {
		if n := len(s.Snapshot.Index); n != 1 {
			t.Errorf("%s: %d UUIDs in the index", s.VCenter, n)
		}
		if n := w.sim.VCenter(s.VCenter).Requests()["CreateContainerView"]; n > 0 {
			t.Errorf("%s: %d container views", s.VCenter, n)
		}
	}
	// One more Node costs two searches in each vCenter, and little else. The stranger is
	// searched for again and again.
	w.fleet.Follow([]inventory.Identity{both(n1), w1})
	w.settled()
	began, n2 := time.Now(), w.id("n2")
	w.fleet.Follow([]inventory.Identity{both(n1), w1, both(n2)})
	w.in(n2, "east/b")
	// A last search for the stranger may have been under way. What is not found is searched for again.
	searches := 4 + 2*int(time.Since(began)/time.Second)
	for name, most := range map[string]map[string]int{
		"east": {"FindAllByUuid": searches, "ModifyListView": 2, "RetrievePropertiesEx": 1},
		"west": {"FindAllByUuid": searches},
	} {
		for kind, n := range w.sim.VCenter(name).Requests() {
			if n > most[kind] && kind != "WaitForUpdatesEx" && !strings.Contains(kind, " /") {
				t.Errorf("%s: %d times %s", name, n, kind)
			}
		}
	}
	w.fleet.Follow([]inventory.Identity{both(n2)})
	w.until("n1 left", func(states []inventory.State) bool {
		return slices.Collect(maps.Keys(states[0].Snapshot.Index))[0] == n2.UUIDs[0] && len(states[0].Snapshot.Index) == 1 && len(states[1].Snapshot.Index) == 0
	})
	if got := w.fleet.States()[0].Snapshot.Searched.UUIDs; len(got) != 2 {
		t.Errorf("searched for %v", got)
	}
}

// TestSearchesForWhatIsNotThereYet: a Node may register before its machine is there.
func TestSearchesForWhatIsNotThereYet(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, slow, followedOnly)
	late := identity(t, stranger)
	w.fleet.Follow([]inventory.Identity{late})
	w.until("absence", func(states []inventory.State) bool { return w.outcome(states, late, topology.ErrAbsent) })
	if err := w.sim.VCenter("west").Create("dc1", fleet.VMSpec{Name: "late", UUID: stranger}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if m := w.found(late); m.Name != "late" {
		t.Errorf("found %+v", m)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("found after %v", took)
	}
}

// TestASecondMachineIsSeenWhenItIsSearchedFor, in the same vCenter and in another.
func TestASecondMachineIsSeenWhenItIsSearchedFor(t *testing.T) {
	t.Parallel()
	for _, vcenter := range []string{"east", "west"} {
		t.Run(vcenter, func(t *testing.T) {
			opts := slow
			opts.SearchEvery = 500 * time.Millisecond
			w := run(t, twoVCenters, opts, followedOnly)
			n1 := w.id("n1")
			w.fleet.Follow([]inventory.Identity{n1})
			w.found(n1)
			if err := w.sim.VCenter(vcenter).Create("dc1", fleet.VMSpec{Name: "twin", UUID: n1.UUIDs[0].String()}); err != nil {
				t.Fatal(err)
			}
			w.until("both", func(states []inventory.State) bool { return w.outcome(states, n1, topology.ErrAmbiguous) })
			if err := w.sim.VCenter(vcenter).Destroy("twin"); err != nil {
				t.Fatal(err)
			}
			w.found(n1)
		})
	}
}

// TestMovedToAnotherVCenterIsFound soon after it has left the first, though both are
// searched again only after minutes.
func TestMovedToAnotherVCenterIsFound(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, slow, followedOnly)
	n1 := w.id("n1")
	w.fleet.Follow([]inventory.Identity{n1})
	w.found(n1)
	if err := w.sim.VCenter("west").Create("dc1", fleet.VMSpec{Name: "n1-moved", UUID: n1.UUIDs[0].String()}); err != nil {
		t.Fatal(err)
	}
	if err := w.sim.VCenter("east").Destroy("n1"); err != nil {
		t.Fatal(err)
	}
	w.until("n1 in west", func(states []inventory.State) bool {
		m, err := w.find(states, n1)
		return err == nil && m.Ref.VCenter == "west"
	})
}

// TestAbsenceOfFollowedMachines needs to know where the machine was.
func TestAbsenceOfFollowedMachines(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, slow, followedOnly)
	n1, n2, nobody := w.id("n1"), w.id("n2"), identity(t, stranger)
	was1, was2 := w.moid("n1"), w.moid("n2")
	w.fleet.Follow([]inventory.Identity{n1, known(n2, "east", was2)})
	w.found(n1)
	w.found(n2)
	if err := w.sim.VCenter("east").Destroy("n1"); err != nil {
		t.Fatal(err)
	}
	w.until("absence of n1", func(states []inventory.State) bool { return w.outcome(states, n1, topology.ErrAbsent) })
	seen := func(id inventory.Identity, vcenter, moid string) inventory.Identity {
		id.LastSeen = inventory.LastSeen{VCenter: vcenter, ID: moid, At: time.Now()}
		return id
	}
	for name, c := range map[string]struct {
		id   inventory.Identity
		want error
	}{
		"without a trace":                 {nobody, topology.ErrUnknown},
		"seen in a vCenter, not where":    {seen(nobody, "east", ""), topology.ErrUnknown},
		"known elsewhere than configured": {known(nobody, "south", was1), topology.ErrUnknown},
		"by the record":                   {known(nobody, "east", was1), nil},
		"by what this process saw":        {seen(nobody, "east", was1), nil},
		"by what the watch knows":         {n1, nil},
	} {
		if err := w.fleet.ConfirmAbsent(w.ctx, c.id); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What the process saw last counts beside an older record.
	if err := w.fleet.ConfirmAbsent(w.ctx, seen(known(n1, "east", was1), "east", was2)); err == nil {
		t.Error("the machine that was seen last is there, and its absence is confirmed")
	}

	// A machine that cannot be read keeps its place in the index, which a search does
	// not find, in this watch, in the next, and in another process.
	if err := w.sim.VCenter("east").SetConnection("n2", "inaccessible"); err != nil {
		t.Fatal(err)
	}
	n2 = known(n2, "east", was2) // which in another process counts for the Node that says so
	kept := func(when string, w *world) {
		t.Helper()
		w.until("n2 unreadable "+when, func(states []inventory.State) bool {
			if w.outcome(states, n2, topology.ErrAbsent) {
				t.Errorf("n2 is absent %s", when)
			}
			return w.outcome(states, n2, topology.ErrUnknown, inventory.ErrUnreadable) && inventory.IsIndexed(states, n2)
		})
	}
	kept("while it is watched", w)
	for range 2 {
		w.restarted()
		kept("in a new watch", w)
	}
	other := *w
	other.fleet = NewFleet(w.cfgs, FromFile, slow)
	other.changed = other.fleet.Subscribe()
	done := make(chan error)
	go func() { done <- other.fleet.Run(w.ctx) }()
	t.Cleanup(func() {
		w.stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	other.fleet.Follow([]inventory.Identity{n2})
	kept("in another process", &other)
}

// TestFollowedOutsideTheDatacenters: a search is in the whole vCenter, and what is
// outside is not the index's.
func TestFollowedOutsideTheDatacenters(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, slow, func(f *fleet.Fleet, cfgs []config.VCenter) {
		followedOnly(f, cfgs)
		cfgs[0].Datacenters = []string{"dc1"}
	})
	n1, n3 := w.id("n1"), w.id("n3")
	w.fleet.Follow([]inventory.Identity{n1, n3})
	w.found(n1)
	w.until("n3 outside", w.isOutside(n3, w.moid("n3")))
	w.to("n1", "n3")
	w.until("n1 outside too", func(states []inventory.State) bool {
		return w.outcome(states, n1, topology.ErrUnknown, inventory.ErrOutside) && len(states[0].Snapshot.Outside) == 2 && len(states[0].Snapshot.Index) == 0
	})
	w.to("n1", "n2")
	w.to("n3", "n2")
	w.found(n1)
	w.in(n3, "east/b")
}

// TestFollowedByHostName: without a UUID only the guest host name leads to a machine.
func TestFollowedByHostName(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, slow, followedOnly)
	east := w.sim.VCenter("east")
	if err := east.SetHostName("n1", "node-1"); err != nil {
		t.Fatal(err)
	}
	if err := east.SetHostName("n2", ""); err != nil {
		t.Fatal(err)
	}
	byHost, byName := inventory.Identity{Name: "node-1"}, inventory.Identity{Name: "n2"}
	w.fleet.Follow([]inventory.Identity{byHost, byName})
	if m := w.found(byHost); m.Name != "n1" {
		t.Errorf("found %+v", m)
	}
	w.until("absence of n2", func(states []inventory.State) bool { return w.outcome(states, byName, topology.ErrAbsent) })
	if err := east.SetHostName("n1", "node-2"); err != nil {
		t.Fatal(err)
	}
	w.until("absence of node-1", func(states []inventory.State) bool { return w.outcome(states, byHost, topology.ErrAbsent) })
}

// TestASearchThatFails is that vCenter's failure, and nobody else's.
func TestASearchThatFails(t *testing.T) {
	t.Parallel()
	for name, sick := range map[string]func(*fleet.VCenter){
		"faults": func(v *fleet.VCenter) { v.Fault("FindAllByUuid", &types.RuntimeFault{}) },
		"hangs":  (*fleet.VCenter).Hang,
	} {
		t.Run(name, func(t *testing.T) {
			w := run(t, twoVCenters, quick, followedOnly)
			w1, n1 := w.id("w1"), w.id("n1")
			w.fleet.Follow([]inventory.Identity{w1})
			w.found(w1)
			sick(w.sim.VCenter("east"))
			w.fleet.Follow([]inventory.Identity{w1, n1})
			w.until("east failing", func(states []inventory.State) bool {
				if w.outcome(states, n1, topology.ErrAbsent) {
					t.Error("n1 is absent")
				}
				return states[0].Err != nil
			})
			if states := w.fleet.States(); states[1].Err != nil {
				t.Errorf("west is failing: %v", states[1].Err)
			}
			if err := w.sim.VCenter("east").Recover(); err != nil {
				t.Fatal(err)
			}
			w.found(n1)
		})
	}
}

// TestNothingIsAbsentBeforeItIsSearchedFor in a watch that begins again.
func TestNothingIsAbsentBeforeItIsSearchedFor(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, slow, followedOnly)
	n1, n2 := w.id("n1"), w.id("n2")
	w.fleet.Follow([]inventory.Identity{n1, n2})
	w.found(n1)
	w.found(n2)
	east := w.sim.VCenter("east")
	for range 3 {
		east.EndSessions()
		w.restarted()
		for range 10 {
			if states := w.fleet.States(); w.outcome(states, n1) && states[0].Err == nil {
				_, err := w.find(states, n1)
				t.Fatalf("n1 is not found after a restart: %v", err)
			}
		}
	}
	// What was destroyed while nobody watched.
	east.EndSessions()
	if err := east.Destroy("n1"); err != nil {
		t.Fatal(err)
	}
	w.until("absence of n1", func(states []inventory.State) bool { return w.outcome(states, n1, topology.ErrAbsent) })
	w.found(n2)
}

// TestIndexChangedAtRunTime in both directions.
func TestIndexChangedAtRunTime(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, slow, nil)
	n1, n2 := w.id("n1"), w.id("n2")
	w.fleet.Follow([]inventory.Identity{n1})
	w.found(n1)
	for _, followed := range []bool{true, false, true} {
		cfgs := slices.Clone(w.cfgs)
		for i := range cfgs {
			cfgs[i].Followed = followed
		}
		w.fleet.Apply(cfgs, slow.Requirements)
		w.until("the other index", func(states []inventory.State) bool {
			return (states[0].Snapshot.Searched != nil) == followed && (len(states[0].Snapshot.Index) == 1) == followed
		})
		w.found(n1)
		w.fleet.Follow([]inventory.Identity{n1, n2})
		w.found(n2)
		w.fleet.Follow([]inventory.Identity{n1})
	}
}
