package inventory_test

import (
	"errors"
	"strings"
	"testing"

	"vzones/topology"
	"vzones/vcenter/inventory"
)

// TestNothingIsAbsentBeforeItIsLookedFor by a name.
func TestNothingIsAbsentBeforeItIsLookedFor(t *testing.T) {
	states := []inventory.State{stateOf("east")}
	if _, err := inventory.Find(states, inventory.Identity{Name: "n1"}); !errors.Is(err, topology.ErrAbsent) {
		t.Errorf("a name that was looked for: %v", err)
	}
	_, err := inventory.Find(states, inventory.Identity{Name: "other"})
	if !errors.Is(err, topology.ErrUnknown) || !strings.Contains(err.Error(), `vCenter "east" is still being searched for the machine`) {
		t.Errorf("a name that was not: %v", err)
	}
}
