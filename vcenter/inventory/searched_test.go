package inventory

import (
	"errors"
	"strings"
	"testing"

	"vzones/topology"
)

// TestNothingIsAbsentBeforeItIsSearchedFor, where a vCenter's index has only what
// searches have found.
func TestNothingIsAbsentBeforeItIsSearchedFor(t *testing.T) {
	u, other := UUID{1}, UUID{2}
	searched := func(uuids ...UUID) State {
		done := &Searched{UUIDs: map[UUID]bool{}}
		for _, u := range uuids {
			done.UUIDs[u] = true
		}
		s := stateOf("east")
		s.Snapshot.Searched = done
		return s
	}
	off := searched()
	off.Snapshot.Index = map[UUID][]Entry{u: {{ID: "vm-1"}}}
	off.Snapshot.Machines = map[string]*Machine{"vm-1": {UUID: u, Power: PowerOff}}
	for name, c := range map[string]struct {
		states []State
		id     Identity
		want   error
	}{
		"searched for":                     {[]State{searched(u)}, Identity{UUIDs: []UUID{u}}, topology.ErrAbsent},
		"not yet":                          {[]State{searched(other)}, Identity{UUIDs: []UUID{u}}, topology.ErrUnknown},
		"in one byte order":                {[]State{searched(u)}, Identity{UUIDs: []UUID{u, other}}, topology.ErrUnknown},
		"not yet in one of two":            {[]State{stateOf("west"), searched()}, Identity{UUIDs: []UUID{u}}, topology.ErrUnknown},
		"off, and others may run":          {[]State{off}, Identity{UUIDs: []UUID{u}}, topology.ErrUnknown},
		"a name that was searched for":     {[]State{searched()}, Identity{Name: "n1"}, topology.ErrAbsent},
		"a name that was not":              {[]State{searched()}, Identity{Name: "other"}, topology.ErrUnknown},
		"an index that has all, as before": {[]State{stateOf("west")}, Identity{UUIDs: []UUID{u}}, topology.ErrAbsent},
	} {
		_, err := Find(c.states, c.id)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if errors.Is(c.want, topology.ErrUnknown) && !strings.Contains(err.Error(), `vCenter "east" is still being searched for it`) {
			t.Errorf("%s: the reason is not said: %v", name, err)
		}
	}
}

// TestRuns: machines outside of the configured datacenters count, templates and those
// that are off do not.
func TestRuns(t *testing.T) {
	on, off, template, outside, outsideOff := UUID{1}, UUID{2}, UUID{3}, UUID{4}, UUID{5}
	s := &Snapshot{
		Index: map[UUID][]Entry{
			on: {{ID: "vm-1"}, {ID: "vm-2", PoweredOn: true}}, off: {{ID: "vm-3"}}, template: {{ID: "vm-4", PoweredOn: true, Template: true}},
		},
		Outside:  []string{"vm-5", "vm-6"},
		Machines: map[string]*Machine{"vm-5": {UUID: outside, Power: PowerOn}, "vm-6": {UUID: outsideOff, Power: PowerOff}},
	}
	for u, want := range map[UUID]bool{on: true, off: false, template: false, outside: true, outsideOff: false, {6}: false} {
		if got := s.Runs(u); got != want {
			t.Errorf("%v: %t", u, got)
		}
	}
}
