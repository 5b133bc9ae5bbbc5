package inventory_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"vzones/topology"
	"vzones/vcenter/inventory"
)

// TestUnreadableCandidates: what a machine without a UUID is to a Node whose machine was seen.
func TestUnreadableCandidates(t *testing.T) {
	u := mustUUID(t, "422e4956-ad22-1139-6d72-59cc8f26bc90")
	for name, c := range map[string]struct {
		seen      inventory.LastSeen
		state     inventory.State
		uncertain bool
	}{
		"never seen":                                          {inventory.LastSeen{}, stateOf("east", vm{id: "vm-1", unreadable: true}), true},
		"there before it was seen":                            {inventory.LastSeen{VCenter: "east", At: minute(1)}, stateOf("east", vm{id: "vm-1", unreadable: true}), false},
		"there since it was seen":                             {inventory.LastSeen{VCenter: "east", At: minute(1)}, stateOf("east", vm{id: "vm-1", unreadable: true, since: 1}), false},
		"came after it was seen":                              {inventory.LastSeen{VCenter: "east", At: minute(1)}, stateOf("east", vm{id: "vm-1", unreadable: true, since: 2}), true},
		"elsewhere, for as long as a move":                    {inventory.LastSeen{VCenter: "east", At: minute(61)}, stateOf("west", vm{id: "vm-1", unreadable: true, since: 1}), false},
		"elsewhere, for a little less":                        {inventory.LastSeen{VCenter: "east", At: minute(60)}, stateOf("west", vm{id: "vm-1", unreadable: true, since: 1}), true},
		"elsewhere, came after it was seen":                   {inventory.LastSeen{VCenter: "east", At: minute(60)}, stateOf("west", vm{id: "vm-1", unreadable: true, since: 90}), true},
		"known as it by its ID":                               {inventory.LastSeen{VCenter: "east", ID: "vm-1", At: minute(1)}, stateOf("east", vm{id: "vm-1", unreadable: true, since: 2, arrived: true}), true},
		"arrived while it was there":                          {inventory.LastSeen{VCenter: "east", At: minute(1)}, stateOf("east", vm{id: "vm-1", unreadable: true, since: 1, arrived: true}), false},
		"arrived later":                                       {inventory.LastSeen{VCenter: "east", At: minute(1), Name: "node"}, stateOf("east", vm{id: "vm-1", unreadable: true, since: 2, arrived: true, name: ""}), true},
		"arrived later, before its name is read":              {inventory.LastSeen{VCenter: "east", At: minute(1), Name: "node"}, stateOf("east", vm{id: "vm-1", unreadable: true, since: 2, arrived: true, name: "node", unread: true}), true},
		"arrived later, with its name":                        {inventory.LastSeen{VCenter: "east", At: minute(1), Name: "node"}, stateOf("east", vm{id: "vm-1", unreadable: true, since: 2, arrived: true, name: "node"}), true},
		"arrived later, with another name":                    {inventory.LastSeen{VCenter: "east", At: minute(1), Name: "node"}, stateOf("east", vm{id: "vm-1", unreadable: true, since: 2, arrived: true, name: "other"}), false},
		"arrived later, when its name was not known":          {inventory.LastSeen{VCenter: "east", At: minute(1), Name: ""}, stateOf("east", vm{id: "vm-1", unreadable: true, since: 2, arrived: true, name: "other"}), true},
		"arrived later, with the path of its file for a name": {inventory.LastSeen{VCenter: "east", At: minute(1), Name: "node"}, stateOf("east", vm{id: "vm-1", unreadable: true, since: 2, arrived: true, name: "/vmfs/volumes/ds/node/node.vmx"}), true},
		"arrived later, with an escaped path":                 {inventory.LastSeen{VCenter: "east", At: minute(1), Name: "node"}, stateOf("east", vm{id: "vm-1", unreadable: true, since: 2, arrived: true, name: "%2Fvmfs%2fvolumes%2fds"}), true},
		"arrived later, with a datastore path":                {inventory.LastSeen{VCenter: "east", At: minute(1), Name: "node"}, stateOf("east", vm{id: "vm-1", unreadable: true, since: 2, arrived: true, name: "[ds] node.vmx"}), true},
		"elsewhere, arrived while it was there":               {inventory.LastSeen{VCenter: "east", At: minute(60)}, stateOf("west", vm{id: "vm-1", unreadable: true, since: 59, arrived: true}), true},
		"elsewhere, arrived as it went":                       {inventory.LastSeen{VCenter: "east", At: minute(60)}, stateOf("west", vm{id: "vm-1", unreadable: true, since: 62, arrived: true}), true},
		"elsewhere, arrived when it was gone":                 {inventory.LastSeen{VCenter: "east", At: minute(60)}, stateOf("west", vm{id: "vm-1", unreadable: true, since: 63, arrived: true}), false},
		"elsewhere, unreadable for an hour":                   {inventory.LastSeen{VCenter: "east", At: minute(10)}, contact(70, stateOf("west", vm{id: "vm-1", unreadable: true, since: 10})), false},
		"elsewhere, for a little less now":                    {inventory.LastSeen{VCenter: "east", At: minute(10)}, contact(69, stateOf("west", vm{id: "vm-1", unreadable: true, since: 10, arrived: true})), true},
		"one beside it, one that came after":                  {inventory.LastSeen{VCenter: "east", At: minute(1)}, stateOf("east", vm{id: "vm-1", unreadable: true}, vm{id: "vm-2", unreadable: true, since: 2}), true},
		"one whose UUID is known to be another":               {inventory.LastSeen{}, stateOf("east", vm{id: "vm-1", uuid: inventory.UUID{7}, unreadable: true}), false},
	} {
		t.Run(name, func(t *testing.T) {
			if c.seen.VCenter != "" && c.seen.ID == "" {
				c.seen.ID = "vm-8" // which is gone
			}
			id := inventory.Identity{UUIDs: []inventory.UUID{u}, LastSeen: c.seen}
			states := []inventory.State{c.state}
			if c.seen.VCenter != "" && c.seen.VCenter != c.state.VCenter {
				states = append(states, stateOf(c.seen.VCenter))
			}
			_, err := inventory.Find(states, id)
			if c.uncertain && (!errors.Is(err, topology.ErrUnknown) || !errors.Is(err, inventory.ErrUnreadable)) {
				t.Errorf("absence: %v", err)
			}
			if !c.uncertain && !errors.Is(err, topology.ErrAbsent) {
				t.Errorf("absence: %v", err)
			}
			// A running machine may be among them, so one that is off is not picked.
			states = append(states, stateOf("north", vm{id: "vm-9", uuid: u}))
			if _, err := inventory.Find(states, id); errors.Is(err, inventory.ErrUnreadable) != c.uncertain {
				t.Errorf("one that is off: %v", err)
			}
			id.LastSeen, id.Recorded = inventory.LastSeen{}, topology.Ref{VCenter: "north", Type: "VirtualMachine", ID: "vm-9"}
			if m, err := inventory.Find(states, id); err != nil || m.Ref.ID != "vm-9" {
				t.Errorf("one that is off, for a Node that may be: %v, %v", m, err)
			}
		})
	}
}

