package inventory_test

import (
	"errors"
	"strings"
	"testing"

	"vzones/topology"
	"vzones/vcenter/inventory"
)

// TestPowerThatCannotBeRead: of the machine that the Node was found as, while another
// one runs.
func TestPowerThatCannotBeRead(t *testing.T) {
	u := mustUUID(t, "422e4956-ad22-1139-6d72-59cc8f26bc90")
	west := stateOf("west", vm{id: "vm-1", uuid: u})
	states := []inventory.State{stateOf("east", vm{id: "vm-1", uuid: u, on: true}), west}
	id := inventory.Identity{UUIDs: []inventory.UUID{u}, Recorded: topology.Ref{VCenter: "west", Type: "VirtualMachine", ID: "vm-1"}}
	if m, err := inventory.Find(states, id); err != nil || m.Ref.VCenter != "east" {
		t.Errorf("off: %v, %v", m, err)
	}
	west.Snapshot.Machines["vm-1"].Power = inventory.PowerUnknown
	if m, err := inventory.Find(states, id); !errors.Is(err, topology.ErrUnknown) || !strings.Contains(err.Error(), "power state") {
		t.Errorf("on a host that is disconnected: %v, %v", m, err)
	}
	// The index still says that one runs whose host is disconnected. That is no evidence.
	east, gone := stateOf("east", vm{id: "vm-1", uuid: u, on: true}), stateOf("west")
	east.Snapshot.Machines["vm-1"].Power = inventory.PowerUnknown
	if m, err := inventory.Find([]inventory.State{east, gone}, id); !errors.Is(err, topology.ErrUnknown) || !strings.Contains(err.Error(), "power state") {
		t.Errorf("the other one on a host that is disconnected: %v, %v", m, err)
	}
	delete(west.Snapshot.Machines, "vm-1")
	if m, err := inventory.Find(states, id); !errors.Is(err, topology.ErrUnknown) || !strings.Contains(err.Error(), "details are not read yet") {
		t.Errorf("before its details are read: %v, %v", m, err)
	}
}
