package provider

import (
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

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

// TestLook: the next look is due when the first of those that wait is, in
