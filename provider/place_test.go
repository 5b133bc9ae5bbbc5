package provider

import (
	"errors"
	"strings"
	"testing"

	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/inventory"
)

// hiding returns a state whose vCenter does not show categories.
func hiding(s inventory.State, categories ...string) inventory.State {
	snapshot := *s.Snapshot
	snapshot.InvisibleCategories = categories
	s.Snapshot = &snapshot
	return s
}

// TestHiddenCategory: what one vCenter does not show is unknown for its machines and
// nobody else's, never missing; where no vCenter shows it, that is said too.
func TestHiddenCategory(t *testing.T) {
	m := machine(uuidA)
	for _, o := range m.Paths[0].Objects {
		o.Ref.VCenter = "east"
	}
	east, west := stateOf("east", m), stateOf("west", machine(uuidB, in("west", "b")))
	const own, fleetwide = `vCenter "east" has no tag category "k8s-zone" that the account can see`, `No vCenter has the tag category "k8s-zone"`
	for _, c := range []struct {
		name            string
		states          states
		waits, westWait bool
		says            string
	}{
		{"shown", states{east, west}, false, false, ""},
		{"hidden in one", states{hiding(east, "k8s-zone"), west}, true, false, own},
		{"another one hidden", states{hiding(east, "rack"), hiding(west, "rack")}, false, false, ""},
		{"hidden in all", states{hiding(east, "k8s-zone"), hiding(west, "k8s-zone")}, true, true, fleetwide},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := New(&fakeFleet{states: c.states}, testConfig(), Options{})
			err := p.placer.Decide(aNode("node-1", withSystemUUID(uuidA))).Err
			if (err != nil) != c.waits || c.waits && (!errors.Is(err, topology.ErrUnknown) || errors.Is(err, topology.ErrMissing)) {
				t.Errorf("got %v", err)
			}
			if c.waits && (!strings.Contains(err.Error(), `of vCenter "east"`) || !strings.Contains(err.Error(), c.says) ||
				strings.Contains(err.Error(), fleetwide) != (c.says == fleetwide) || len(err.Error()) > quote.LongestNote) {
				t.Errorf("%d bytes: %v", len(err.Error()), err)
			}
			if err := p.placer.Decide(aNode("node-2", withSystemUUID(uuidB))).Err; (err != nil) != c.westWait {
				t.Errorf("west: %v", err)
			}
		})
	}
}
