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

// TestUnreadableCandidates contains the cases of an unreadable VM that TestFindIsTheOracle does not reach.
func TestUnreadableCandidates(t *testing.T) {
	u := mustUUID(t, "422e4956-ad22-1139-6d72-59cc8f26bc90")
	for name, c := range map[string]struct {
		seen      inventory.LastSeen
		state     inventory.State
		uncertain bool
	}{
		"arrived later, before its name is read":              {inventory.LastSeen{VCenter: "east", At: minute(1), Name: "node"}, stateOf("east", vm{id: "vm-1", unreadable: true, since: 2, arrived: true, name: "node", unread: true}), true},
		"arrived later, with another name":                    {inventory.LastSeen{VCenter: "east", At: minute(1), Name: "node"}, stateOf("east", vm{id: "vm-1", unreadable: true, since: 2, arrived: true, name: "other"}), false},
		"arrived later, with the path of its file for a name": {inventory.LastSeen{VCenter: "east", At: minute(1), Name: "node"}, stateOf("east", vm{id: "vm-1", unreadable: true, since: 2, arrived: true, name: "/vmfs/volumes/ds/node/node.vmx"}), true},
		"arrived later, with an escaped path":                 {inventory.LastSeen{VCenter: "east", At: minute(1), Name: "node"}, stateOf("east", vm{id: "vm-1", unreadable: true, since: 2, arrived: true, name: "%2Fvmfs%2fvolumes%2fds"}), true},
		"arrived later, with a datastore path":                {inventory.LastSeen{VCenter: "east", At: minute(1), Name: "node"}, stateOf("east", vm{id: "vm-1", unreadable: true, since: 2, arrived: true, name: "[ds] node.vmx"}), true},
		"elsewhere, arrived as it went":                       {inventory.LastSeen{VCenter: "east", At: minute(60)}, stateOf("west", vm{id: "vm-1", unreadable: true, since: 62, arrived: true}), true},
		"elsewhere, arrived when it was gone":                 {inventory.LastSeen{VCenter: "east", At: minute(60)}, stateOf("west", vm{id: "vm-1", unreadable: true, since: 63, arrived: true}), false},
	} {
		t.Run(name, func(t *testing.T) {
			c.seen.ID = "vm-8"
			states := []inventory.State{c.state}
			if c.seen.VCenter != c.state.VCenter {
				states = append(states, stateOf(c.seen.VCenter))
			}
			_, err := inventory.Find(states, inventory.Identity{UUIDs: []inventory.UUID{u}, LastSeen: c.seen})
			if c.uncertain != errors.Is(err, inventory.ErrUnreadable) || c.uncertain == errors.Is(err, topology.ErrAbsent) {
				t.Errorf("absence: %v", err)
			}
		})
	}
}

// TestOwnVCenterComesFirst: if several vCenters cannot be read, text and cause are about the Node's last vCenter.
func TestOwnVCenterComesFirst(t *testing.T) {
	failing := func(name string, cause inventory.Cause) inventory.State {
		s := stateOf(name)
		s.Err, s.Cause = errors.New("vCenter "+name+" fails"), cause
		return s
	}
	states := []inventory.State{failing("east", inventory.CauseUnreachable), failing("north", inventory.CauseUnreachable), failing("west", inventory.CauseRejected)}
	id := inventory.Identity{UUIDs: []inventory.UUID{{1}}, Recorded: topology.Ref{VCenter: "west", Type: "VirtualMachine", ID: "vm-1"}}
	_, err := inventory.Find(states, id)
	if want := "vCenter west fails; vCenter east fails; vCenter north fails; no running VM"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v does not say %q", err, want)
	}
	if u := inventory.FirstUnreachable(err); u == nil || u.VCenter != "west" || !errors.Is(u, inventory.ErrLogin) {
		t.Errorf("the first is %+v", u)
	}
	if states[0].VCenter != "east" {
		t.Error("the states are in another order")
	}
	if u := inventory.FirstUnreachable(topology.ErrUnknown); u != nil {
		t.Errorf("FirstUnreachable of an error without one: %+v, want nil", u)
	}
}

func TestUnreachableIn(t *testing.T) {
	east, west := failing(stateOf("east")), failing(notRead("west"))
	for name, c := range map[string]struct {
		err  error
		want []string
	}{
		"none":             {nil, nil},
		"another error":    {errRejected, nil},
		"one":              {east.CheckReachable(), []string{"east"}},
		"no error":         {stateOf("east").CheckReachable(), nil},
		"wrapped":          {fmt.Errorf("a: %w", fmt.Errorf("b: %w", east.CheckReachable())), []string{"east"}},
		"joined, unsorted": {errors.Join(west.CheckReachable(), errRejected, east.CheckReachable()), []string{"east", "west"}},
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
	if !errors.Is(err, inventory.ErrUnreachable) || !errors.Is(err, errRejected) {
		t.Errorf("%v does not say what is wrong", err)
	}
	// A vCenter that is not or not completely read has no error of its own.
	_, err = inventory.Find([]inventory.State{notRead("west"), incomplete(stateOf("east"))}, inventory.Identity{UUIDs: []inventory.UUID{{1}}})
	if got := inventory.UnreachableIn(err); len(got) > 0 || errors.Is(err, inventory.ErrUnreachable) {
		t.Errorf("in %v: %q", err, got)
	}
}

// TestManyVCenters: an error names three of many vCenters and wraps all.
func TestManyVCenters(t *testing.T) {
	var states []inventory.State
	for i := range 50 {
		name := fmt.Sprint("vc-", i)
		states = append(states, inventory.State{VCenter: name, Err: fmt.Errorf("vCenter %q: connection refused", name)})
	}
	u := inventory.UUID{1}
	_, err := inventory.Find(states, inventory.Identity{UUIDs: []inventory.UUID{u}})
	if !errors.Is(err, inventory.ErrUnreachable) || len(inventory.UnreachableIn(err)) != 50 || len(err.Error()) > 500 || !strings.Contains(err.Error(), "and 47 more") {
		t.Errorf("%d vCenters in %d bytes: %.600v", len(inventory.UnreachableIn(err)), len(err.Error()), err)
	}
}
