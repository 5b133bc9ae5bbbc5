package provider

import (
	"context"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"vzones/vcenter/inventory"
)

// TestTheFrameworkIsNotAskedInVain: the lifecycle controller sees ready Nodes and Nodes with an answer: their VM exists, or
// its absence is confirmed.
func TestTheFrameworkIsNotAskedInVain(t *testing.T) {
	const took = time.Second
	confirm := func(context.Context, inventory.Identity) error { time.Sleep(took); return nil }
	fleet := &fakeFleet{confirm: confirm, states: states{stateOf("east", newVM(uuidA)), stateOf("west")}}
	alone(t, fleet, func(c *cluster) {
		wantListed := func(when string, want ...string) {
			c.Helper()
			all, err := c.provider.LifecycleInformer().Lister().List(labels.Everything())
			if err != nil {
				c.Fatal(err)
			}
			var got []string
			for _, n := range all {
				got = append(got, n.Name)
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("%s: the framework sees %q, want %q", when, got, want)
			}
		}
		wantListed("at first", "metal-ready", "node-1")
		fleet.become(failing(stateOf("east", newVM(uuidA))), stateOf("west"))
		c.settle()
		wantListed("while the vCenter fails", "metal-ready", "node-1") // its last snapshot contains the VM
		fleet.become(stateOf("east"), failing(stateOf("west")))
		c.settle()
		wantListed("while another may have it", "metal-ready")
		fleet.become(stateOf("east"), stateOf("west"))
		wantListed("before the search has ended", "metal-ready")
		c.pass(2 * took)
		wantListed("after the search", "metal-ready", "node-1")
	},
		gone(),
		aNode("metal", withSystemUUID(uuidB), silent),
		aNode("metal-ready", withSystemUUID(uuidB), ready(v1.ConditionTrue)),
		aNode("metal-untainted", withSystemUUID(uuidB), untainted, silent),
		aNode("from-the-cpi", withProviderID("vsphere://"+uuidB), untainted, silent),
		aNode("aws", withProviderID(foreignID), untainted, silent),
	)
}
