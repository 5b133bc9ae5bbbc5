package provider

import (
	"net/netip"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/provider/nodeinfo"
	"vzones/vcenter/inventory"
)

// TestNodeIsInitializedWhenItsMachineBecomesKnown: through the framework's own
// controller, at once, without a change of the Node and without an error whose
// retry could be what did it.
func TestNodeIsInitializedWhenItsMachineBecomesKnown(t *testing.T) {
	for name, before := range map[string]states{
		"nothing read yet":     {{VCenter: "east"}, {VCenter: "west"}},
		"not in a vCenter":     {stateOf("east"), stateOf("west")},
		"a vCenter that fails": {stateOf("east"), failing(stateOf("west"))},
		"no tags yet":          {stateOf("east", machine(uuidA, in("east", "")))},
		"no address yet":       {stateOf("east", machine(uuidA, withoutAddress))},
	} {
		t.Run(name, func(t *testing.T) {
			withFramework(t, &fakeFleet{states: before}, func(c *cluster) {
				c.create(aNode("node-1", withSystemUUID(uuidA)))
				c.pass(5 * time.Second)
				if w := c.writes(); !nodeinfo.IsUninitialized(c.node("node-1")) || len(w) > 0 {
					t.Fatalf("the Node did not wait: %q", w)
				}
				if calls, _ := c.asked.seen(); calls > 0 {
					t.Errorf("the framework asked %d times about a Node that has to wait", calls)
				}

				now := time.Now()
				c.fleet.become(stateOf("east", machine(uuidA)), stateOf("west"))
				c.settle()

				n := c.node("node-1")
				if nodeinfo.IsUninitialized(n) {
					t.Fatal("the Node still waits")
				}
				if passed := time.Since(now); passed != 0 {
					t.Errorf("it took %v", passed)
				}
				if calls, errs := c.asked.seen(); calls != 1 || len(errs) > 0 {
					t.Errorf("the framework asked %d times and got the errors %v", calls, errs)
				}
				if n.Spec.ProviderID != "vsphere://"+uuidA || n.Labels[v1.LabelTopologyZone] != "a" || n.Labels[v1.LabelTopologyRegion] != "east" ||
					n.Labels[v1.LabelFailureDomainBetaZone] != "a" || n.Labels[v1.LabelInstanceTypeStable] != "vsphere-vm.cpu-4.mem-8gb.os-ubuntu" || len(n.Status.Addresses) != 3 {
					t.Errorf("initialized as %+v", n)
				}
			})
		})
	}
}

// TestNodeIsWokenOnce: the framework needs one wake-up, not one a state.
func TestNodeIsWokenOnce(t *testing.T) {
	alone(t, &fakeFleet{states: states{stateOf("east")}}, func(c *cluster) {
		var mu sync.Mutex
		woken := 0
		if _, err := c.provider.NodeInformer().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) {
			mu.Lock()
			defer mu.Unlock()
			woken++
		}}); err != nil {
			c.Fatal(err)
		}
		want := func(n int, when string) {
			c.Helper()
			c.settle()
			mu.Lock()
			defer mu.Unlock()
			if woken != n {
				c.Errorf("woken %d times, want %d, %s", woken, n, when)
			}
		}
		want(0, "while the machine is unknown")
		for range 3 {
			c.fleet.become(stateOf("east", machine(uuidA)))
			want(1, "once it is known")
		}
		c.fleet.become(stateOf("east"))
		want(1, "when it is gone again")
		c.fleet.become(stateOf("east", machine(uuidA)))
		want(2, "when it is back")
		c.fleet.become(stateOf("east", machine(uuidA, in("east", "b"))))
		want(3, "when there is something else to say")
		c.pass(again / 4)
		want(3, "a moment later")
		c.pass(again)
		want(4, "when it is still not initialized")
	}, aNode("node-1", withSystemUUID(uuidA)))
}

// TestNodesOfAnotherProviderAreLeftAlone: with the taint and without, although
// vSphere has machines with their UUIDs, through several rounds of the status
// loop. The framework would make their beta and stable labels alike.
func TestNodesOfAnotherProviderAreLeftAlone(t *testing.T) {
	fleet := &fakeFleet{states: states{stateOf("east", machine(uuidA), machine(uuidB))}}
	withFramework(t, fleet, func(c *cluster) {
		c.heartbeat("waits")
		c.heartbeat("runs")
		c.client.ClearActions()
		c.pass(3*statusEvery + time.Second)
		c.fleet.become(stateOf("east"))
		c.fleet.become(stateOf("east", machine(uuidA), machine(uuidB)))
		c.pass(statusEvery)
		if calls, _ := c.asked.seen(); calls > 0 {
			t.Errorf("the framework asked %d times", calls)
		}
		if w := c.writes(); len(w) > 0 {
			t.Errorf("written: %q", w)
		}
		if !nodeinfo.IsUninitialized(c.node("waits")) {
			t.Error("untainted")
		}
		c.wantEvents()
		for _, ids := range fleet.followed() {
			if len(ids) > 0 {
				t.Errorf("followed: %v", ids)
			}
		}
	},
		aNode("waits", withProviderID("openstack:///"+uuidA), withSystemUUID(uuidA)),
		aNode("runs", withProviderID("openstack:///"+uuidB), withSystemUUID(uuidB), untainted, func(n *v1.Node) {
			n.Labels = map[string]string{v1.LabelFailureDomainBetaZone: "a", v1.LabelTopologyZone: "b"}
		}))
}

