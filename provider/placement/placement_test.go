package placement

import (
	"errors"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/config"
	"vzones/provider/nodeinfo"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

const uuidA = "422e4956-ad22-1139-6d72-59cc8f26bc90"

func mustUUID(s string) inventory.UUID {
	u, err := inventory.ParseUUID(s)
	if err != nil {
		panic(err)
	}
	return u
}

// aNode returns an uninitialized Node.
func aNode(name string, changes ...func(*v1.Node)) *v1.Node {
	n := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)},
		Spec:       v1.NodeSpec{Taints: []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Effect: v1.TaintEffectNoSchedule}}},
	}
	for _, change := range changes {
		change(n)
	}
	return n
}

// runs initializes a Node with the VM uuidA.
func runs(n *v1.Node) { n.Spec.ProviderID, n.Spec.Taints = "vsphere://"+uuidA, nil }

// both returns each address as an internal and an external address.
func both(addresses ...string) []v1.NodeAddress {
	var all []v1.NodeAddress
	for _, a := range addresses {
		all = append(all, v1.NodeAddress{Type: v1.NodeInternalIP, Address: a}, v1.NodeAddress{Type: v1.NodeExternalIP, Address: a})
	}
	return all
}

// memories implements Memories. Its Nodes are never deleted.
type memories struct {
	sync.Mutex
	of map[types.UID]*Memory
}

func (m *memories) Memory(n *v1.Node) *Memory {
	if m.of[n.UID] == nil {
		m.of[n.UID] = &Memory{}
	}
	return m.of[n.UID]
}

func (m *memories) ExistingMemory(node types.UID) *Memory { return m.of[node] }

// aPlacer returns a Placer that never looks up another Node.
func aPlacer() (*Placer, *memories) {
	m := &memories{of: map[types.UID]*Memory{}}
	return New(nil, nil, m, &config.Config{}, Options{}), m
}

// TestReservationsEnd: a reservation ends when the Node is deleted, shows the values or gets new ones, and
// after reservedFor.
func TestReservationsEnd(t *testing.T) {
	one, two := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("2001:db8::2")
	for name, c := range map[string]struct {
		happens func(*Placer, *memories)
		// The holders of the two addresses afterwards.
		one, two string
		vm       bool
	}{
		"nothing":         {func(_ *Placer, _ *memories) {}, "a", "a", true},
		"shows one":       {func(p *Placer, _ *memories) { p.ReleaseShown(aNode("a", withAddress("10.0.0.1"))) }, "", "a", true},
		"kubelet writes":  {func(p *Placer, _ *memories) { p.ReleaseShown(aNode("a")) }, "a", "a", true},
		"shows addresses": {func(p *Placer, _ *memories) { p.ReleaseShown(aNode("a", withAddress("10.0.0.1", "2001:db8::2"))) }, "", "", true},
		"shows VM":        {func(p *Placer, _ *memories) { p.ReleaseShown(aNode("a", runs)) }, "a", "a", false},
		"shows all":       {func(p *Placer, _ *memories) { p.ReleaseShown(aNode("a", runs, withAddress("10.0.0.1", "2001:db8::2"))) }, "", "", false},
		"gets one":        {func(p *Placer, _ *memories) { p.reservations.add(aNode("a"), inventory.UUID{}, both("10.0.0.1")) }, "a", "", true},
		"is gone":         {func(_ *Placer, m *memories) { delete(m.of, "uid-a") }, "", "", false},
		"long ago":        {func(_ *Placer, _ *memories) { time.Sleep(reservedFor) }, "", "", false},
		"another changes": {func(p *Placer, _ *memories) { p.ReleaseShown(aNode("b", runs, withAddress("10.0.0.1"))) }, "a", "a", true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, m := aPlacer()
				p.reservations.add(aNode("a"), mustUUID(uuidA), both("10.0.0.1", "2001:db8::2"))
				c.happens(p, m)
				// This check is first, because reservations.holderOf removes expired reservations.
				if got := p.reservations.get("uid-a").vm == mustUUID(uuidA); got != c.vm {
					t.Errorf("the VM is reserved: %t, want %t", got, c.vm)
				}
				if got := p.reservations.holderOf(one, aNode("b")); got != c.one {
					t.Errorf("the first address is %q's, want %q", got, c.one)
				}
				if got := p.reservations.holderOf(two, aNode("b")); got != c.two {
					t.Errorf("the second address is %q's, want %q", got, c.two)
				}
				if p.reservations.holderOf(one, aNode("a")) != "" {
					t.Error("the Node is refused its own address")
				}
				if left := c.one+c.two != "" || c.vm; len(p.reservations.index) > 0 != left {
					t.Errorf("reserving %v", p.reservations.index)
				}
			})
		})
	}
}

// withAddress gives a Node internal and external addresses.
func withAddress(addresses ...string) func(*v1.Node) {
	return func(n *v1.Node) { n.Status.Addresses = both(addresses...) }
}

