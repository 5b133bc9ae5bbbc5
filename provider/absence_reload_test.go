package provider

import (
	"context"
	"errors"
	"testing"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/nodeinfo"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// TestAbsenceWhileVCentersChange: the search has to be of the vCenters that the
// machine is absent from. One that is back exists.
func TestAbsenceWhileVCentersChange(t *testing.T) {
	unread := inventory.State{VCenter: "west"}
	for name, c := range map[string]struct {
		after  states
		absent bool
	}{
		"nothing":                       {states{stateOf("east"), stateOf("west")}, true},
		"one is removed":                {states{stateOf("east")}, false},
		"one is added":                  {states{stateOf("east"), stateOf("west"), stateOf("north")}, false},
		"one gets another name":         {states{stateOf("east"), stateOf("north")}, false},
		"one gets another address":      {states{stateOf("east"), unread}, false},
		"the machine is back meanwhile": {states{stateOf("east"), stateOf("west", machine(uuidA))}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p, f := provide(states{stateOf("east"), stateOf("west")})
			f.confirm = func(context.Context, inventory.Identity) error {
				f.become(c.after...)
				return nil
			}
			exists, err := asked(t, p, f, running())
			if back := inventory.IsIndexed(c.after, inventory.Identity{UUIDs: []inventory.UUID{mustUUID(uuidA)}}); exists != back || (c.absent || back) != (err == nil) || err != nil && !errors.Is(err, topology.ErrUnknown) {
				t.Errorf("%v, %v", exists, err)
			}
		})
	}
}

// TestAnEntryOfAnotherVCenter: what the previous one had may be alive there.
func TestAnEntryOfAnotherVCenter(t *testing.T) {
	as := func(name, instance string, machines ...*inventory.Machine) inventory.State {
		s := stateOf(name, machines...)
		s.Snapshot.Instance = instance
		return s
	}
	for name, c := range map[string]struct {
		after  states
		absent bool
	}{
		"the same":                      {states{as("east", "one"), as("west", "two")}, true},
		"another":                       {states{as("east", "three"), as("west", "two")}, false},
		"one that does not tell":        {states{as("east", ""), as("west", "two")}, true},
		"its entry is the other now":    {states{as("east", "two"), as("west", "one")}, true},
		"another, and the machine is":   {states{as("east", "three"), as("west", "two", machine(uuidA))}, false},
		"removed, and one of that name": {states{as("east", "three")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			alone(t, &fakeFleet{states: states{as("east", "one", machine(uuidA)), as("west", "two")}}, func(cl *cluster) {
				cl.settle() // and the machine is seen
				cl.fleet.confirm = func(context.Context, inventory.Identity) error { return nil }
				cl.fleet.become(c.after...)
				cl.settle()
				exists, err := cl.provider.InstanceExists(cl.ctx, cl.node("node-1"))
				if absent := !exists && err == nil; absent != c.absent {
					t.Errorf("%v, %v", exists, err)
				}
				if err != nil && !errors.Is(err, topology.ErrUnknown) {
					t.Error(err)
				}
			}, func() *v1.Node { n := running(); n.Annotations = nil; silent(n); return n }())
		})
	}
}

// TestAnEntryOfAnotherVCenterAfterARestart: the Node tells which vCenter it was.
func TestAnEntryOfAnotherVCenterAfterARestart(t *testing.T) {
	as := func(name, instance string) inventory.State {
		s := stateOf(name)
		s.Snapshot.Instance = instance
		return s
	}
	for name, c := range map[string]struct {
		told   string
		now    states
		absent bool
	}{
		"the same":               {"one", states{as("east", "one")}, true},
		"another":                {"one", states{as("east", "three"), as("west", "two")}, false},
		"it has another name":    {"one", states{as("east", "two"), as("west", "one")}, true},
		"nothing told":           {"", states{as("east", "three")}, true},
		"one that does not tell": {"one", states{as("east", "")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			p, f := provide(c.now)
			f.confirm = func(context.Context, inventory.Identity) error { return nil }
			n := ours()
			n.Annotations = map[string]string{nodeinfo.KeyMachine: "east/vm-1", nodeinfo.KeyVCenter: c.told}
			exists, err := asked(t, p, f, n)
			if exists || c.absent != (err == nil) || err != nil && !errors.Is(err, topology.ErrUnknown) {
				t.Errorf("%v, %v", exists, err)
			}
		})
	}
}