func contact(at int, s inventory.State) inventory.State { s.LastContact = minute(at); return s }

// TestFaultTolerance: the secondary is never the machine, and while it is there the
// machine exists.
func TestFaultTolerance(t *testing.T) {
	u := mustUUID(t, "422e4956-ad22-1139-6d72-59cc8f26bc90")
	primary, secondary := vm{id: "vm-1", uuid: u, on: true}, vm{id: "vm-2", uuid: u, on: true, secondary: true}
	id := inventory.Identity{UUIDs: []inventory.UUID{u}}
	if m, err := inventory.Find([]inventory.State{stateOf("east", primary, secondary)}, id); err != nil || m.Ref.ID != "vm-1" {
		t.Errorf("the pair: %v, %v", m, err)
	}
	primary.on = false
	if m, err := inventory.Find([]inventory.State{stateOf("east", primary, secondary)}, id); err != nil || m.Ref.ID != "vm-1" {
		t.Errorf("the pair, switched off: %v, %v", m, err)
	}
	alone := []inventory.State{stateOf("east", secondary)}
	if _, err := inventory.Find(alone, id); !errors.Is(err, topology.ErrUnknown) || !strings.Contains(err.Error(), "/dc1/vm/vm-2") {
		t.Errorf("the secondary alone: %v", err)
	}
	if !inventory.IsIndexed(alone, id) {
		t.Error("the secondary alone: the machine does not exist")
	}
	primary.name, secondary.name = "n1", "n1"
	if m, err := inventory.Find([]inventory.State{stateOf("east", primary, secondary)}, inventory.Identity{Name: "n1"}); err != nil || m.Ref.ID != "vm-1" {
		t.Errorf("by name: %v, %v", m, err)
	}
}

