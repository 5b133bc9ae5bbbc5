package vcenter

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/test/fleet"
	"vzones/topology"
	"vzones/vcenter/inventory"
	"vzones/vcenter/vcentertest"
)

func TestVMsAreReadWithEverythingAboveThem(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, quick, nil)
	w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("n2"), w.id("n3"), w.id("w1")})
	for vm, want := range map[string]string{"n1": "east/a", "n2": "east/b", "n3": "east/c", "w1": "west/a"} {
		w.in(w.id(vm), want)
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

func TestOnlyFollowedVMsAreReadInFull(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, quick, nil)
	w.fleet.Follow([]inventory.Identity{w.id("n1")})
	w.found(w.id("n1"))
	for _, s := range w.fleet.States() {
		if s.VCenter == "east" && (len(s.Snapshot.VMs) != 1 || s.Snapshot.Len() != 5) {
			t.Errorf("%d VMs, %d entries", len(s.Snapshot.VMs), s.Snapshot.Len())
		}
	}
	if _, err := w.find(w.fleet.States(), w.id("n2")); !errors.Is(err, topology.ErrUnknown) {
		t.Errorf("a VM whose details are not read: %v", err)
	}
}

// TestRequestsFollowPagesNotVMs compares the start with few and with many VMs.
func TestRequestsFollowPagesNotVMs(t *testing.T) {
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
`, "COUNT", count), Options{Requirements: Requirements{Tags: true}, Timeout: 5 * time.Minute, PollTime: time.Hour, TagRefresh: time.Hour}, nil)
		var ids []inventory.Identity
		for _, m := range w.sim.VMs() {
			ids = append(ids, identity(t, m.UUID))
		}
		w.fleet.Follow(ids)
		for _, id := range ids {
			w.in(id, "east/a")
		}
		t.Logf("%s VMs: %v", count, w.sim.VCenter("east").Requests())
		return w.sim.VCenter("east").Total()
	}
	few, many := cost("3"), cost("300")
	// A page has 100 objects. A VM is on a page of the index and on a page of the details.
	if few > 20 || many > few+10 {
		t.Errorf("%d requests for 3 VMs, %d for 300", few, many)
	}
}

// TestAnswersThatAreTooLarge checks that smaller requests follow and nothing is lost, with pages and with an
// account that may not request further pages.
func TestAnswersThatAreTooLarge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before  func(*fleet.VCenter)
		isLarge func(body string) bool
		pages   []string // The expected pages.
	}{
		"pages": {
			func(*fleet.VCenter) {}, func(body string) bool { return strings.Contains(body, ">1000</maxObject") },
			[]string{">1000</maxObjects>", ">100</maxObjects>", ">1000</maxObjectUpdates>", ">100</maxObjectUpdates>"},
		},
		"at once": {
			func(v *fleet.VCenter) {
				v.LimitPages(1)
				v.Fault("ContinueRetrievePropertiesEx", &types.NoPermission{PrivilegeId: "System.Read"})
			},
			func(body string) bool {
				return strings.Contains(body, "<RetrieveProperties ") && strings.Count(body, "<objectSet>") > 1
			},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			sim, f, cfg := vcentertest.EastBehindFront(t)
			c.before(sim.VCenter("east"))
			f.Answer(func(w http.ResponseWriter, _ *http.Request, body string) bool {
				if !c.isLarge(body) {
					return false
				}
				_, err := io.WriteString(w, strings.Repeat(" ", 9<<20))
				return err == nil
			})
			w := follow(t, sim, cfg, FromFile, slow)
			id := w.id("n1")
			w.fleet.Follow([]inventory.Identity{id})
			w.until("n1 placed", func([]inventory.State) bool { return w.zone(id) == "east/a" })
			session, n := w.fleet.Sessions()[0].Session, 0
			err := session.Retrieve(w.ctx, types.PropertyFilterSpec{
				PropSet:   []types.PropertySpec{{Type: "ManagedEntity", PathSet: []string{"name"}}},
				ObjectSet: []types.ObjectSpec{{Obj: session.Client().ServiceContent.RootFolder}, {Obj: types.ManagedObjectReference{Type: "VirtualMachine", Value: w.moid("n1")}}},
			}, func(*types.ObjectContent) { n++ })
			if err != nil || n != 2 {
				t.Errorf("read %d objects, %v", n, err)
			}
			for _, page := range c.pages {
				if len(f.Requests("/sdk", page)) == 0 {
					t.Errorf("no page of %s was asked for", page)
				}
			}
		})
	}
}
