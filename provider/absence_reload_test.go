package provider

import (
	"errors"
	"fmt"
	"testing"

	"vzones/provider/nodeinfo"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

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
		for _, restarted := range []bool{false, true} { // then only the Node says which vCenter it was
			t.Run(fmt.Sprint(name, ", restarted ", restarted), func(t *testing.T) {
				n := running()
				n.Annotations = nil
				before := states{as("east", "one", machine(uuidA)), as("west", "two")}
				if restarted {
					n.Annotations, before = map[string]string{nodeinfo.KeyMachine: "east/vm-1", nodeinfo.KeyVCenter: "one"}, c.after
				}
				silent(n)
				alone(t, &fakeFleet{states: before, confirm: nobody}, func(cl *cluster) {
					cl.settle() // and the machine is seen
					cl.fleet.become(c.after...)
					cl.settle()
					exists, err := cl.provider.InstanceExists(cl.ctx, cl.node("node-1"))
					if absent := !exists && err == nil; absent != c.absent {
						t.Errorf("%v, %v", exists, err)
					}
					if err != nil && !errors.Is(err, topology.ErrUnknown) {
						t.Error(err)
					}
				}, n)
			})
		}
	}
}