// TestOwnVCenterComesFirst: of several vCenters that cannot be read, a text begins with the one where
// the Node's machine was last found, and the cause is that one's.
func TestOwnVCenterComesFirst(t *testing.T) {
	failing := func(name string, cause error) inventory.State {
		s := stateOf(name)
		s.Err, s.Cause = errors.New("vCenter "+name+" fails"), cause
		return s
	}
	states := []inventory.State{failing("east", nil), failing("north", nil), failing("west", inventory.ErrLogin)}
	id := inventory.Identity{UUIDs: []inventory.UUID{{1}}, Recorded: topology.Ref{VCenter: "west", Type: "VirtualMachine", ID: "vm-1"}}
	_, err := inventory.Find(states, id)
	if want := "is found: vCenter west fails; vCenter east fails; vCenter north fails"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v does not say %q", err, want)
	}
	if u := inventory.FirstUnreachable(err); u == nil || u.VCenter != "west" || !errors.Is(u, inventory.ErrLogin) {
		t.Errorf("the first is %+v", u)
	}
	if states[0].VCenter != "east" {
		t.Error("the states are in another order")
	}
	if u := inventory.FirstUnreachable(topology.ErrUnknown); u != nil {
		t.Errorf("%+v", u)
	}
}

// TestCandidatesAreNamed: a few of them, so that a person can look, and not all.
func TestCandidatesAreNamed(t *testing.T) {
	var vms []vm
	for i := range 9 {
		vms = append(vms, vm{id: fmt.Sprint("vm-", 9-i), unreadable: true})
	}
	_, err := inventory.Find([]inventory.State{stateOf("east", vms...)}, inventory.Identity{UUIDs: []inventory.UUID{{1}}})
	for _, s := range []string{"/vm-3 of vCenter \"east\" and 6 more, which may be it", "virtual machine /dc1/vm/vm-1 of vCenter \"east\"", "/vm-2 "} {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%q is not in: %v", s, err)
		}
	}
	if strings.Contains(err.Error(), "vm-4") {
		t.Errorf("too long: %v", err)
	}
}

// TestFoundButNotUsable: machines that are known to be the Node's, and of which
// nothing can be said now.
func TestFoundButNotUsable(t *testing.T) {
	u := mustUUID(t, "422e4956-ad22-1139-6d72-59cc8f26bc90")
	id := inventory.Identity{UUIDs: []inventory.UUID{u}}
	for name, c := range map[string]struct {
		states []inventory.State
		is     []error
		not    []error
	}{
		"outside":                    {[]inventory.State{stateOf("east", vm{id: "vm-1", uuid: u, on: true, outside: true})}, []error{topology.ErrUnknown, inventory.ErrOutside}, nil},
		"outside, off":               {[]inventory.State{stateOf("east", vm{id: "vm-1", uuid: u, outside: true})}, []error{topology.ErrUnknown, inventory.ErrOutside}, nil},
		"outside, unread elsewhere":  {[]inventory.State{stateOf("east", vm{id: "vm-1", uuid: u, on: true, outside: true}), overdue(notRead("west"))}, []error{topology.ErrUnknown, inventory.ErrOutside}, nil},
		"another's outside":          {[]inventory.State{stateOf("east", vm{id: "vm-1", uuid: inventory.UUID{7}, on: true, outside: true})}, []error{topology.ErrAbsent}, []error{inventory.ErrOutside}},
		"running inside and outside": {[]inventory.State{stateOf("east", vm{id: "vm-1", uuid: u, on: true, outside: true}), stateOf("west", vm{id: "vm-2", uuid: u, on: true})}, []error{topology.ErrAmbiguous}, []error{topology.ErrUnknown}},
		"unreadable":                 {[]inventory.State{stateOf("east", vm{id: "vm-1", uuid: u, unreadable: true})}, []error{topology.ErrUnknown, inventory.ErrUnreadable}, nil},
		"unreadable, running":        {[]inventory.State{stateOf("east", vm{id: "vm-1", uuid: u, on: true, unreadable: true})}, []error{topology.ErrUnknown, inventory.ErrUnreadable}, nil},
		"unreadable and another off": {[]inventory.State{stateOf("east", vm{id: "vm-1", uuid: u, unreadable: true}), stateOf("west", vm{id: "vm-2", uuid: u})}, []error{topology.ErrAmbiguous}, nil},
		"an unreadable template":     {[]inventory.State{stateOf("east", vm{id: "vm-1", uuid: u, unreadable: true, template: true})}, []error{topology.ErrAbsent}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := inventory.Find(c.states, id)
			for _, is := range c.is {
				if m != nil || !errors.Is(err, is) {
					t.Errorf("%v, %v, want %v", m, err, is)
				}
			}
			for _, not := range c.not {
				if errors.Is(err, not) {
					t.Errorf("%v is %v", err, not)
				}
			}
			if _, err := inventory.Find(c.states, id); err == nil {
				t.Error("it counts as shut down")
			}
		})
	}
	t.Run("running inside, off outside", func(t *testing.T) {
		m, err := inventory.Find([]inventory.State{stateOf("east", vm{id: "vm-1", uuid: u, outside: true}, vm{id: "vm-2", uuid: u, on: true})}, id)
		if err != nil || m.Ref.ID != "vm-2" {
			t.Errorf("%v, %v", m, err)
		}
	})
	t.Run("details of another UUID", func(t *testing.T) {
		s := stateOf("east", vm{id: "vm-1", uuid: u, on: true})
		s.Snapshot.Machines["vm-1"].UUID = inventory.UUID{7} // changed since the index was read
		if m, err := inventory.Find([]inventory.State{s}, id); !errors.Is(err, topology.ErrUnknown) {
			t.Errorf("%v, %v", m, err)
		}
	})
}

