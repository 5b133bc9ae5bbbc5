package placement

import (
	"errors"
	"strings"
	"testing"

	"vzones/config"
	"vzones/provider/nodeinfo"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// twoEntries are states of one vCenter, and what is above a machine that the second one
// shows.
func twoEntries() (states []inventory.State, m *inventory.Machine) {
	ref := topology.Ref{VCenter: "second", Type: "VirtualMachine", ID: "vm-1"}
	datacenter := &topology.Object{Ref: topology.Ref{VCenter: "second", Type: "Datacenter", ID: "datacenter-2"}, Name: "dc", Path: "/dc"}
	root := &topology.Object{Ref: topology.Ref{VCenter: "second", Type: "Folder", ID: "group-d1"}, Name: "Datacenters", Path: "/"}
	m = &inventory.Machine{Ref: ref, UUID: inventory.UUID{1}, Paths: []topology.Path{
		{Kind: topology.ComputePath, Objects: []*topology.Object{datacenter, root}},
		{Kind: topology.FolderPath, Objects: []*topology.Object{datacenter, root}},
	}}
	of := func(name string) inventory.State {
		return inventory.State{VCenter: name, Address: "vc:443", Snapshot: &inventory.Snapshot{VCenter: name, Instance: "i"}}
	}
	return []inventory.State{of("first"), of("second"), {VCenter: "other", Address: "other:443"}}, m
}

// TestTheVCenterHasOneName: what is above a machine is of the first entry of its vCenter,
// whichever shows it and whether or not the first one was ever read.
func TestTheVCenterHasOneName(t *testing.T) {
	policy := topology.Policy{Rules: topology.Rules{{Label: topology.LabelZone, Inventory: topology.InventoryVCenter, Required: true}}}
	states, m := twoEntries()
	for range 2 {
		placement, err := New(nil, &config.Config{}, Options{}).resolve(aNode("n"), &policy, states, m)
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

// TestRecordInAnOutage: a record that names another entry of the machine's vCenter stays as
// long as that one fails, and no longer.
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
	if got := location(states, aNode("n"), m, states[1].Snapshot); got[nodeinfo.KeyMachine] != "second/vm-1" || got[nodeinfo.KeyVCenter] != "i" {
		t.Errorf("a new Node gets %v", got)
	}
	for name, change := range map[string]func(*inventory.Identity){
		"of another machine":     func(id *inventory.Identity) { id.Recorded.ID = "vm-2" },
		"of another vCenter":     func(id *inventory.Identity) { id.RecordedInstance = "j" },
		"of an unknown vCenter":  func(id *inventory.Identity) { id.RecordedInstance = "" },
		"of an entry that is no": func(id *inventory.Identity) { id.Recorded.VCenter = "gone" },
	} {
		before := id
		if change(&id); is() {
			t.Errorf("one %s stays", name)
		}
		id = before
	}
}

// TestHiddenCategory: a category that its vCenter does not show is unknown for a machine, never missing, and the
// other vCenters decide only what is said of it.
func TestHiddenCategory(t *testing.T) {
	policy := topology.Policy{Rules: topology.Rules{{Label: topology.LabelZone, Category: "zone", Required: true}}, Paths: []topology.PathKind{topology.ComputePath}}
	host := &topology.Object{Ref: topology.Ref{VCenter: "one", Type: "HostSystem", ID: "host-1"}, Path: "/dc/host/h"}
	m := &inventory.Machine{Ref: topology.Ref{VCenter: "one", Type: "VirtualMachine", ID: "vm-1"}, Paths: []topology.Path{{Kind: topology.ComputePath, Objects: []*topology.Object{host}}}}
	hidden, shown := []string{"zone"}, []string(nil)
	for _, c := range []struct {
		one, two []string // that the vCenters do not show
		says     string
	}{
		{shown, hidden, "no tag of category"},
		{hidden, shown, `vCenter "one" has no tag category "zone"`},
		{hidden, hidden, `No vCenter has the tag category "zone"`},
	} {
		states := []inventory.State{{VCenter: "two", Snapshot: &inventory.Snapshot{InvisibleCategories: c.two}}, {VCenter: "one", Snapshot: &inventory.Snapshot{InvisibleCategories: c.one}}}
		_, err := New(nil, &config.Config{}, Options{}).resolve(aNode("n"), &policy, states, m)
		if err == nil || !strings.HasPrefix(err.Error(), c.says) || errors.Is(err, topology.ErrNoCategory) != (c.one != nil) || errors.Is(err, topology.ErrMissing) != (c.one == nil) {
			t.Errorf("hidden %v and %v: %v", c.one, c.two, err)
		}
	}
}
