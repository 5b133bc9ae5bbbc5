package vcenter

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

func TestMachinesAreReadWithEverythingAboveThem(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, quick, nil)
	w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("n2"), w.id("n3"), w.id("w1")})
	for machine, want := range map[string]string{"n1": "east/a", "n2": "east/b", "n3": "east/c", "w1": "west/a"} {
		if got := w.zone(w.id(machine)); got != want {
			t.Errorf("%s is in %s, want %s", machine, got, want)
		}
	}
	m := w.found(w.id("n2"))
	if m.Ref.VCenter != "east" || m.Name != "n2" || m.HostName != "n2" || m.InventoryPath != "/prod/dc1/vm/x/y/n2" || m.Datacenter != "/prod/dc1" {
		t.Errorf("read %+v", m)
	}
	if m.Power != inventory.PowerOn || m.CPUs != 4 || m.MemoryMB != 8192 || m.GuestID != "ubuntu64Guest" || len(m.NICs) != 1 || len(m.NICs[0].Addresses) != 1 {
		t.Errorf("read %+v", m)
	}
	var kinds []topology.PathKind
	for _, p := range m.Paths {
		kinds = append(kinds, p.Kind)
		if last := p.Objects[len(p.Objects)-1]; p.Broken != nil || last.Path != "/" {
			t.Errorf("the %s path ends at %s: %v", p.Kind, last, p.Broken)
		}
	}
	if len(kinds) != 3 || kinds[0] != topology.ComputePath || kinds[1] != topology.PoolPath || kinds[2] != topology.FolderPath {
		t.Errorf("paths %v", kinds)
	}
}

func TestEqualManagedObjectIDsAreKeptApart(t *testing.T) {
	t.Parallel()
	const one = `
- name: NAME
  datacenters:
  - name: dc1
    tags: {region: NAME}
    clusters: [{name: c1, tags: {zone: a}, hosts: 1}]
    vms: [{name: NODE, cluster: c1}]`
	w := run(t, "vcenters:"+strings.NewReplacer("NAME", "east", "NODE", "n1").Replace(one)+
		strings.NewReplacer("NAME", "west", "NODE", "w1").Replace(one), quick, nil)
	east, west := w.id("n1"), w.id("w1")
	w.fleet.Follow([]inventory.Identity{east, west})
	a, b := w.found(east), w.found(west)
	if a.Ref.ID != b.Ref.ID {
		t.Fatalf("the simulated vCenters have no equal IDs: %s and %s", a.Ref, b.Ref)
	}
	if a.Ref == b.Ref || a.Name != "n1" || b.Name != "w1" || w.zone(east) != "east/a" || w.zone(west) != "west/a" {
		t.Errorf("mixed up: %s is %s, %s is %s", a.Ref, a.Name, b.Ref, b.Name)
	}
}

func TestOnlyFollowedMachinesAreReadInFull(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, quick, nil)
	w.fleet.Follow([]inventory.Identity{w.id("n1")})
	w.found(w.id("n1"))
	for _, s := range w.fleet.States() {
		if s.VCenter == "east" && (len(s.Snapshot.Machines) != 1 || s.Snapshot.Len() != 5) {
			t.Errorf("%d machines, %d entries", len(s.Snapshot.Machines), s.Snapshot.Len())
		}
	}
	if _, err := w.find(w.fleet.States(), w.id("n2")); !errors.Is(err, topology.ErrUnknown) {
		t.Errorf("a machine whose details are not read: %v", err)
	}
}

func TestTemplatesAreNoMachines(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, quick, nil)
	w.fleet.Follow([]inventory.Identity{w.id("tmpl")})
	w.until("both vCenters read", func(states []inventory.State) bool {
		_, err := w.find(states, w.id("tmpl"))
		return errors.Is(err, topology.ErrAbsent)
	})
}

