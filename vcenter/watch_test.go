package vcenter

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// slow are timings under which only the watch can have brought a change.
var slow = Options{Requirements: Requirements{Tags: true}, Timeout: patience * 5 * time.Second, TagRefresh: time.Hour, RetryMin: 20 * time.Millisecond, RetryMax: 100 * time.Millisecond}

func TestTheWatchBringsMoves(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, slow, nil)
	id := w.id("n1")
	w.fleet.Follow([]inventory.Identity{id})
	w.found(id)
	n2, err := w.sim.Machine("n2")
	if err != nil {
		t.Fatal(err)
	}
	east := w.sim.VCenter("east")
	if err := east.MoveVM("n1", n2.Host); err != nil {
		t.Fatal(err)
	}
	w.until("n1 in zone b", func([]inventory.State) bool { return w.zone(id) == "east/b" })
	if err := east.Rename("n1", "renamed"); err != nil {
		t.Fatal(err)
	}
	w.until("n1 renamed", func([]inventory.State) bool { return strings.HasSuffix(w.found(id).InventoryPath, "/renamed") })
	if err := east.Rename("/prod", "test"); err != nil {
		t.Fatal(err)
	}
	w.until("the folder renamed", func([]inventory.State) bool { return w.found(id).Datacenter == "/test/dc1" })
}

func TestMachinesComeAndGo(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, slow, nil)
	w.fleet.Follow([]inventory.Identity{w.id("n1")})
	w.found(w.id("n1"))
	if err := w.sim.VCenter("west").Create("dc1", fleet.VMSpec{Name: "new", Cluster: "c1"}); err != nil {
		t.Fatal(err)
	}
	id := w.id("new")
	w.fleet.Follow([]inventory.Identity{w.id("n1"), id})
	if got := w.zone(id); got != "west/a" {
		w.until("new in zone a", func([]inventory.State) bool { return w.zone(id) == "west/a" })
	}
	w.fleet.Follow([]inventory.Identity{id})
	w.until("n1 followed no more", func(states []inventory.State) bool { return len(states[0].Snapshot.Machines) == 0 })
	if err := w.sim.VCenter("west").Destroy("new"); err != nil {
		t.Fatal(err)
	}
	w.until("new gone", func(states []inventory.State) bool {
		_, err := w.find(states, id)
		return errors.Is(err, topology.ErrAbsent)
	})
}

func TestADatacenterThatIsRenamedIntoTheConfiguration(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, slow, func(_ *fleet.Fleet, cfgs []config.VCenter) {
		cfgs[0].Datacenters = []string{"dc2", "later"}
	})
	n1, n3 := w.id("n1"), w.id("n3")
	w.fleet.Follow([]inventory.Identity{n1, n3})
	w.found(n3)
	if _, err := w.find(w.fleet.States(), n1); !errors.Is(err, topology.ErrUnknown) {
		t.Errorf("n1 is %v", err)
	}
	if err := w.sim.VCenter("east").Rename("/prod/dc1", "later"); err != nil {
		t.Fatal(err)
	}
	w.found(n1)
	if s := w.fleet.States()[0]; s.Snapshot.Incomplete != nil {
		t.Errorf("still incomplete: %v", s.Snapshot.Incomplete)
	}
	if n := w.sim.VCenter("east").Requests()["Login"]; n != 1 {
		t.Errorf("%d logins", n)
	}
}

// TestABrokenConnectionKeepsTheSession: what the network breaks is taken up
// with the session that is there, so that none is left behind.
func TestABrokenConnectionKeepsTheSession(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, quick, nil)
	id := w.id("n1")
	w.fleet.Follow([]inventory.Identity{id})
	w.found(id)
	east := w.sim.VCenter("east")
	for i := range 5 {
		east.Refuse()
		w.until("error", func(states []inventory.State) bool { return states[0].Err != nil })
		if got := w.zone(id); got != "east/a" {
			t.Errorf("while east refuses connections n1 is in %s", got)
		}
		// What changes meanwhile is seen afterResponse.
		if err := east.Retag("c1", "zone", fmt.Sprint("z", i)); err != nil {
			t.Fatal(err)
		}
		if err := east.Recover(); err != nil {
			t.Fatal(err)
		}
		w.until("recovery", func(states []inventory.State) bool { return states[0].Err == nil })
		w.until("the new zone", func([]inventory.State) bool { return w.zone(id) == fmt.Sprint("east/z", i) })
		if err := east.Retag("c1", "zone", "a"); err != nil {
			t.Fatal(err)
		}
		w.until("the old zone", func([]inventory.State) bool { return w.zone(id) == "east/a" })
	}
	if n := east.SOAPSessions(); n != 1 {
		t.Errorf("%d sessions", n)
	}
	if n := east.Requests()["Login"]; n != 1 {
		t.Errorf("%d logins", n)
	}
}

// TestSessionsEndedTenTimes: no Node is lost meanwhile, and no session left.
func TestSessionsEndedTenTimes(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, quick, nil)
	ids := []inventory.Identity{w.id("n1"), w.id("n2"), w.id("n3")}
	w.fleet.Follow(ids)
	for _, id := range ids {
		w.found(id)
	}
	east := w.sim.VCenter("east")
	for range 10 {
		logins := east.Requests()["Login"]
		east.EndSessions()
		w.until("a new session", func(states []inventory.State) bool {
			for _, id := range ids {
				if _, err := w.find(states, id); err != nil {
					t.Errorf("lost meanwhile: %v", err)
				}
			}
			return east.Requests()["Login"] > logins && states[0].Err == nil
		})
	}
	w.stop()
	if n := east.Sessions(); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

func TestAnEmptyVCenter(t *testing.T) {
	t.Parallel()
	w := run(t, "vcenters: [{name: east, datacenters: [{name: dc}]}]", slow, nil)
	w.until("a snapshot", func(states []inventory.State) bool { return states[0].Snapshot != nil })
	_, err := w.find(w.fleet.States(), identity(t, "11111111-2222-3333-4444-555555555555"))
	if !errors.Is(err, topology.ErrAbsent) {
		t.Errorf("got %v", err)
	}
}

// TestSteadyStateCost: what nothing changes in costs polls and tag refreshes.
func TestSteadyStateCost(t *testing.T) {
	t.Parallel()
	opts := quick
	opts.TagRefresh = 50 * time.Millisecond
	w := run(t, twoVCenters, opts, nil)
	id := w.id("n1")
	w.fleet.Follow([]inventory.Identity{id})
	w.found(id)
	w.until("n1 placed", func([]inventory.State) bool { return w.zone(id) == "east/a" })
	east := w.sim.VCenter("east")
	const list = "POST /com/vmware/cis/tagging/tag-association?~action=list-attached-tags-on-objects"
	w.settled()
	east.ResetRequests()
	w.until("ten tag refreshes", func([]inventory.State) bool { return east.Requests()[list] >= 10 })
	for call, n := range east.Requests() {
		if call != list && call != "WaitForUpdatesEx" {
			t.Errorf("%s was called %d times though nothing has changed", call, n)
		}
	}
}
