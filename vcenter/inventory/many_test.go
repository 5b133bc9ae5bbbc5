package inventory_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"vzones/topology"
	"vzones/vcenter/inventory"
)

// TestManyMachines: an error names three of many machines and how many more there are.
func TestManyMachines(t *testing.T) {
	u, err := inventory.ParseUUID("422e4956-ad22-1139-6d72-59cc8f26bc90")
	if err != nil {
		t.Fatal(err)
	}
	s := &inventory.Snapshot{VCenter: "east", Index: map[inventory.UUID][]inventory.Entry{}, Machines: map[string]*inventory.Machine{}}
	for i := range 301 {
		id := fmt.Sprint("vm-", i)
		s.Index[u] = append(s.Index[u], inventory.Entry{ID: id})
		s.Machines[id] = &inventory.Machine{InventoryPath: "/dc/vm/" + strings.Repeat("x", 1<<16)}
	}
	_, err = inventory.Find([]inventory.State{{VCenter: "east", Snapshot: s}}, inventory.Identity{UUIDs: []inventory.UUID{u}})
	if !errors.Is(err, topology.ErrAmbiguous) || len(err.Error()) > 1200 || !strings.Contains(err.Error(), "301 machines") || !strings.Contains(err.Error(), "and 298 more") {
		t.Errorf("%d bytes: %.1500v", len(err.Error()), err)
	}
}

// TestManyVCenters: an error names three of many vCenters, and has all of them.
func TestManyVCenters(t *testing.T) {
	var states []inventory.State
	for i := range 50 {
		name := fmt.Sprint("vc-", i)
		states = append(states, inventory.State{VCenter: name, Err: fmt.Errorf("vCenter %q: connection refused", name)})
	}
	u := inventory.UUID{1}
	_, err := inventory.Find(states, inventory.Identity{UUIDs: []inventory.UUID{u}})
	if !errors.Is(err, inventory.ErrUnreachable) || len(inventory.UnreachableIn(err)) != 50 || len(err.Error()) > 500 || !strings.Contains(err.Error(), "and 47 more") {
		t.Errorf("%d vCenters in %d bytes: %.600v", len(inventory.UnreachableIn(err)), len(err.Error()), err)
	}
}
