package inventory

import (
	"cmp"
	"errors"
	"strings"
	"testing"
	"time"

	"vzones/topology"
)

// vm is a machine in a test's vCenter. The zero values are the common ones:
// powered off, no template, details read.
type vm struct {
	id         string
	uuid       UUID
	name, host string // as in Snapshot.Names
	on         bool
	template   bool
	unread     bool // in the index, but without details
	unreadable bool // without a UUID, it never had one
	since      int  // minutes after began at which an unreadable one was first seen
	arrived    bool // an unreadable one came then
	secondary  bool // of a Fault Tolerance pair
	outside    bool // of the configured datacenters
}

// began is a time that all tests count from.
var began = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func minute(n int) time.Time { return began.Add(time.Duration(n) * time.Minute) }

// stateOf returns the state of a vCenter that was read completely within the last seconds, and in
// which "n1" was looked for too.
func stateOf(vcenter string, vms ...vm) State {
	s := &Snapshot{
		VCenter: vcenter, Index: map[UUID][]Entry{}, Names: map[string][]NameEntry{"n1": nil},
		Unreadable: map[string]FirstSeen{}, Machines: map[string]*Machine{},
	}
	for _, m := range vms {
		e := Entry{ID: m.id, Template: m.template, Secondary: m.secondary, PoweredOn: m.on, Unreadable: m.unreadable}
		details := &Machine{Ref: s.Ref(m.id), InventoryPath: "/dc1/vm/" + m.id}
		if !m.unreadable {
			details.UUID = cmp.Or(m.uuid, UUID{1})
		}
		switch {
		case m.on:
			details.Power = PowerOn
		case !m.unreadable:
			details.Power = PowerOff
		}
		if !m.unread {
			s.Machines[m.id] = details
		}
		switch {
		case m.outside:
			s.Outside = append(s.Outside, m.id)
			continue
		case m.uuid != (UUID{}):
			s.Index[m.uuid] = append(s.Index[m.uuid], e)
		case m.unreadable:
			s.Unreadable[m.id] = FirstSeen{minute(m.since), m.arrived}
		}
		if m.host != "" {
			s.Names[m.host] = append(s.Names[m.host], NameEntry{Entry: e, ByHostName: true})
		}
		if m.name != "" && m.name != m.host {
			s.Names[m.name] = append(s.Names[m.name], NameEntry{Entry: e})
		}
	}
	return State{VCenter: vcenter, Snapshot: s}
}

var errRefused = errors.New("connection refused")

func troubled(s State) State { s.Trouble = errRefused; return s }

func incomplete(s State) State {
	s.Snapshot.Incomplete = errors.New("datacenter dc9 cannot be listed")
	return s
}

func notRead(vcenter string) State { return State{VCenter: vcenter} }

func overdue(s State) State { s.Overdue = true; return s }

// unnamed is a state in which no name was looked for yet.
func unnamed(s State) State { s.Snapshot.Names = nil; return s }

