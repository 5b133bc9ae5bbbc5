package inventory

import (
	"errors"
	"strings"
	"testing"

	"vzones/topology"
)

// TestPremature: what a machine that runs, or one that is off, is worth while another
// vCenter cannot be read, by where the Node's was last found.
func TestPremature(t *testing.T) {
	u := mustUUID(t, "422e4956-ad22-1139-6d72-59cc8f26bc90")
	on, off := vm{id: "vm-1", uuid: u, on: true}, vm{id: "vm-1", uuid: u}
	other := func(m vm) vm { m.id = "vm-2"; return m }
	unreadable := func(m vm) vm { m.on, m.unreadable = false, true; return m }
	searched := func(s State, uuids ...UUID) State {
		s.Snapshot.Searched = &Searched{UUIDs: map[UUID]bool{}}
		for _, u := range uuids {
			s.Snapshot.Searched.UUIDs[u] = true
		}
		return s
	}
	named := func(s State, instance string) State { s.Snapshot.Instance = instance; return s }
	for _, c := range []struct {
		name   string
		states []State
		// known and seen are the vCenters of the record and of the earlier finding.
		known, seen, instance string
		waited                bool
		want                  string // the vCenter
		err                   error
		says                  string // substrings of the error, separated by blanks
	}{
		{name: "the record's vCenter is down", states: []State{stateOf("east", on), troubled(notRead("west"))}, known: "west", err: topology.ErrUnknown, says: `"west" vm-1 refused`},
		{name: "so is that of the earlier finding", states: []State{stateOf("east", on), troubled(notRead("west"))}, seen: "west", err: topology.ErrUnknown, says: `"west" refused`},
		{name: "it is down, and was read before", states: []State{stateOf("east", on), troubled(stateOf("west", on))}, known: "west", err: topology.ErrUnknown, says: "refused"},
		{name: "it is down, and was off before", states: []State{stateOf("east", on), troubled(stateOf("west", off))}, known: "west", err: topology.ErrUnknown},
		{name: "it is down, and nothing else fits", states: []State{stateOf("east"), troubled(stateOf("west", on))}, known: "west", want: "west"},
		{name: "it is overdue", states: []State{stateOf("east", on), overdue(notRead("west"))}, known: "west", err: topology.ErrUnknown, says: "not read yet"},
		{name: "it is not complete", states: []State{stateOf("east", on), incomplete(stateOf("west"))}, known: "west", err: topology.ErrUnknown, says: "dc9"},
		{name: "it is not searched yet", states: []State{stateOf("east", on), searched(stateOf("west"))}, known: "west", waited: true, err: topology.ErrUnknown, says: "searched"},
		{name: "it is searched", states: []State{stateOf("east", on), searched(stateOf("west"), u)}, known: "west", want: "east"},
		{name: "it is read and has it no more", states: []State{stateOf("east", on), stateOf("west")}, known: "west", seen: "west", want: "east"},
		{name: "it is read and has it off", states: []State{stateOf("east", on), stateOf("west", off)}, known: "west", want: "east"},
		{name: "it is read and has it too", states: []State{stateOf("east", on), stateOf("west", on)}, known: "west", err: topology.ErrAmbiguous},
		{name: "it is read and cannot read the machine", states: []State{stateOf("east", on), stateOf("west", unreadable(on))}, known: "west", err: topology.ErrUnknown, says: "vm-1"},
		{name: "another one there cannot be read", states: []State{stateOf("east", on), stateOf("west", unreadable(other(on)))}, known: "west", want: "east"},
		{name: "the machine beside it cannot be read", states: []State{stateOf("east", other(on), unreadable(on))}, known: "east", err: topology.ErrUnknown, says: "vm-1"},
		{name: "it has moved, and a third one is down", states: []State{stateOf("east", on), stateOf("west"), troubled(stateOf("north"))}, known: "west", err: topology.ErrUnknown, says: "refused west"},
		{name: "it has moved, and a third one is overdue", states: []State{stateOf("east", on), stateOf("west"), overdue(notRead("north"))}, known: "west", err: topology.ErrUnknown, says: `"north"`},
		{name: "it has moved, and a third one is not complete", states: []State{stateOf("east", on), stateOf("west"), incomplete(stateOf("north"))}, known: "west", want: "east"},
		{name: "it has not moved, and another one is down", states: []State{stateOf("east", on), troubled(stateOf("west"))}, known: "east", seen: "east", want: "east"},
		{name: "it has not moved, and another one is not read yet", states: []State{stateOf("east", on), notRead("west")}, known: "east", err: topology.ErrUnknown, says: `"west"`},
		{name: "record and finding differ, one of them is down", states: []State{stateOf("east", on), troubled(stateOf("west"))}, known: "west", seen: "east", err: topology.ErrUnknown},
		{name: "its vCenter is not configured", states: []State{stateOf("east", on), stateOf("north")}, known: "west", want: "east"},
		{name: "its vCenter is not configured, and another is down", states: []State{stateOf("east", on), troubled(stateOf("north"))}, known: "west", err: topology.ErrUnknown},
		{name: "its vCenter has another name now", states: []State{named(stateOf("east", on), "1"), troubled(stateOf("north"))}, known: "west", instance: "1", want: "east"},
		{name: "its vCenter has another name now, and is down", states: []State{stateOf("east", on), troubled(named(stateOf("north"), "1"))}, known: "west", instance: "1", err: topology.ErrUnknown},
		{name: "its name is another one's now", states: []State{stateOf("east", on), named(stateOf("west"), "2")}, known: "west", instance: "1", want: "east"},
		{name: "never found, not searched yet", states: []State{stateOf("east", on), searched(stateOf("west"))}, err: topology.ErrUnknown, says: "searched"},
		{name: "never found, not searched for long", states: []State{stateOf("east", on), searched(stateOf("west"))}, waited: true, want: "east"},
		{name: "never found, not searched since it is down", states: []State{stateOf("east", on), troubled(searched(stateOf("west")))}, want: "east"},
		{name: "off, the record's vCenter is down", states: []State{stateOf("east", off), troubled(notRead("west"))}, known: "west", err: topology.ErrUnknown, says: "refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			id := Identity{UUIDs: []UUID{u}, KnownIn: c.instance, Waited: c.waited}
			if c.known != "" {
				id.Known = topology.Ref{VCenter: c.known, Type: "VirtualMachine", ID: "vm-1"}
			}
			if c.seen != "" {
				id.Seen = LastSeen{VCenter: c.seen, ID: "vm-1", At: began}
			}
			for name, find := range map[string]func([]State, Identity) (*Machine, error){"Find": Find, "FindStopped": FindStopped} {
				m, err := find(c.states, id)
				if c.err == nil {
					if err != nil || m.Ref.VCenter != c.want {
						t.Errorf("%s: %v, %v, want it in %s", name, m, err, c.want)
					}
					continue
				}
				if !errors.Is(err, c.err) || strings.Contains(err.Error(), "\n") {
					t.Fatalf("%s: %v, %v, want %v", name, m, err, c.err)
				}
				for _, s := range strings.Fields(c.says) {
					if !strings.Contains(err.Error(), s) {
						t.Errorf("%s: %q is not in the error: %v", name, s, err)
					}
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
	states := []State{stateOf("east", vm{id: "vm-1", uuid: u, on: true}), west}
	id := Identity{UUIDs: []UUID{u}, Known: topology.Ref{VCenter: "west", Type: "VirtualMachine", ID: "vm-1"}}
	if m, err := Find(states, id); err != nil || m.Ref.VCenter != "east" {
		t.Errorf("off: %v, %v", m, err)
	}
	west.Snapshot.Machines["vm-1"].Power = PowerUnknown
	if m, err := Find(states, id); !errors.Is(err, topology.ErrUnknown) || !strings.Contains(err.Error(), "power state") {
		t.Errorf("on a host that is disconnected: %v, %v", m, err)
	}
}