// TestAddressesAreKeptCurrent: of an initialized Node, also without a zone.
func TestAddressesAreKeptCurrent(t *testing.T) {
	moved := machine(uuidA, in("", ""), func(m *inventory.Machine) { m.NICs = nics("a=10.9.9.9") })
	withFramework(t, &fakeFleet{states: states{stateOf("east", machine(uuidA))}}, func(c *cluster) {
		c.fleet.become(stateOf("east", moved))
		c.pass(statusEvery)
		if got := c.node("node-1").Status.Addresses; len(got) != 3 || got[1].Address != "10.9.9.9" {
			t.Errorf("addresses %v", got)
		}
	}, aNode("node-1", withProviderID("vsphere://"+uuidA), untainted))
}

func TestEventsSayWhatANodeWaitsFor(t *testing.T) {
	fleet := &fakeFleet{states: states{stateOf("east", machine(uuidA, in("east", "")))}}
	withFramework(t, fleet, func(c *cluster) {
		c.create(aNode("node-1", withSystemUUID(uuidA)))
		c.pass(delay - time.Millisecond)
		c.wantEvents()
		c.pass(2*gather + 2*time.Millisecond)
		c.wantEvents("node-1 TopologyMissing")

		// The same reason over and over is one Event.
		for range 10 {
			c.fleet.become(stateOf("east", machine(uuidA, in("east", ""))))
			c.heartbeat("node-1")
			c.pass(time.Minute)
		}
		c.wantEvents("node-1 TopologyMissing")

		// Another reason has to hold as long.
		c.fleet.become(stateOf("east", machine(uuidA)), stateOf("west", machine(uuidA)))
		c.pass(delay - time.Millisecond)
		c.wantEvents("node-1 TopologyMissing")
		c.pass(time.Millisecond)
		c.wantEvents("node-1 TopologyMissing", "node-1 Ambiguous")
		c.pass(45 * time.Minute)
		c.wantEvents("node-1 TopologyMissing", "node-1 Ambiguous")
	})
}

// TestProvidedAddress: a kubelet's --node-ip that its machine does not have makes
// the Node wait, with an Event, instead of failing in the framework for ever.
func TestProvidedAddress(t *testing.T) {
	node := aNode("node-1", withSystemUUID(uuidA), func(n *v1.Node) {
		n.Annotations = map[string]string{cloudproviderapi.AnnotationAlphaProvidedIPAddr: "10.9.9.9"}
	})
	withFramework(t, &fakeFleet{states: states{stateOf("east", machine(uuidA))}}, func(c *cluster) {
		c.create(node)
		c.pass(delay + time.Second)
		c.wantEvents("node-1 AddressMissing")
		if _, errs := c.asked.seen(); len(errs) > 0 || !nodeinfo.IsUninitialized(c.node("node-1")) {
			t.Errorf("the Node does not wait: %v", errs)
		}
		c.fleet.become(stateOf("east", machine(uuidA, func(m *inventory.Machine) {
			m.NICs = []inventory.NIC{{Addresses: []netip.Addr{netip.MustParseAddr("10.9.9.9")}}}
		})))
		c.settle()
		if nodeinfo.IsUninitialized(c.node("node-1")) {
			t.Error("the Node still waits")
		}
	})
}

// TestAMachineThatIsSwitchedOn: its Node waits until then, also with the kubelet's --node-ip.
func TestAMachineThatIsSwitchedOn(t *testing.T) {
	fleet := &fakeFleet{states: states{stateOf("east", machine(uuidA, withoutAddress, withPower(inventory.PowerOff)))}}
	withFramework(t, fleet, func(c *cluster) {
		c.create(withNodeIP(aNode("node-1", withSystemUUID(uuidA)), "10.0.0.1"))
		c.pass(delay + time.Second)
		c.wantEvents("node-1 MachinePoweredOff")
		c.fleet.become(stateOf("east", machine(uuidA, withoutAddress)))
		c.pass(time.Second)
		if nodeinfo.IsUninitialized(c.node("node-1")) {
			t.Error("the Node still waits")
		}
	})
}

// TestNoEventForANodeThatGetsPlaced: every Node waits for a moment.
func TestNoEventForANodeThatGetsPlaced(t *testing.T) {
	withFramework(t, &fakeFleet{states: states{{VCenter: "east"}}}, func(c *cluster) {
		c.create(aNode("node-1", withSystemUUID(uuidA)))
		c.pass(delay / 2)
		c.fleet.become(stateOf("east", machine(uuidA)))
		c.pass(time.Hour)
		c.wantEvents()
		if nodeinfo.IsUninitialized(c.node("node-1")) {
			t.Error("the Node was not placed, so this shows nothing")
		}
	})
}

// TestNoEventForANodeThatIsGone: nor is a Node of the same name taken for it.
func TestNoEventForANodeThatIsGone(t *testing.T) {
	withFramework(t, &fakeFleet{states: states{stateOf("east")}}, func(c *cluster) {
		c.create(aNode("node-1", withSystemUUID(uuidA)))
		c.pass(delay * 3 / 4)
		if err := c.client.CoreV1().Nodes().Delete(c.ctx, "node-1", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		again := aNode("node-1", withSystemUUID(uuidA))
		again.UID = "another"
		c.create(again)
		c.pass(delay * 3 / 4)
		c.wantEvents()
		c.pass(delay / 2)
		c.wantEvents("node-1 MachineNotFound")
	})
}

// TestReasonsThatAlternate: what does not hold for long enough is not told.
func TestReasonsThatAlternate(t *testing.T) {
	withFramework(t, &fakeFleet{states: states{stateOf("east")}}, func(c *cluster) {
		c.create(aNode("node-1", withSystemUUID(uuidA)))
		for range 10 {
			c.pass(delay / 2)
			c.fleet.become(stateOf("east", machine(uuidA, withoutAddress)))
			c.pass(delay / 2)
			c.fleet.become(stateOf("east"))
		}
		c.wantEvents()
	})
}

// TestLook: the next look is due when the first of those that wait is, in