func TestFind(t *testing.T) {
	u := mustUUID(t, "422e4956-ad22-1139-6d72-59cc8f26bc90")
	other := mustUUID(t, "422e4956-ad22-1139-6d72-000000000001")
	byUUID := Identity{UUIDs: []UUID{u}, Name: "n1"}
	bothOrders := Identity{UUIDs: []UUID{u.Swapped(), u}, Name: "n1"}
	byName := Identity{Name: "n1"}

	for _, c := range []struct {
		name   string
		states []State
		id     Identity
		want   string // the machine found
		err    error
		says   string // substrings of the error, separated by blanks
	}{
		{name: "found", states: []State{stateOf("east", vm{id: "vm-1", uuid: u, on: true}), stateOf("west", vm{id: "vm-2", uuid: other, on: true})}, id: byUUID, want: "east:VirtualMachine:vm-1"},
		{name: "in the last vCenter", states: []State{stateOf("east"), stateOf("west", vm{id: "vm-2", uuid: u, on: true})}, id: byUUID, want: "west:VirtualMachine:vm-2"},
		{name: "equal managed object IDs", states: []State{stateOf("east", vm{id: "vm-1", uuid: other, on: true}), stateOf("west", vm{id: "vm-1", uuid: u, on: true})}, id: byUUID, want: "west:VirtualMachine:vm-1"},
		{name: "one on among off", states: []State{stateOf("east", vm{id: "vm-1", uuid: u}, vm{id: "vm-2", uuid: u, on: true}), stateOf("west", vm{id: "vm-3", uuid: u})}, id: byUUID, want: "east:VirtualMachine:vm-2"},
		{name: "on while another vCenter is in trouble", states: []State{stateOf("east", vm{id: "vm-1", uuid: u, on: true}), troubled(stateOf("west"))}, id: byUUID, want: "east:VirtualMachine:vm-1"},
		{name: "on while another vCenter is not read yet", states: []State{notRead("west"), stateOf("east", vm{id: "vm-1", uuid: u, on: true})}, id: byUUID, err: topology.ErrUnknown, says: `"west" not read yet vm-1`},
		{name: "on while another vCenter is overdue", states: []State{overdue(notRead("west")), stateOf("east", vm{id: "vm-1", uuid: u, on: true})}, id: byUUID, want: "east:VirtualMachine:vm-1"},
		{name: "on while another vCenter has failed", states: []State{troubled(notRead("west")), stateOf("east", vm{id: "vm-1", uuid: u, on: true})}, id: byUUID, want: "east:VirtualMachine:vm-1"},
		{name: "two on while another vCenter is not read yet", states: []State{notRead("west"), stateOf("east", vm{id: "vm-1", uuid: u, on: true}, vm{id: "vm-2", uuid: u, on: true})}, id: byUUID, err: topology.ErrAmbiguous},
		{name: "two on in two vCenters", states: []State{stateOf("east", vm{id: "vm-1", uuid: u, on: true}), stateOf("west", vm{id: "vm-1", uuid: u, on: true})}, id: byUUID, err: topology.ErrAmbiguous, says: "east /dc1/vm/vm-1 west"},
		{name: "two on in one vCenter", states: []State{stateOf("east", vm{id: "vm-1", uuid: u, on: true}, vm{id: "vm-2", uuid: u, on: true})}, id: byUUID, err: topology.ErrAmbiguous, says: "vm-1 vm-2"},
		{name: "two on, details of one not read", states: []State{stateOf("east", vm{id: "vm-1", uuid: u, on: true}, vm{id: "vm-2", uuid: u, on: true, unread: true})}, id: byUUID, err: topology.ErrAmbiguous, says: "vm-1 vm-2"},
		{name: "only off", states: []State{stateOf("east", vm{id: "vm-1", uuid: u}), stateOf("west")}, id: byUUID, want: "east:VirtualMachine:vm-1"},
		{name: "only off, a vCenter in trouble", states: []State{stateOf("east", vm{id: "vm-1", uuid: u}), troubled(stateOf("west"))}, id: byUUID, err: topology.ErrUnknown, says: "refused " + u.String()},
		{name: "only off, its own vCenter in trouble", states: []State{troubled(stateOf("east", vm{id: "vm-1", uuid: u}))}, id: byUUID, err: topology.ErrUnknown, says: "refused"},
		{name: "only off, a vCenter not read yet", states: []State{stateOf("east", vm{id: "vm-1", uuid: u}), notRead("west")}, id: byUUID, err: topology.ErrUnknown, says: `"west" not read yet`},
		{name: "only off, an incomplete index", states: []State{stateOf("east", vm{id: "vm-1", uuid: u}), incomplete(stateOf("west"))}, id: byUUID, err: topology.ErrUnknown, says: "dc9"},
		{name: "two off", states: []State{stateOf("east", vm{id: "vm-1", uuid: u}), stateOf("west", vm{id: "vm-2", uuid: u})}, id: byUUID, err: topology.ErrAmbiguous, says: "east vm-1 west vm-2"},
		{name: "a template beside it", states: []State{stateOf("east", vm{id: "vm-1", uuid: u, template: true}, vm{id: "vm-2", uuid: u})}, id: byUUID, want: "east:VirtualMachine:vm-2"},
		{name: "a template only", states: []State{stateOf("east", vm{id: "vm-1", uuid: u, template: true})}, id: byUUID, err: topology.ErrAbsent},
		{name: "a template that claims to be on", states: []State{stateOf("east", vm{id: "vm-1", uuid: u, template: true, on: true})}, id: byUUID, err: topology.ErrAbsent},
		{name: "the first byte order", states: []State{stateOf("east", vm{id: "vm-1", uuid: u.Swapped(), on: true})}, id: bothOrders, want: "east:VirtualMachine:vm-1"},
		{name: "the second byte order", states: []State{stateOf("east", vm{id: "vm-1", uuid: u, on: true})}, id: bothOrders, want: "east:VirtualMachine:vm-1"},
		{name: "a machine for each byte order", states: []State{stateOf("east", vm{id: "vm-1", uuid: u, on: true}, vm{id: "vm-2", uuid: u.Swapped(), on: true})}, id: bothOrders, err: topology.ErrAmbiguous, says: "vm-1 vm-2"},
		{name: "the other byte order is not asked for", states: []State{stateOf("east", vm{id: "vm-1", uuid: u.Swapped(), on: true})}, id: byUUID, err: topology.ErrAbsent},
		{name: "absent", states: []State{stateOf("east", vm{id: "vm-1", uuid: other, on: true}), stateOf("west")}, id: byUUID, err: topology.ErrAbsent, says: u.String()},
		{name: "absent, a vCenter in trouble", states: []State{stateOf("east"), troubled(stateOf("west"))}, id: byUUID, err: topology.ErrUnknown, says: "refused"},
		{name: "absent, a vCenter in trouble since the start", states: []State{stateOf("east"), troubled(notRead("west"))}, id: byUUID, err: topology.ErrUnknown, says: "refused"},
		{name: "absent, a vCenter not read yet", states: []State{notRead("east"), stateOf("west")}, id: byUUID, err: topology.ErrUnknown, says: `"east" not read yet`},
		{name: "absent, an incomplete index", states: []State{incomplete(stateOf("east"))}, id: byUUID, err: topology.ErrUnknown, says: "dc9"},
		{name: "details not read", states: []State{stateOf("east", vm{id: "vm-1", uuid: u, on: true, unread: true})}, id: byUUID, err: topology.ErrUnknown, says: "east vm-1"},
		{name: "details of an equal ID elsewhere", states: []State{stateOf("east", vm{id: "vm-1", uuid: u, on: true, unread: true}), stateOf("west", vm{id: "vm-1", uuid: other})}, id: byUUID, err: topology.ErrUnknown, says: "east vm-1"},
		{name: "its name counts for nothing with a UUID", states: []State{stateOf("east", vm{id: "vm-1", uuid: other, host: "n1", on: true})}, id: byUUID, err: topology.ErrAbsent},

		{name: "by host name", states: []State{stateOf("east", vm{id: "vm-1", host: "n1"}), stateOf("west")}, id: byName, want: "east:VirtualMachine:vm-1"},
		{name: "by own name", states: []State{stateOf("east"), stateOf("west", vm{id: "vm-1", name: "n1"})}, id: byName, want: "west:VirtualMachine:vm-1"},
		{name: "host name and own name of one", states: []State{stateOf("east", vm{id: "vm-1", name: "n1", host: "n1"}), stateOf("west")}, id: byName, want: "east:VirtualMachine:vm-1"},
		{name: "host name of a machine with another name", states: []State{stateOf("east", vm{id: "vm-1", name: "n2", host: "n1"}), stateOf("west")}, id: byName, want: "east:VirtualMachine:vm-1"},
		{name: "own name of a machine with another host name", states: []State{stateOf("east", vm{id: "vm-1", name: "n1", host: "n2"}), stateOf("west")}, id: byName, want: "east:VirtualMachine:vm-1"},
		{name: "host name of one, own name of another", states: []State{stateOf("east", vm{id: "vm-1", name: "n1"}), stateOf("west", vm{id: "vm-2", host: "n1"})}, id: byName, err: topology.ErrAmbiguous, says: `"n1" vm-1 vm-2`},
		{name: "both names of one, own name of another", states: []State{stateOf("east", vm{id: "vm-1", name: "n1", host: "n1", on: true}, vm{id: "vm-2", name: "n1"})}, id: byName, err: topology.ErrAmbiguous, says: `"n1" vm-1 vm-2`},
		{name: "host name of one, own name of another with its own host name", states: []State{stateOf("east", vm{id: "vm-1", name: "n1", host: "n2"}, vm{id: "vm-2", host: "n1", name: "n3"})}, id: byName, err: topology.ErrAmbiguous, says: `"n1" vm-1 vm-2`},
		{name: "two host names", states: []State{stateOf("east", vm{id: "vm-1", host: "n1"}), stateOf("west", vm{id: "vm-2", host: "n1"})}, id: byName, err: topology.ErrAmbiguous, says: `"n1" vm-1 vm-2`},
		{name: "two host names, one of them on", states: []State{stateOf("east", vm{id: "vm-1", host: "n1", on: true}, vm{id: "vm-2", host: "n1"})}, id: byName, err: topology.ErrAmbiguous, says: "vm-1 vm-2"},
		{name: "two own names", states: []State{stateOf("east", vm{id: "vm-1", name: "n1"}), stateOf("west", vm{id: "vm-2", name: "n1"})}, id: byName, err: topology.ErrAmbiguous, says: "vm-1 vm-2"},
		{name: "own name of a template", states: []State{stateOf("east", vm{id: "vm-1", name: "n1", template: true}, vm{id: "vm-2", host: "n1"})}, id: byName, want: "east:VirtualMachine:vm-2"},
		{name: "a template of that name", states: []State{stateOf("east", vm{id: "vm-1", host: "n1", template: true}, vm{id: "vm-2", name: "n1"})}, id: byName, want: "east:VirtualMachine:vm-2"},
		{name: "only a template of that name", states: []State{stateOf("east", vm{id: "vm-1", name: "n1", template: true})}, id: byName, err: topology.ErrAbsent, says: `"n1"`},
		{name: "another name", states: []State{stateOf("east", vm{id: "vm-1", name: "n2"})}, id: byName, err: topology.ErrAbsent, says: `"n1"`},
		{name: "by name, a vCenter in trouble", states: []State{stateOf("east", vm{id: "vm-1", host: "n1", on: true}), troubled(stateOf("west"))}, id: byName, err: topology.ErrUnknown, says: "refused"},
		{name: "by name, a vCenter not read yet", states: []State{stateOf("east", vm{id: "vm-1", host: "n1", on: true}), notRead("west")}, id: byName, err: topology.ErrUnknown, says: `"west"`},
		{name: "by name, an incomplete index", states: []State{incomplete(stateOf("east", vm{id: "vm-1", host: "n1", on: true}))}, id: byName, err: topology.ErrUnknown, says: "dc9"},
		{name: "by name, a vCenter that was not searched for it yet", states: []State{stateOf("east", vm{id: "vm-1", host: "n1", on: true}), unnamed(stateOf("west"))}, id: byName, err: topology.ErrUnknown, says: `"west" searched`},
		{name: "absent by name, a vCenter that was not searched for it yet", states: []State{stateOf("east"), unnamed(stateOf("west"))}, id: byName, err: topology.ErrUnknown, says: `"west" searched`},
		{name: "by name, details not read", states: []State{stateOf("east", vm{id: "vm-1", host: "n1", unread: true})}, id: byName, err: topology.ErrUnknown, says: "vm-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := Find(c.states, c.id)
			if c.err != nil {
				if m != nil || !errors.Is(err, c.err) {
					t.Fatalf("found %v, %v, want %v", m, err, c.err)
				}
				for _, s := range strings.Fields(c.says) {
					if !strings.Contains(err.Error(), s) {
						t.Errorf("%q is not in the error: %v", s, err)
					}
				}
				return
			}
			if err != nil || m.Ref.String() != c.want {
				t.Fatalf("found %v, %v, want %s", m, err, c.want)
			}
		})
	}
}