// twoEntries returns the states of two entries of one vCenter, with a VM that the second shows, and of
// another vCenter.
func twoEntries() (states []inventory.State, m *inventory.VM) {
	ref := topology.Ref{VCenter: "second", Type: "VirtualMachine", ID: "vm-1"}
	datacenter := &topology.Object{Ref: topology.Ref{VCenter: "second", Type: "Datacenter", ID: "datacenter-2"}, Name: "dc", Path: "/dc"}
	root := &topology.Object{Ref: topology.Ref{VCenter: "second", Type: "Folder", ID: "group-d1"}, Name: "Datacenters", Path: "/"}
	m = &inventory.VM{Ref: ref, UUID: inventory.UUID{1}, Paths: []topology.Path{
		{Kind: topology.ComputePath, Objects: []*topology.Object{datacenter, root}},
		{Kind: topology.FolderPath, Objects: []*topology.Object{datacenter, root}},
	}}
	of := func(name string) inventory.State {
		return inventory.State{VCenter: name, Address: "vc:443", Snapshot: &inventory.Snapshot{VCenter: name, Instance: "i"}}
	}
	return []inventory.State{of("first"), of("second"), {VCenter: "other", Address: "other:443"}}, m
}

// TestTheVCenterHasOneName: objects above a VM have the name of the vCenter's first entry, whichever entry
// shows them, even if the first was never read.
func TestTheVCenterHasOneName(t *testing.T) {
	policy := topology.Policy{Rules: topology.Rules{{Label: topology.LabelZone, Inventory: topology.InventoryVCenter, Required: true}}}
	states, m := twoEntries()
	for range 2 {
		p, _ := aPlacer()
		placement, err := p.place(aNode("n"), &policy, states, m)
		if err != nil || placement.Value(topology.LabelZone) != "first" || placement.Decisions[0].By.Ref.VCenter != "first" {
			t.Errorf("got %v, %v", placement, err)
		}
		states[0].Snapshot, states[0].Err = nil, errors.New("the password is rejected")
	}
	if m.Paths[0].Objects[0].Ref.VCenter != "second" {
		t.Error("the snapshot was changed")
	}
	p := Paths(states, m.Ref.VCenter, m.Paths)
	if p[0].Objects[0] != p[1].Objects[0] {
		t.Error("one object became two")
	}
	if p := Paths(states[1:], m.Ref.VCenter, m.Paths); p[0].Objects[0] != m.Paths[0].Objects[0] {
		t.Error("copied without need")
	}
}

// TestRecordInAnOutage: a record that names another entry of the VM's vCenter is kept only while that entry
// fails.
func TestRecordInAnOutage(t *testing.T) {
	states, m := twoEntries()
	id := inventory.Identity{UUIDs: []inventory.UUID{m.UUID}, Recorded: topology.Ref{VCenter: "first", Type: "VirtualMachine", ID: "vm-1"}, RecordedInstance: "i"}
	is := func() bool { return isRecorded(states, id, m, states[1].Snapshot) }
	if is() {
		t.Error("stays although the entry is well")
	}
	states[0].Err = errors.New("down")
	if !is() {
		t.Error("is written during an outage")
	}
	if got := locationAnnotations(states, aNode("n"), m, states[1].Snapshot); got[nodeinfo.KeyVM] != "second/vm-1" || got[nodeinfo.KeyVCenter] != "i" {
		t.Errorf("a new Node gets %v", got)
	}
	for name, change := range map[string]func(*inventory.Identity){
		"of another VM":          func(id *inventory.Identity) { id.Recorded.ID = "vm-2" },
		"of another vCenter":     func(id *inventory.Identity) { id.RecordedInstance = "j" },
		"of an entry that is no": func(id *inventory.Identity) { id.Recorded.VCenter = "gone" },
	} {
		before := id
		if change(&id); is() {
			t.Errorf("one %s stays", name)
		}
		id = before
	}
}

// TestHiddenCategory: a category that the VM's vCenter hides is unknown, never missing. The other vCenters
// affect only the message.
func TestHiddenCategory(t *testing.T) {
	policy := topology.Policy{Rules: topology.Rules{{Label: topology.LabelZone, Category: "zone", Required: true}}, Paths: []topology.PathKind{topology.ComputePath}}
	host := &topology.Object{Ref: topology.Ref{VCenter: "one", Type: "HostSystem", ID: "host-1"}, Path: "/dc/host/h"}
	m := &inventory.VM{Ref: topology.Ref{VCenter: "one", Type: "VirtualMachine", ID: "vm-1"}, Paths: []topology.Path{{Kind: topology.ComputePath, Objects: []*topology.Object{host}}}}
	hidden, shown := []string{"zone"}, []string(nil)
	for _, c := range []struct {
		// The categories that each vCenter hides.
		one, two []string
		says     string
	}{
		{shown, hidden, "no tag of category"},
		{hidden, shown, `vCenter "one" has no tag category "zone"`},
		{hidden, hidden, `No vCenter has a tag category "zone"`},
	} {
		states := []inventory.State{{VCenter: "two", Snapshot: &inventory.Snapshot{InvisibleCategories: c.two}}, {VCenter: "one", Snapshot: &inventory.Snapshot{InvisibleCategories: c.one}}}
		p, _ := aPlacer()
		_, err := p.place(aNode("n"), &policy, states, m)
		if err == nil || !strings.HasPrefix(err.Error(), c.says) || errors.Is(err, topology.ErrNoCategory) != (c.one != nil) || errors.Is(err, topology.ErrMissing) != (c.one == nil) {
			t.Errorf("hidden %v and %v: %v", c.one, c.two, err)
		}
	}
}