// TestRemovedVCenter: a vCenter that had the machine and is not configured any more.
func TestRemovedVCenter(t *testing.T) {
	u := mustUUID(t, "422e4956-ad22-1139-6d72-59cc8f26bc90")
	id := inventory.Identity{UUIDs: []inventory.UUID{u}, Recorded: topology.Ref{VCenter: "old", Type: "VirtualMachine", ID: "vm-7"}}
	east := stateOf("east")
	if _, err := inventory.Find([]inventory.State{east}, id); !errors.Is(err, topology.ErrUnknown) || !strings.Contains(err.Error(), `"old"`) || !strings.Contains(err.Error(), "vm-7") {
		t.Errorf("absence: %v", err)
	}
	if _, err := inventory.Find([]inventory.State{east, stateOf("old")}, id); !errors.Is(err, topology.ErrAbsent) {
		t.Errorf("absence, configured: %v", err)
	}
	renamed := stateOf("new")
	renamed.Snapshot.Instance, id.RecordedInstance = "instance of old", "instance of old"
	if _, err := inventory.Find([]inventory.State{east, renamed}, id); !errors.Is(err, topology.ErrAbsent) {
		t.Errorf("absence, configured under another name: %v", err)
	}
	id.RecordedInstance = ""
	if m, err := inventory.Find([]inventory.State{stateOf("east", vm{id: "vm-1", uuid: u, on: true})}, id); err != nil || m.Ref.VCenter != "east" {
		t.Errorf("found elsewhere: %v, %v", m, err)
	}
	if _, err := inventory.Find([]inventory.State{stateOf("east", vm{id: "vm-1", uuid: u})}, id); !errors.Is(err, topology.ErrUnknown) {
		t.Errorf("off elsewhere: %v", err)
	}
}

func TestUnreachableIn(t *testing.T) {
	east, west := failing(stateOf("east")), failing(notRead("west"))
	for name, c := range map[string]struct {
		err  error
		want []string
	}{
		"none":             {nil, nil},
		"another error":    {errRefused, nil},
		"one":              {east.CheckReachable(), []string{"east"}},
		"no error":         {stateOf("east").CheckReachable(), nil},
		"wrapped":          {fmt.Errorf("a: %w", fmt.Errorf("b: %w", east.CheckReachable())), []string{"east"}},
		"joined, unsorted": {errors.Join(west.CheckReachable(), errRefused, east.CheckReachable()), []string{"east", "west"}},
		"twice":            {fmt.Errorf("%w: %w", east.CheckReachable(), errors.Join(east.CheckReachable())), []string{"east"}},
	} {
		if got := inventory.UnreachableIn(c.err); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	_, err := inventory.Find([]inventory.State{west, stateOf("north"), east}, inventory.Identity{UUIDs: []inventory.UUID{{1}}})
	if got := inventory.UnreachableIn(err); !slices.Equal(got, []string{"east", "west"}) {
		t.Errorf("in %v: %q", err, got)
	}
	if !errors.Is(err, inventory.ErrUnreachable) || !errors.Is(err, errRefused) {
		t.Errorf("%v does not say what is wrong", err)
	}
	// That a vCenter is not read yet, or not in whole, is not its error.
	_, err = inventory.Find([]inventory.State{notRead("west"), incomplete(stateOf("east"))}, inventory.Identity{UUIDs: []inventory.UUID{{1}}})
	if got := inventory.UnreachableIn(err); len(got) > 0 || errors.Is(err, inventory.ErrUnreachable) {
		t.Errorf("in %v: %q", err, got)
	}
}
