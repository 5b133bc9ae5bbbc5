package inventory_test

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"vzones/topology"
	"vzones/vcenter/inventory"
)

// vm describes a VM of a test's vCenter. The zero value is powered off, no template and has its details read.
type vm struct {
	id         string
	uuid       inventory.UUID
	name, host string // as in Snapshot.Names
	on         bool
	template   bool
	unread     bool // in the index without details
	unreadable bool // without a UUID at any time
	// disconnected reports whether the host is disconnected, so that the power state is stale.
	disconnected bool
	since        int  // minutes after began of the first sight of an unreadable VM
	arrived      bool // an unreadable VM appeared then
	secondary    bool // of a Fault Tolerance pair
	outside      bool // of the configured datacenters
	instance     byte // the first byte of its instance UUID
	address      string
}

func (m vm) isSecondary() bool { return m.secondary && !m.unread }

// began is the time to which all times of the tests are relative.
var began = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func minute(n int) time.Time { return began.Add(time.Duration(n) * time.Minute) }

// stateOf returns the state of a vCenter that was just read completely and searched for "n1".
func stateOf(vcenter string, vms ...vm) inventory.State {
	s := &inventory.Snapshot{
		VCenter: vcenter, Index: map[inventory.UUID][]inventory.Entry{}, Names: map[string][]inventory.NameEntry{"n1": nil},
		Unreadable: map[string]inventory.FirstSeen{}, VMs: map[string]*inventory.VM{},
	}
	for _, m := range vms {
		e := inventory.Entry{ID: m.id, Template: m.template, Unreadable: m.unreadable}
		details := &inventory.VM{Ref: s.Ref(m.id), Name: m.name, InventoryPath: "/dc1/vm/" + m.id, Secondary: m.secondary}
		if !m.unreadable {
			details.UUID, details.InstanceUUID = cmp.Or(m.uuid, inventory.UUID{1}), inventory.UUID{m.instance}
			if m.address != "" {
				details.NICs = []inventory.NIC{{DeviceConfigID: 4000, Addresses: []netip.Addr{netip.MustParseAddr(m.address)}}}
			}
		}
		switch {
		case m.on && (m.unreadable || m.disconnected):
		case m.on:
			details.Power = inventory.PowerOn
		case m.unreadable || m.disconnected:
			details.WasOff = true
		default:
			details.Power = inventory.PowerOff
		}
		if !m.unread {
			s.VMs[m.id] = details
		}
		switch {
		case m.outside:
			s.Outside = append(s.Outside, m.id)
			continue
		case m.uuid != (inventory.UUID{}):
			s.Index[m.uuid] = append(s.Index[m.uuid], e)
		case m.unreadable:
			s.Unreadable[m.id] = inventory.FirstSeen{minute(m.since), m.arrived}
		}
		if m.host != "" {
			s.Names[m.host] = append(s.Names[m.host], inventory.NameEntry{Entry: e, ByHostName: true})
		}
		if m.name != "" && m.name != m.host {
			s.Names[m.name] = append(s.Names[m.name], inventory.NameEntry{Entry: e})
		}
	}
	// The vCenter was asked about all other possible homes.
	s.Homes = map[string]inventory.Reply{}
	for i := range 10 {
		s.Homes[fmt.Sprint("vm-", i)] = inventory.Gone
	}
	for _, m := range vms {
		s.Homes[m.id] = inventory.Different
		if m.uuid == (inventory.UUID{}) && m.unreadable {
			s.Homes[m.id] = inventory.Present
		}
	}
	return inventory.State{VCenter: vcenter, Snapshot: s}
}

// lastFound returns the home in the Node's record, otherwise in the daemon's memory.
func lastFound(id inventory.Identity) inventory.LastSeen {
	if id.Recorded.VCenter != "" {
		return inventory.LastSeen{VCenter: id.Recorded.VCenter, ID: id.Recorded.ID, Instance: id.RecordedInstance, VM: id.RecordedVM}
	}
	return id.LastSeen
}

var errRejected = errors.New("connection refused")

func failing(s inventory.State) inventory.State { s.Err = errRejected; return s }

func incomplete(s inventory.State) inventory.State {
	s.Snapshot.Incomplete = errors.New("datacenter dc9 cannot be listed")
	return s
}

func notRead(vcenter string) inventory.State { return inventory.State{VCenter: vcenter} }

func overdue(s inventory.State) inventory.State { s.Overdue = true; return s }

// unnamed is a state without searched names.
func unnamed(s inventory.State) inventory.State { s.Snapshot.Names = nil; return s }

func powerUnknown(s inventory.State) inventory.State {
	s.Snapshot.VMs["vm-1"].Power = inventory.PowerUnknown
	return s
}

// changed is a state in which the UUID of vm-1 has changed since the index was read.
func changed(s inventory.State) inventory.State {
	s.Snapshot.VMs["vm-1"].UUID = inventory.UUID{7}
	return s
}