// TestOutcomesExclude: the outcomes are told apart with errors.Is, so no error
// may be two of them; only ErrAbsent deletes a Node.
func TestOutcomesExclude(t *testing.T) {
	u := mustUUID(t, "422e4956-ad22-1139-6d72-59cc8f26bc90")
	id := Identity{UUIDs: []UUID{u}}
	outcomes := []error{topology.ErrAbsent, topology.ErrUnknown, topology.ErrAmbiguous}
	// Trouble may itself wrap whatever the reading of a vCenter came upon.
	west := stateOf("west")
	west.Trouble = errors.New("vCenter west: 503")
	for i, states := range [][]State{
		{stateOf("east")},
		{stateOf("east"), west},
		{stateOf("east", vm{id: "vm-1", uuid: u}, vm{id: "vm-2", uuid: u})},
	} {
		_, err := Find(states, id)
		for j, outcome := range outcomes {
			if errors.Is(err, outcome) != (i == j) {
				t.Errorf("%v is %v: %v", err, outcome, i != j)
			}
		}
	}
}

// TestFindStopped: that other machines cannot be seen does not hide that the Node's is
// off where it was last found, and still says nothing of one that is not found.
func TestFindStopped(t *testing.T) {
	u := mustUUID(t, "422e4956-ad22-1139-6d72-59cc8f26bc90")
	never := Identity{UUIDs: []UUID{u}, Name: "n1"}
	here, there := never, never
	here.Known = topology.Ref{VCenter: "east", Type: "VirtualMachine", ID: "vm-1"}
	there.Seen = LastSeen{VCenter: "west", ID: "vm-1", At: began}
	off := stateOf("east", vm{id: "vm-1", uuid: u})
	for name, other := range map[string]State{
		"machines that cannot be seen": incomplete(stateOf("west")),
		"a vCenter in trouble":         troubled(stateOf("west")),
		"a vCenter that is overdue":    overdue(notRead("west")),
	} {
		if m, err := FindStopped([]State{off, other}, here); err != nil || m.Ref.ID != "vm-1" {
			t.Errorf("beside %s: %v, %v", name, m, err)
		}
		for _, id := range []Identity{never, there} {
			if m, err := FindStopped([]State{off, other}, id); !errors.Is(err, topology.ErrUnknown) {
				t.Errorf("last found at %v, beside %s: %v, %v", id.last(), name, m, err)
			}
		}
		if m, err := FindStopped([]State{stateOf("east"), other}, here); !errors.Is(err, topology.ErrUnknown) {
			t.Errorf("not found, beside %s: %v, %v", name, m, err)
		}
	}
	if m, err := FindStopped([]State{off, notRead("west")}, here); !errors.Is(err, topology.ErrUnknown) {
		t.Errorf("beside a vCenter that is not read yet: %v, %v", m, err)
	}
	for _, id := range []Identity{never, here, there} {
		if m, err := FindStopped([]State{off, stateOf("west")}, id); err != nil || m.Ref.ID != "vm-1" {
			t.Errorf("last found at %v, all read: %v, %v", id.last(), m, err)
		}
	}
	unreadable := stateOf("west", vm{id: "vm-9", unreadable: true, since: 1})
	for want, id := range map[bool]Identity{true: never, false: there} {
		if _, err := FindStopped([]State{off, unreadable}, id); (err == nil) != want {
			t.Errorf("last found at %v, beside a machine that cannot be read: %v", id.last(), err)
		}
	}
	if _, err := FindStopped([]State{off, stateOf("west", vm{id: "vm-2", uuid: u})}, never); !errors.Is(err, topology.ErrAmbiguous) {
		t.Errorf("two that are off: %v", err)
	}
}

func TestIndexed(t *testing.T) {
	u := mustUUID(t, "422e4956-ad22-1139-6d72-59cc8f26bc90")
	for name, c := range map[string]struct {
		states []State
		want   bool
	}{
		"on":           {[]State{{VCenter: "north"}, stateOf("east", vm{id: "vm-1", uuid: u, on: true})}, true},
		"in trouble":   {[]State{troubled(stateOf("east", vm{id: "vm-1", uuid: u}))}, true},
		"a template":   {[]State{stateOf("east", vm{id: "vm-1", uuid: u, template: true})}, false},
		"nobody's":     {[]State{stateOf("east")}, false},
		"nothing read": {[]State{{VCenter: "east"}}, false},
	} {
		if got := Indexed(c.states, Identity{UUIDs: []UUID{u.Swapped(), u}}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
