package inventory_test

import (
	"errors"
	"strings"
	"testing"

	"vzones/topology"
	"vzones/vcenter/inventory"
)

// TestNothingIsAbsentBeforeItIsSearchedFor, where a vCenter's index has only what
// searches have found.
func TestNothingIsAbsentBeforeItIsSearchedFor(t *testing.T) {
	u, other := inventory.UUID{1}, inventory.UUID{2}
	searched := func(uuids ...inventory.UUID) inventory.State {
		done := &inventory.Searched{UUIDs: map[inventory.UUID]bool{}}
		for _, u := range uuids {
			done.UUIDs[u] = true
		}
		s := stateOf("east")
		s.Snapshot.Searched = done
		return s
	}
	off := searched()
	off.Snapshot.Index = map[inventory.UUID][]inventory.Entry{u: {{ID: "vm-1"}}}
	off.Snapshot.Machines = map[string]*inventory.Machine{"vm-1": {UUID: u, Power: inventory.PowerOff}}
	for name, c := range map[string]struct {
		states []inventory.State
		id     inventory.Identity
		want   error
	}{
		"searched for":                     {[]inventory.State{searched(u)}, inventory.Identity{UUIDs: []inventory.UUID{u}}, topology.ErrAbsent},
		"not yet":                          {[]inventory.State{searched(other)}, inventory.Identity{UUIDs: []inventory.UUID{u}}, topology.ErrUnknown},
		"in one byte order":                {[]inventory.State{searched(u)}, inventory.Identity{UUIDs: []inventory.UUID{u, other}}, topology.ErrUnknown},
		"not yet in one of two":            {[]inventory.State{stateOf("west"), searched()}, inventory.Identity{UUIDs: []inventory.UUID{u}}, topology.ErrUnknown},
		"off, and others may run":          {[]inventory.State{off}, inventory.Identity{UUIDs: []inventory.UUID{u}}, topology.ErrUnknown},
		"a name that was searched for":     {[]inventory.State{searched()}, inventory.Identity{Name: "n1"}, topology.ErrAbsent},
		"a name that was not":              {[]inventory.State{searched()}, inventory.Identity{Name: "other"}, topology.ErrUnknown},
		"an index that has all, as before": {[]inventory.State{stateOf("west")}, inventory.Identity{UUIDs: []inventory.UUID{u}}, topology.ErrAbsent},
	} {
		_, err := inventory.Find(c.states, c.id)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if errors.Is(c.want, topology.ErrUnknown) && !strings.Contains(err.Error(), `vCenter "east" is still being searched for the machine`) {
			t.Errorf("%s: the reason is not said: %v", name, err)
		}
	}
}

// TestRuns: machines outside of the configured datacenters count, templates and those
// that are off do not.
func TestRuns(t *testing.T) {
	on, off, template, outside, outsideOff := inventory.UUID{1}, inventory.UUID{2}, inventory.UUID{3}, inventory.UUID{4}, inventory.UUID{5}
	s := &inventory.Snapshot{
		Index: map[inventory.UUID][]inventory.Entry{
			on: {{ID: "vm-1"}, {ID: "vm-2", PoweredOn: true}}, off: {{ID: "vm-3"}}, template: {{ID: "vm-4", PoweredOn: true, Template: true}},
		},
		Outside:  []string{"vm-5", "vm-6"},
		Machines: map[string]*inventory.Machine{"vm-5": {UUID: outside, Power: inventory.PowerOn}, "vm-6": {UUID: outsideOff, Power: inventory.PowerOff}},
	}
	for u, want := range map[inventory.UUID]bool{on: true, off: false, template: false, outside: true, outsideOff: false, {6}: false} {
		if got := s.Runs(u); got != want {
			t.Errorf("%v: %t", u, got)
		}
	}
}