// TestFind checks the kinds and texts of errors. TestTable and TestFindIsTheOracle check which VM is found.
func TestFind(t *testing.T) {
	u := mustUUID(t, "422e4956-ad22-1139-6d72-59cc8f26bc90")
	other := mustUUID(t, "422e4956-ad22-1139-6d72-000000000001")
	byUUID := inventory.Identity{UUIDs: []inventory.UUID{u}, Name: "n1"}
	foundAs := func(vcenter, moid string) inventory.Identity {
		id := byUUID
		id.Recorded = topology.Ref{VCenter: vcenter, Type: "VirtualMachine", ID: moid}
		return id
	}
	byName := inventory.Identity{Name: "n1"}

	for _, c := range []struct {
		name   string
		states []inventory.State
		id     inventory.Identity
		want   string // the VM found
		err    error
		says   string // substrings of the error, separated by blanks
	}{
		{name: "found", states: []inventory.State{stateOf("east", vm{id: "vm-1", uuid: u, on: true}), stateOf("west", vm{id: "vm-2", uuid: other, on: true})}, id: byUUID, want: "east:VirtualMachine:vm-1"},
		{name: "on while another vCenter is not read yet", states: []inventory.State{notRead("west"), stateOf("east", vm{id: "vm-1", uuid: u, on: true})}, id: byUUID, err: topology.ErrUnknown, says: `"west" not read yet vm-1`},
		{name: "two on in two vCenters", states: []inventory.State{stateOf("east", vm{id: "vm-1", uuid: u, on: true}), stateOf("west", vm{id: "vm-1", uuid: u, on: true})}, id: byUUID, err: topology.ErrAmbiguous, says: "east /dc1/vm/vm-1 west"},
		{name: "two on, details of one not read", states: []inventory.State{stateOf("east", vm{id: "vm-1", uuid: u, on: true}, vm{id: "vm-2", uuid: u, on: true, unread: true})}, id: byUUID, err: topology.ErrUnknown, says: "details vm-2"},
		{name: "only off, a vCenter that fails", states: []inventory.State{stateOf("east", vm{id: "vm-1", uuid: u}), failing(stateOf("west"))}, id: byUUID, err: topology.ErrUnknown, says: "refused " + u.String()},
		{name: "only off, an incomplete index", states: []inventory.State{stateOf("east", vm{id: "vm-1", uuid: u}), incomplete(stateOf("west"))}, id: byUUID, err: topology.ErrUnknown, says: "dc9"},
		{name: "absent", states: []inventory.State{stateOf("east", vm{id: "vm-1", uuid: other, on: true}), stateOf("west")}, id: byUUID, err: topology.ErrAbsent, says: u.String()},
		{name: "absent, a vCenter not read yet", states: []inventory.State{notRead("east"), stateOf("west")}, id: byUUID, err: topology.ErrUnknown, says: `"east" not read yet`},
		{name: "details not read", states: []inventory.State{stateOf("east", vm{id: "vm-1", uuid: u, on: true, unread: true})}, id: byUUID, err: topology.ErrUnknown, says: "east vm-1"},
		{name: "host name of one, own name of another", states: []inventory.State{stateOf("east", vm{id: "vm-1", name: "n1"}), stateOf("west", vm{id: "vm-2", host: "n1"})}, id: byName, err: topology.ErrAmbiguous, says: `"n1" vm-1 vm-2`},
		{name: "two own names", states: []inventory.State{stateOf("east", vm{id: "vm-1", name: "n1"}), stateOf("west", vm{id: "vm-2", name: "n1"})}, id: byName, err: topology.ErrAmbiguous, says: "vm-1 vm-2"},
		{name: "only a template of that name", states: []inventory.State{stateOf("east", vm{id: "vm-1", name: "n1", template: true})}, id: byName, err: topology.ErrAbsent, says: `"n1"`},
		{name: "by name, a vCenter that was not searched for it yet", states: []inventory.State{stateOf("east", vm{id: "vm-1", host: "n1", on: true}), unnamed(stateOf("west"))}, id: byName, err: topology.ErrUnknown, says: `"west" searched`},
		{name: "power state unknown, and gone where it was found", states: []inventory.State{powerUnknown(stateOf("east", vm{id: "vm-1", uuid: u, on: true})), stateOf("west")}, id: foundAs("west", "vm-1"), err: topology.ErrUnknown, says: "power state"},
		{name: "details of another UUID", states: []inventory.State{changed(stateOf("east", vm{id: "vm-1", uuid: u, on: true}))}, id: byUUID, err: topology.ErrUnknown},
		{name: "outside", states: []inventory.State{stateOf("east", vm{id: "vm-1", uuid: u, outside: true}), overdue(notRead("west"))}, id: foundAs("east", "vm-1"), err: inventory.ErrOutside},
		{name: "unreadable", states: []inventory.State{stateOf("east", vm{id: "vm-1", uuid: u, unreadable: true})}, id: byUUID, err: inventory.ErrUnreadable},
		{name: "removed vCenter", states: []inventory.State{stateOf("east")}, id: foundAs("old", "vm-7"), err: topology.ErrUnknown, says: `"old" vm-7`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := inventory.Find(c.states, c.id)
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

func TestIndexed(t *testing.T) {
	u := mustUUID(t, "422e4956-ad22-1139-6d72-59cc8f26bc90")
	for name, c := range map[string]struct {
		states []inventory.State
		want   bool
	}{
		"on":           {[]inventory.State{{VCenter: "north"}, stateOf("east", vm{id: "vm-1", uuid: u, on: true})}, true},
		"failing":      {[]inventory.State{failing(stateOf("east", vm{id: "vm-1", uuid: u}))}, true},
		"a template":   {[]inventory.State{stateOf("east", vm{id: "vm-1", uuid: u, template: true})}, false},
		"a secondary":  {[]inventory.State{stateOf("east", vm{id: "vm-1", uuid: u, on: true, secondary: true})}, true},
		"nobody's":     {[]inventory.State{stateOf("east")}, false},
		"nothing read": {[]inventory.State{{VCenter: "east"}}, false},
	} {
		if got := inventory.IsIndexed(c.states, inventory.Identity{UUIDs: []inventory.UUID{u.Swapped(), u}}); got != c.want {
			t.Errorf("IsIndexed, %s: %t, want %t", name, got, c.want)
		}
	}
}
