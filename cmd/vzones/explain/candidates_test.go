package explain

import (
	"strings"
	"testing"

	"vzones/vcenter/inventory"
)

// vm is a machine in a test's vCenter, by default one that is off.
type vm struct {
	id                                       string
	uuid                                     inventory.UUID
	name, host                               string
	on, template, secondary, unread, outside bool
}

func stateOf(vcenter, instance string, vms ...vm) inventory.State {
	s := &inventory.Snapshot{
		VCenter: vcenter, Instance: instance, Index: map[inventory.UUID][]inventory.Entry{}, Names: map[string][]inventory.NameEntry{"n1": nil},
		Unreadable: map[string]inventory.FirstSeen{}, Machines: map[string]*inventory.Machine{},
	}
	for _, m := range vms {
		e := inventory.Entry{ID: m.id, Template: m.template, Unreadable: m.unread}
		details := &inventory.Machine{Ref: s.Ref(m.id), UUID: m.uuid, InventoryPath: "/dc1/vm/" + m.id, Power: inventory.PowerOff, Secondary: m.secondary}
		if m.on {
			details.Power = inventory.PowerOn
		}
		s.Machines[m.id] = details
		switch {
		case m.outside:
			s.Outside = append(s.Outside, m.id)
		case m.uuid.IsZero():
			s.Unreadable[m.id] = inventory.FirstSeen{}
		default:
			s.Index[m.uuid] = append(s.Index[m.uuid], e)
		}
		if m.host != "" {
			s.Names[m.host] = append(s.Names[m.host], inventory.NameEntry{Entry: e, ByHostName: true})
		}
		if m.name != "" {
			s.Names[m.name] = append(s.Names[m.name], inventory.NameEntry{Entry: e})
		}
	}
	return inventory.State{VCenter: vcenter, Snapshot: s}
}

// TestCandidates: every machine that fits has a standing, and the chosen one is that of inventory.Find.
func TestCandidates(t *testing.T) {
	a, swapped := inventory.UUID{1, 2, 3, 4}, inventory.UUID{1, 2, 3, 4}.Swapped()
	byUUID := inventory.Identity{UUIDs: []inventory.UUID{a, swapped}, Name: "n1"}
	for _, c := range []struct {
		name   string
		id     inventory.Identity
		states []inventory.State
		want   string
	}{
		{"one", byUUID, []inventory.State{stateOf("east", "1", vm{id: "vm-1", uuid: a, on: true})}, "east/vm-1 chosen"},
		{
			"beside others", byUUID, []inventory.State{stateOf("east", "1",
				vm{id: "vm-0", uuid: a, template: true}, vm{id: "vm-1", uuid: swapped, on: true}, vm{id: "vm-2", uuid: a}, vm{id: "vm-3", uuid: a, secondary: true}, vm{id: "vm-4", uuid: a, unread: true})},
			"east/vm-1 chosen, east/vm-0 template, east/vm-2 powered_off, east/vm-3 secondary, east/vm-4 unreadable",
		},
		{
			"two run", byUUID, []inventory.State{stateOf("east", "1", vm{id: "vm-1", uuid: a, on: true}), stateOf("west", "2", vm{id: "vm-1", uuid: a, on: true})},
			"east/vm-1 undecided, west/vm-1 undecided",
		},
		{
			"two entries", byUUID, []inventory.State{stateOf("east", "1", vm{id: "vm-1", uuid: a, on: true}), stateOf("too", "1", vm{id: "vm-1", uuid: a, on: true})},
			"east/vm-1 chosen, too/vm-1 same_machine",
		},
		{"outside", byUUID, []inventory.State{stateOf("east", "1", vm{id: "vm-1", uuid: a, on: true, outside: true})}, "east/vm-1 outside_datacenters"},
		{"none, and one that cannot be read", byUUID, []inventory.State{stateOf("east", "1", vm{id: "vm-7", unread: true})}, "east/vm-7 unreadable"},
		{"none", byUUID, []inventory.State{stateOf("east", "1")}, ""},
		{
			"by name", inventory.Identity{Name: "n1"}, []inventory.State{stateOf("east", "1", vm{id: "vm-1", uuid: a, host: "n1"}), stateOf("west", "2", vm{id: "vm-2", uuid: swapped, name: "n1", template: true})},
			"east/vm-1 chosen, west/vm-2 template",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			all := candidates(c.states, c.id)
			for _, one := range all {
				got = append(got, one.ref.VCenter+"/"+one.ref.ID+" "+string(one.standing))
				if standingText[one.standing] == "" {
					t.Errorf("standing %s has no text", one.standing)
				}
			}
			if text := strings.Join(got, ", "); text != c.want {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
			m, err := inventory.Find(c.states, c.id)
			if chosen := len(all) > 0 && all[0].standing == standingChosen; chosen != (err == nil) || chosen && all[0].ref.ID != m.Ref.ID {
				t.Errorf("Find says %v, %v", m, err)
			}
		})
	}
}