func TestNamesServeNodesWithoutUUID(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, quick, nil)
	w.fleet.Follow([]inventory.Identity{{Name: "W1"}})
	if m := w.found(inventory.Identity{Name: "W1"}); m.Name != "w1" || m.Ref.VCenter != "west" {
		t.Errorf("found %+v", m)
	}
}

// TestAMachineWithTheNamesOfTwoNodes: its guest reports one Node's name, and its own name is
// another Node's. It counts for both, so that no guest takes a machine from its Node.
func TestAMachineWithTheNamesOfTwoNodes(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, quick, nil)
	east := w.sim.VCenter("east")
	if err := east.SetHostName("n1", "n2"); err != nil {
		t.Fatal(err)
	}
	if err := east.SetHostName("n2", ""); err != nil {
		t.Fatal(err)
	}
	n1, n2 := inventory.Identity{Name: "n1"}, inventory.Identity{Name: "n2"}
	w.fleet.Follow([]inventory.Identity{n1, n2})
	if m := w.found(n1); m.Name != "n1" || m.HostName != "n2" {
		t.Errorf("found %+v", m)
	}
	w.until("two machines of n2", func(states []inventory.State) bool { return w.outcome(states, n2, topology.ErrAmbiguous) })
}

func TestChangesShow(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, quick, nil)
	id := w.id("n1")
	w.fleet.Follow([]inventory.Identity{id})
	w.found(id)
	east := w.sim.VCenter("east")
	n2, err := w.sim.Machine("n2")
	if err != nil {
		t.Fatal(err)
	}
	if err := east.MoveVM("n1", n2.Host); err != nil {
		t.Fatal(err)
	}
	w.until("n1 in zone b", func([]inventory.State) bool { return w.zone(id) == "east/b" })
	if err := east.Retag("c2", "zone", "z"); err != nil {
		t.Fatal(err)
	}
	w.until("n1 in zone z", func([]inventory.State) bool { return w.zone(id) == "east/z" })
	if err := east.PowerOff("n1"); err != nil {
		t.Fatal(err)
	}
	w.until("n1 off", func([]inventory.State) bool { return w.found(id).Power == inventory.PowerOff })
	if err := east.Destroy("n1"); err != nil {
		t.Fatal(err)
	}
	w.until("n1 gone", func(states []inventory.State) bool {
		_, err := w.find(states, id)
		return errors.Is(err, topology.ErrAbsent)
	})
	if err := w.fleet.ConfirmAbsent(w.ctx, id); err != nil {
		t.Errorf("not confirmed: %v", err)
	}
}

func TestConfiguredDatacentersLimitTheIndex(t *testing.T) {
	t.Parallel()
	for name, configured := range map[string]string{"by name": "dc2", "by path": "/dc2"} {
		t.Run(name, func(t *testing.T) {
			w := run(t, twoVCenters, quick, func(_ *fleet.Fleet, cfgs []config.VCenter) {
				cfgs[0].Datacenters = []string{configured}
			})
			w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("n3")})
			w.found(w.id("n3"))
			w.until("n1 not in the index", func(states []inventory.State) bool {
				_, err := w.find(states, w.id("n1"))
				return errors.Is(err, topology.ErrAbsent)
			})
			if err := w.fleet.ConfirmAbsent(w.ctx, w.id("n1")); err == nil || errors.Is(err, topology.ErrUnknown) {
				t.Errorf("a machine outside the configured datacenters counts as absent: %v", err)
			}
		})
	}
}

func TestDatacenterInFolder(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, quick, func(_ *fleet.Fleet, cfgs []config.VCenter) {
		cfgs[0].Datacenters = []string{"prod/dc1"}
		cfgs[1].Datacenters = []string{"dc1"}
	})
	w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("w1")})
	w.found(w.id("n1"))
	w.found(w.id("w1"))
}

