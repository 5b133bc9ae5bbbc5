package provider

import (
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"vzones/provider/nodeinfo"
	"vzones/provider/report"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

func running() *v1.Node {
	return aNode("node-1", withProviderID("vsphere://"+uuidA), untainted, withRecord("east/vm-1"))
}

// outside is a state in which the VM has left the configured datacenters.
func outside(m *inventory.VM) inventory.State {
	s := stateOf("east", m)
	clear(s.Snapshot.Index)
	s.Snapshot.Outside = []string{"vm-1"}
	return s
}

// unreadable returns a state with VMs whose configuration cannot be read. Their UUIDs may be known from before.
func unreadable(vcenter, uuid string, since time.Time) inventory.State {
	s := stateOf(vcenter)
	if uuid == "" {
		s.Snapshot.Unreadable = map[string]inventory.FirstSeen{"vm-9": {At: since}}
	} else {
		s.Snapshot.Index[mustUUID(uuid)] = []inventory.Entry{{ID: "vm-9", Unreadable: true}}
	}
	return s
}

func failingWith(s inventory.State, says string) inventory.State {
	s.Err = errors.New(says)
	return s
}

// TestEventsOfRunningNodes: a lasting problem has one Event, and later problems with the same text have none.
func TestEventsOfRunningNodes(t *testing.T) {
	a := newVM(uuidA)
	for reason, wrong := range map[string]states{
		"VMOutsideDatacenters": {outside(a), stateOf("west")},
		"VMUnreadable":         {unreadable("east", uuidA, time.Time{}), stateOf("west")},
		"Ambiguous":            {stateOf("east", a), stateOf("west", a)},
		"VMNotFound":           {stateOf("east"), stateOf("west")},
	} {
		t.Run(reason, func(t *testing.T) {
			alone(t, &fakeFleet{states: states{stateOf("east", a), stateOf("west")}}, func(c *cluster) {
				c.pass(time.Hour)
				c.wantEvents()
				c.fleet.become(wrong...)
				c.pass(delayRunning - time.Millisecond)
				c.wantEvents()
				c.pass(2 * time.Millisecond)
				c.wantEvents("node-1 " + reason)
				for range 20 {
					c.fleet.become(wrong...)
					c.heartbeat("node-1")
					c.pass(time.Minute)
				}
				c.wantEvents("node-1 " + reason)

				// The end has an Event. A short problem has none, and a problem that returns has another one.
				c.fleet.become(stateOf("east", a), stateOf("west"))
				c.pass(time.Minute)
				c.wantEvents("node-1 "+reason, "node-1 ProblemResolved")
				c.fleet.become(wrong...)
				c.pass(delayRunning / 2)
				c.fleet.become(stateOf("east", a), stateOf("west"))
				c.pass(time.Hour)
				c.wantEvents("node-1 "+reason, "node-1 ProblemResolved")
				c.fleet.become(wrong...)
				c.pass(time.Minute)
				if n := len(c.events()); n != 3 {
					t.Errorf("%d Events: %q", n, c.events())
				}
				c.wantNoRecord()
			}, running())
		})
	}
}

// TestAReadyNodeOfAFailingVCenter has the condition and no Event, since the daemon's Pod has it. A Node that is not ready
// has both.
func TestAReadyNodeOfAFailingVCenter(t *testing.T) {
	a := newVM(uuidA)
	alone(t, &fakeFleet{states: states{stateOf("east", a), stateOf("west")}}, func(c *cluster) {
		defer c.keepLabels()()
		c.pass(time.Minute)
		c.fleet.become(failingWith(stateOf("east", a), "refused"), stateOf("west"))
		c.pass(time.Minute)
		c.wantEvents()
		if is := report.ConditionOf(c.node("node-1")); is.Status != v1.ConditionUnknown || is.Reason != "VCenterUnreachable" {
			t.Errorf("the condition is %+v, want Unknown with the reason VCenterUnreachable", is)
		}
		c.fleet.become(stateOf("east", a), stateOf("west"))
		c.pass(time.Minute)
		c.wantEvents()
		c.fleet.become(failingWith(stateOf("east", a), "refused"), stateOf("west"))
		c.pass(time.Minute)
		n := c.node("node-1").DeepCopy()
		ready(v1.ConditionUnknown)(n)
		c.updateStatus(n)
		c.pass(time.Minute)
		c.wantEvents("node-1 VCenterUnreachable")
	}, running())
}

// TestTheVMOfANodeThatIsNotReadyIsOff: an Event gives the reason, and another one reports the end.
func TestTheVMOfANodeThatIsNotReadyIsOff(t *testing.T) {
	alone(t, &fakeFleet{states: states{stateOf("east", newVM(uuidA))}}, func(c *cluster) {
		c.pass(time.Minute)
		c.fleet.become(stateOf("east", newVM(uuidA, withPower(inventory.PowerOff))))
		c.pass(time.Minute)
		c.wantEvents("node-1 VMPoweredOff")
		c.fleet.become(stateOf("east", newVM(uuidA)))
		c.pass(time.Minute)
		c.wantEvents("node-1 VMPoweredOff", "node-1 ProblemResolved")
	}, aNode("node-1", withProviderID("vsphere://"+uuidA), untainted, withRecord("east/vm-1"), ready(v1.ConditionUnknown)))
}

// TestTwoRunningNodesWithOneAddress: a VM now reports only another running Node's address.
func TestTwoRunningNodesWithOneAddress(t *testing.T) {
	node := func(name, uuid, record, address string) *v1.Node {
		return withStatus(aNode(name, withProviderID("vsphere://"+uuid), untainted, withRecord(record)),
			v1.NodeAddress{Type: v1.NodeInternalIP, Address: address})
	}
	alone(t, &fakeFleet{states: states{stateOf("east", newVM(uuidA)), stateOf("west", newVM(uuidB))}}, func(c *cluster) {
		c.pass(time.Minute)
		c.wantEvents("node-2 AddressConflict")
	}, node("node-1", uuidA, "east/vm-1", "10.0.0.1"), node("node-2", uuidB, "west/vm-1", "10.0.0.2"))
}

// TestOneProblemInManyWords: it is the same problem as long as the same vCenters fail.
func TestOneProblemInManyWords(t *testing.T) {
	east := stateOf("east") // the VM may be in either
	alone(t, &fakeFleet{states: states{east, stateOf("west")}}, func(c *cluster) {
		for range 30 {
			for _, says := range []string{"no answer within 15s", "connection refused", "503 Service Unavailable"} {
				c.fleet.become(failingWith(east, says), stateOf("west"))
				c.pass(7 * time.Second)
			}
		}
		c.wantEvents("node-1 VCenterUnreachable")
		// Another vCenter's failure is a new problem.
		for range 30 {
			for _, says := range []string{"no answer within 15s", "connection refused"} {
				c.fleet.become(failingWith(east, says), failingWith(stateOf("west"), says))
				c.pass(7 * time.Second)
			}
		}
		if n := len(c.events()); n != 2 {
			t.Errorf("%d Events: %q", n, c.events())
		}
	}, aNode("node-1", withSystemUUID(uuidA)))
}

// TestNoEventForARunningNode whose VM is found, or that is not ours.
func TestNoEventForARunningNode(t *testing.T) {
	a := newVM(uuidA)
	for name, c := range map[string]struct {
		node   *v1.Node
		states states
	}{
		"another vCenter fails":                {running(), states{stateOf("east", a), failing(stateOf("west"))}},
		"another VM is unreadable":             {running(), states{stateOf("east", a), unreadable("west", "", time.Time{})}},
		"no provider ID, absent":               {aNode("n", withSystemUUID(uuidA), untainted), states{stateOf("east")}},
		"no provider ID, a vCenter that fails": {aNode("n", withSystemUUID(uuidA), untainted), states{failing(stateOf("east"))}},
		"no provider ID, unreadable VMs":       {aNode("n", withSystemUUID(uuidA), untainted), states{unreadable("east", "", time.Time{})}},
		"another provider's":                   {aNode("n", withProviderID(foreignID), withSystemUUID(uuidA), untainted), states{stateOf("east", a, a)}},
	} {
		t.Run(name, func(t *testing.T) {
			alone(t, &fakeFleet{states: c.states}, func(cl *cluster) {
				cl.pass(time.Hour)
				cl.wantEvents()
			}, c.node)
		})
	}
}

// TestLastSeen: a VM is last seen at the vCenter's last answer, and that is remembered as long as its Node exists.
func TestLastSeen(t *testing.T) {
	sameVM := func(m *inventory.VM) { m.InstanceUUID = mustUUID(uuidB) }
	alone(t, &fakeFleet{}, func(c *cluster) {
		seen := func(want inventory.LastSeen) {
			t.Helper()
			c.settle()
			if got := c.lastSeen("uid-node-1"); got.VCenter != want.VCenter || !got.At.Equal(want.At) {
				t.Errorf("seen %v, want %v", got, want)
			}
		}
		seen(inventory.LastSeen{})
		east := stateOf("east", newVM(uuidA, sameVM))
		east.LastContact = time.Now().Add(-time.Second)
		c.fleet.become(east, stateOf("west"))
		first := inventory.LastSeen{VCenter: "east", At: east.LastContact}
		seen(first)

		later := failingWith(east, "refused")
		later.LastContact = time.Now()
		c.fleet.become(later, stateOf("west"))
		// The contact with a failing vCenter is ignored.
		seen(first)

		// An answer without a change does not change the states; the next resync uses it.
		east.LastContact = time.Now()
		c.fleet.mu.Lock()
		c.fleet.states = states{east, stateOf("west")}
		c.fleet.mu.Unlock()
		seen(first)
		c.pass(resyncEvery)
		seen(inventory.LastSeen{VCenter: "east", At: east.LastContact})

		west := stateOf("west", newVM(uuidA, sameVM))
		west.LastContact = time.Now()
		c.fleet.become(stateOf("east"), west)
		seen(inventory.LastSeen{VCenter: "west", At: west.LastContact})

		c.delete("node-1")
		c.pass(2 * gather)
		seen(inventory.LastSeen{})
	}, running())
}

// TestManyEvents: no Event is lost, although the recorder drops Events that come too fast.
func TestManyEvents(t *testing.T) {
	const many = 1200
	var nodes []*v1.Node
	for i := range many {
		nodes = append(nodes, aNode(fmt.Sprint("node-", i), withProviderID(fmt.Sprintf("vsphere://422e4956-ad22-1139-6d72-00000001%04d", i)), untainted))
	}
	alone(t, &fakeFleet{states: states{stateOf("east")}}, func(c *cluster) {
		c.client.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
			// The client's own rate limit delays a request as long.
			time.Sleep(50 * time.Millisecond)
			return false, nil, nil
		})
		for i := range 200 { // unrelated changes
			c.fleet.become(stateOf("east"))
			c.pass(time.Second)
			if n, most := c.fleet.searched(), 10*(i+2); n > most {
				t.Fatalf("%d searches in %d s", n, i+1)
			}
		}
		if n := len(c.events()); n != many {
			t.Errorf("%d Events for %d Nodes", n, many)
		}
	}, nodes...)
}

