package inventory_test

import (
	"fmt"
	"strings"
	"testing"

	"vzones/vcenter/inventory"
)

// TestCandidates: every machine that fits has a standing, and the chosen one is that of Find.
func TestCandidates(t *testing.T) {
	a, swapped := inventory.UUID{1, 2, 3, 4}, inventory.UUID{1, 2, 3, 4}.Swapped()
	byUUID := inventory.Identity{UUIDs: []inventory.UUID{a, swapped}, Name: "n1"}
	recorded := inventory.Identity{UUIDs: []inventory.UUID{a}, Name: "n1"}
	for _, c := range []struct {
		name   string
		id     inventory.Identity
		states []inventory.State
		want   string
	}{
		{"one", byUUID, []inventory.State{stateOf("east", vm{id: "vm-1", uuid: a, on: true})}, "east/vm-1 chosen"},
		{
			"beside others", byUUID, []inventory.State{stateOf("east",
				vm{id: "vm-0", uuid: a, template: true}, vm{id: "vm-1", uuid: swapped, on: true}, vm{id: "vm-2", uuid: a}, vm{id: "vm-3", uuid: a, secondary: true}, vm{id: "vm-4", uuid: a, unreadable: true})},
			"east/vm-1 chosen, east/vm-0 template, east/vm-2 powered_off, east/vm-3 secondary, east/vm-4 unreadable",
		},
		{
			"two run", byUUID, []inventory.State{stateOf("east", vm{id: "vm-1", uuid: a, on: true}), stateOf("west", vm{id: "vm-1", uuid: a, on: true})},
			"east/vm-1 undecided, west/vm-1 undecided",
		},
		{"outside", byUUID, []inventory.State{stateOf("east", vm{id: "vm-1", uuid: a, on: true, outside: true})}, "east/vm-1 outside_datacenters"},
		{"none, and one that cannot be read", recorded, []inventory.State{stateOf("east", vm{id: "vm-7", unreadable: true})}, "east/vm-7 unreadable"},
		{"none", byUUID, []inventory.State{stateOf("east")}, ""},
		{
			"by name", inventory.Identity{Name: "n1"}, []inventory.State{stateOf("east", vm{id: "vm-1", uuid: a, host: "n1"}), stateOf("west", vm{id: "vm-2", uuid: swapped, name: "n1", template: true})},
			"east/vm-1 chosen, west/vm-2 template",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			all := inventory.Candidates(c.states, c.id)
			for _, one := range all {
				got = append(got, fmt.Sprintf("%s/%s %s", one.Ref.VCenter, one.Ref.ID, one.Standing))
				if one.Standing.Text() == "" {
					t.Errorf("standing %s has no text", one.Standing)
				}
			}
			if text := strings.Join(got, ", "); text != c.want {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
			m, err := inventory.Find(c.states, c.id)
			if chosen := len(all) > 0 && all[0].Standing == inventory.StandingChosen; chosen != (err == nil) || chosen && all[0].Ref != m.Ref {
				t.Errorf("Find says %v, %v", m, err)
			}
		})
	}
}