func TestMissingDatacenterMakesTheIndexIncomplete(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, quick, func(_ *fleet.Fleet, cfgs []config.VCenter) {
		cfgs[0].Datacenters = []string{"dc2", "dc9"}
	})
	w.fleet.Follow([]inventory.Identity{w.id("n3")})
	w.found(w.id("n3"))
	_, err := w.find(w.fleet.States(), identity(t, "11111111-2222-3333-4444-555555555555"))
	if !errors.Is(err, topology.ErrUnknown) || !strings.Contains(err.Error(), `datacenter "dc9"`) {
		t.Errorf("got %v", err)
	}
}

func TestUnreadableMachinesMakeTheIndexIncomplete(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, quick, nil)
	n1, n2 := w.id("n1"), w.id("n2")
	w.fleet.Follow([]inventory.Identity{n1, n2})
	w.found(n1)
	w.found(n2)
	if err := w.sim.VCenter("east").SetConnection("n2", "inaccessible"); err != nil {
		t.Fatal(err)
	}
	w.until("n2 unknown", func(states []inventory.State) bool {
		_, err := w.find(states, n2)
		if errors.Is(err, topology.ErrAbsent) {
			t.Fatalf("a machine that cannot be read counts as absent: %v", err)
		}
		return errors.Is(err, topology.ErrUnknown)
	})
}

func TestUnreadableTagsAreNoMissingTags(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, quick, func(sim *fleet.Fleet, _ []config.VCenter) {
		sim.VCenter("east").FaultREST("*", http.StatusForbidden)
	})
	id := w.id("n1")
	w.fleet.Follow([]inventory.Identity{id})
	if _, err := topology.Resolve(policy, w.found(id).Paths); !errors.Is(err, topology.ErrUnknown) || !strings.Contains(err.Error(), "403") {
		t.Errorf("got %v", err)
	}
	if err := w.sim.VCenter("east").Recover(); err != nil {
		t.Fatal(err)
	}
	w.until("tags read", func([]inventory.State) bool {
		_, err := topology.Resolve(policy, w.found(id).Paths)
		return err == nil
	})
}

// TestRequestsFollowPagesNotMachines compares what start costs for few and for
// many machines.
func TestRequestsFollowPagesNotMachines(t *testing.T) {
	t.Parallel()
	cost := func(count string) int {
		w := run(t, strings.ReplaceAll(`
vcenters:
- name: east
  datacenters:
  - name: dc1
    tags: {region: east}
    clusters: [{name: c1, tags: {zone: a}, hosts: 4}]
    vms: [{name: n, count: COUNT}]
`, "COUNT", count), Options{Requirements: Requirements{Tags: true}}, nil)
		var ids []inventory.Identity
		for _, m := range w.sim.Machines() {
			ids = append(ids, identity(t, m.UUID))
		}
		w.fleet.Follow(ids)
		for _, id := range ids {
			w.found(id)
		}
		t.Logf("%s machines: %v", count, w.sim.VCenter("east").Requests())
		return w.sim.VCenter("east").Total()
	}
	few, many := cost("3"), cost("300")
	// A page has 100 objects; a machine is on one of the index and one of the
	// details.
	if few > 20 || many > few+10 {
		t.Errorf("%d requests for 3 machines, %d for 300", few, many)
	}
}

func TestDestroyedBetweenIndexAndDetails(t *testing.T) {
	t.Parallel()
	opts := quick
	w := run(t, twoVCenters, opts, nil)
	w.until("an index", func(states []inventory.State) bool { return states[0].Snapshot != nil && states[1].Snapshot != nil })
	n1, n2 := w.id("n1"), w.id("n2")
	if err := w.sim.VCenter("east").Destroy("n1"); err != nil {
		t.Fatal(err)
	}
	w.fleet.Follow([]inventory.Identity{n1, n2})
	w.found(n2)
	w.until("n1 gone", func(states []inventory.State) bool {
		_, err := w.find(states, n1)
		return errors.Is(err, topology.ErrAbsent)
	})
}