// TestBeyondTheConfiguredDatacenters: before an Event reports that no vCenter has the VM, it is searched for outside of
// the indexes, once.
func TestBeyondTheConfiguredDatacenters(t *testing.T) {
	for reason, outside := range map[string]error{
		"VMNotFound":           nil,
		"VMOutsideDatacenters": fmt.Errorf("%w: /dc9/vm/a is %w", topology.ErrUnknown, inventory.ErrOutside),
	} {
		fleet := &fakeFleet{states: states{stateOf("east"), stateOf("west")}, outside: outside}
		alone(t, fleet, func(c *cluster) {
			c.pass(delay + time.Second)
			for range 5 {
				c.fleet.become(stateOf("east"), stateOf("west"))
				c.pass(time.Minute)
			}
			c.wantEvents("waits " + reason)
			if n := fleet.searches; n != 1 {
				t.Errorf("%d searches, want 1", n)
			}
		}, aNode("waits", withSystemUUID(uuidA)))
	}
}

// TestNodeIsInitializedWhenItsVMBecomesKnown: the framework's controller does it at once, without a change of the Node
// and without an error that it would retry.
func TestNodeIsInitializedWhenItsVMBecomesKnown(t *testing.T) {
	for name, before := range map[string]states{
		"nothing read yet":     {{VCenter: "east"}, {VCenter: "west"}},
		"not in a vCenter":     {stateOf("east"), stateOf("west")},
		"a vCenter that fails": {stateOf("east"), failing(stateOf("west"))},
		"no tags yet":          {stateOf("east", newVM(uuidA, in("east", "")))},
		"no address yet":       {stateOf("east", newVM(uuidA, withoutAddress))},
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
				c.fleet.become(stateOf("east", newVM(uuidA)), stateOf("west"))
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

// TestNodeIsWokenOnce: the framework needs one announcement, not one per state.
func TestNodeIsWokenOnce(t *testing.T) {
	withWaking(t, func(w *waking) {
		w.want(0, "while the VM is unknown")
		for range 3 {
			w.become(true)
			w.want(1, "once it is known")
		}
		w.fleet.become(stateOf("east"))
		w.want(1, "when it is gone again")
		w.become(true)
		w.want(2, "when it is back")
		w.fleet.become(stateOf("east", newVM(uuidA, in("east", "b"))))
		w.want(3, "when there is something else to say")
		w.pass(resyncEvery / 4)
		w.want(3, "a moment later")
		w.pass(resyncEvery)
		w.want(4, "when it is still not initialized")
	})
}

// TestAVMThatIsSwitchedOn: until then the Node stays uninitialized, even with --node-ip.
func TestAVMThatIsSwitchedOn(t *testing.T) {
	fleet := &fakeFleet{states: states{stateOf("east", newVM(uuidA, withoutAddress, withPower(inventory.PowerOff)))}}
	withFramework(t, fleet, func(c *cluster) {
		c.create(withNodeIP(aNode("node-1", withSystemUUID(uuidA)), "10.0.0.1"))
		c.pass(delay + time.Second)
		c.wantEvents("node-1 VMPoweredOff")
		c.fleet.become(stateOf("east", newVM(uuidA, withoutAddress)))
		c.pass(time.Second)
		if nodeinfo.IsUninitialized(c.node("node-1")) {
			t.Error("the Node still waits")
		}
	})
}

// TestNoEventForANodeThatIsGone: a new Node of its name starts over.
func TestNoEventForANodeThatIsGone(t *testing.T) {
	withFramework(t, &fakeFleet{states: states{stateOf("east")}}, func(c *cluster) {
		c.create(aNode("node-1", withSystemUUID(uuidA)))
		c.pass(delay * 3 / 4)
		c.delete("node-1")
		again := aNode("node-1", withSystemUUID(uuidA))
		again.UID = "another"
		c.create(again)
		c.pass(delay * 3 / 4)
		c.wantEvents()
		c.pass(delay / 2)
		c.wantEvents("node-1 VMNotFound")
	})
}

func (c *cluster) outcomes() map[string]int {
	return c.controller.Stats().Outcomes
}

func keysOf(counts map[string]int) map[string]bool {
	keys := map[string]bool{}
	for k := range counts {
		keys[k] = true
	}
	return keys
}

// TestOutcomesOfNodesThatWait: uninitialized Nodes by the same outcomes.
func TestOutcomesOfNodesThatWait(t *testing.T) {
	const uuidC, uuidD, uuidE = "422e4956-ad22-1139-6d72-000000000003", "422e4956-ad22-1139-6d72-000000000004", "422e4956-ad22-1139-6d72-000000000005"
	noTag := in("east", "")
	alone(t, &fakeFleet{states: []inventory.State{stateOf("east", newVM(uuidA), newVM(uuidB, noTag), newVM(uuidC, noTag), newVM(uuidE))}}, func(c *cluster) {
		c.settle()
		stats := c.controller.Stats()
		for what, counts := range map[string]struct{ got, want map[string]int }{
			"all":     {stats.Outcomes, map[string]int{report.Placed: 1, report.Foreign: 2, "topology_missing": 2, "vm_not_found": 1, "provider_id_mismatch": 0, "provider_id_missing": 1}},
			"waiting": {stats.Waiting, map[string]int{report.Placed: 0, report.Foreign: 1, "topology_missing": 1, "vm_not_found": 1, "provider_id_mismatch": 0}},
		} {
			sum := 0
			for _, n := range counts.got {
				sum += n
			}
			for outcome, want := range counts.want {
				sum -= want
				if got := counts.got[outcome]; got != want {
					t.Errorf("%s: %d are %s, want %d", what, got, outcome, want)
				}
			}
			if sum != 0 {
				t.Errorf("%s: the outcomes are %v, want no more Nodes than %v", what, counts.got, counts.want)
			}
		}
		if !maps.Equal(keysOf(stats.Outcomes), keysOf(stats.Waiting)) {
			t.Errorf("outcomes are %v and %v", stats.Outcomes, stats.Waiting)
		}
		c.pass(time.Hour)
		if w := c.writes(); len(w) > 0 {
			t.Errorf("without the topology controller, and its condition, there are writes: %q", w)
		}
	},
		aNode("placed", untainted, withProviderID("vsphere://"+uuidA), withRecord("east/vm-1")),
		aNode("without-an-id", untainted, withSystemUUID(uuidE)),
		aNode("untagged", withSystemUUID(uuidB)),
		aNode("untagged-later", untainted, withProviderID("vsphere://"+uuidC), withRecord("east/vm-3")),
		aNode("lost", withSystemUUID(uuidD)),
		aNode("metal", untainted),
		aNode("other", withProviderID("aws:///i-1")),
	)
}
