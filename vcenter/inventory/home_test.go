package inventory_test

import (
	"errors"
	"strings"
	"testing"

	"vzones/topology"
	"vzones/vcenter/inventory"
)

// TestPremature: what a machine that runs, or one that is off, is worth while another
// vCenter cannot be read, by where the Node's was last found.
func TestPremature(t *testing.T) {
	u := mustUUID(t, "422e4956-ad22-1139-6d72-59cc8f26bc90")
	on, off := vm{id: "vm-1", uuid: u, on: true}, vm{id: "vm-1", uuid: u}
	other := func(m vm) vm { m.id = "vm-2"; return m }
	unreadable := func(m vm) vm { m.on, m.unreadable = false, true; return m }
	named := func(s inventory.State, instance string) inventory.State { s.Snapshot.Instance = instance; return s }
	for _, c := range []struct {
		name   string
		states []inventory.State
		// known and seen are the vCenters of the record and of the earlier finding.
		known, seen, instance string
		want                  string // the vCenter
		err                   error
		says                  string // substrings of the error, separated by blanks
	}{
		{name: "the record's vCenter is down", states: []inventory.State{stateOf("east", on), failing(notRead("west"))}, known: "west", err: topology.ErrUnknown, says: `"west" vm-1 refused`},
		{name: "so is that of the earlier finding", states: []inventory.State{stateOf("east", on), failing(notRead("west"))}, seen: "west", err: topology.ErrUnknown, says: `"west" refused`},
		{name: "it is down, and was read before", states: []inventory.State{stateOf("east", on), failing(stateOf("west", on))}, known: "west", err: topology.ErrUnknown, says: "refused"},
		{name: "it is down, and was off before", states: []inventory.State{stateOf("east", on), failing(stateOf("west", off))}, known: "west", err: topology.ErrUnknown},
		{name: "it is down, and nothing else fits", states: []inventory.State{stateOf("east"), failing(stateOf("west", on))}, known: "west", want: "west"},
		{name: "it is overdue", states: []inventory.State{stateOf("east", on), overdue(notRead("west"))}, known: "west", err: topology.ErrUnknown, says: "not read yet"},
		{name: "it is not complete", states: []inventory.State{stateOf("east", on), incomplete(stateOf("west"))}, known: "west", err: topology.ErrUnknown, says: "dc9"},
		{name: "it is read and has it no more", states: []inventory.State{stateOf("east", on), stateOf("west")}, known: "west", seen: "west", want: "east"},
		{name: "it is read and has it off", states: []inventory.State{stateOf("east", on), stateOf("west", off)}, known: "west", want: "east"},
		{name: "it is read and has it too", states: []inventory.State{stateOf("east", on), stateOf("west", on)}, known: "west", err: topology.ErrAmbiguous},
		{name: "it is read and cannot read the machine", states: []inventory.State{stateOf("east", on), stateOf("west", unreadable(on))}, known: "west", err: topology.ErrUnknown, says: "vm-1"},
		{name: "another one there cannot be read", states: []inventory.State{stateOf("east", on), stateOf("west", unreadable(other(on)))}, known: "west", want: "east"},
		{name: "the machine beside it cannot be read", states: []inventory.State{stateOf("east", other(on), unreadable(on))}, known: "east", err: topology.ErrUnknown, says: "vm-1"},
		{name: "it has moved, and a third one is down", states: []inventory.State{stateOf("east", on), stateOf("west"), failing(stateOf("north"))}, known: "west", err: topology.ErrUnknown, says: "refused west"},
		{name: "it has moved, and a third one is overdue", states: []inventory.State{stateOf("east", on), stateOf("west"), overdue(notRead("north"))}, known: "west", err: topology.ErrUnknown, says: `"north"`},
		{name: "it has moved, and a third one is not complete", states: []inventory.State{stateOf("east", on), stateOf("west"), incomplete(stateOf("north"))}, known: "west", want: "east"},
		{name: "it has not moved, and another one is down", states: []inventory.State{stateOf("east", on), failing(stateOf("west"))}, known: "east", seen: "east", want: "east"},
		{name: "it has not moved, and another one is not read yet", states: []inventory.State{stateOf("east", on), notRead("west")}, known: "east", want: "east"},
		{name: "record and finding differ, one of them is down", states: []inventory.State{stateOf("east", on), failing(stateOf("west"))}, known: "west", seen: "east", want: "east"},
		{name: "its vCenter is not configured", states: []inventory.State{stateOf("east", on), stateOf("north")}, known: "west", want: "east"},
		{name: "its vCenter is not configured, and another is down", states: []inventory.State{stateOf("east", on), failing(stateOf("north"))}, known: "west", err: topology.ErrUnknown},
		{name: "its vCenter has another name now", states: []inventory.State{named(stateOf("east", on), "1"), failing(stateOf("north"))}, known: "west", instance: "1", want: "east"},
		{name: "its vCenter has another name now, and is down", states: []inventory.State{stateOf("east", on), failing(named(stateOf("north"), "1"))}, known: "west", instance: "1", err: topology.ErrUnknown},
		{name: "its name is another one's now", states: []inventory.State{stateOf("east", on), named(stateOf("west"), "2")}, known: "west", instance: "1", want: "east"},
		{name: "off, the record's vCenter is down", states: []inventory.State{stateOf("east", off), failing(notRead("west"))}, known: "west", err: topology.ErrUnknown, says: "refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			id := inventory.Identity{UUIDs: []inventory.UUID{u}, RecordedInstance: c.instance}
			if c.known != "" {
				id.Recorded = topology.Ref{VCenter: c.known, Type: "VirtualMachine", ID: "vm-1"}
			}
			if c.seen != "" {
				id.LastSeen = inventory.LastSeen{VCenter: c.seen, ID: "vm-1", At: began}
			}
			m, err := inventory.Find(c.states, id)
			if c.err == nil {
				if err != nil || m.Ref.VCenter != c.want {
					t.Errorf("%v, %v, want it in %s", m, err, c.want)
				}
				return
			}
			if !errors.Is(err, c.err) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%v, %v, want %v", m, err, c.err)
			}
			for _, s := range strings.Fields(c.says) {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q is not in the error: %v", s, err)
				}
			}
		})
	}
}

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
