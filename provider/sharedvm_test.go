package provider

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/provider/addresses"
	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/provider/report"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// madeAt sets the creation time of a Node in minutes.
func initializedByUs(n *v1.Node) { n.Labels = map[string]string{nodeinfo.KeyInitialized: "true"} }

func madeAt(minutes int) func(*v1.Node) {
	return func(n *v1.Node) {
		n.CreationTimestamp = metav1.NewTime(time.Date(2026, 11, 22, 4, minutes, 0, 0, time.UTC))
	}
}

// runs makes a Node an initialized one of VM A.
func runs(n *v1.Node) { n.Spec.ProviderID, n.Spec.Taints = "vsphere://"+uuidA, nil }

// claiming makes a Node claim the VM ghost of the vCenter east, whose configuration cannot be read; claimed adds it to the
// state.
func claiming(n *v1.Node) { n.Annotations = map[string]string{nodeinfo.KeyVM: "east/" + ghost} }

func claimed(s inventory.State) inventory.State {
	s.Snapshot.Recorded = map[string]inventory.Entry{ghost: {ID: ghost, Unreadable: true}}
	return s
}

// TestWhichOfTwoNodesIsFirst: both Nodes exist when the daemon starts.
func TestWhichOfTwoNodesIsFirst(t *testing.T) {
	swapped := mustUUID(uuidA).Swapped().String()
	there := states{stateOf("east", newVM(uuidA))}
	for _, c := range []struct {
		name     string
		states   states
		one, two []func(*v1.Node)
		// waits is the Node that stays uninitialized because of the other, if any.
		waits string
		// complains are the Nodes with an Event about their common VM.
		complains string
	}{
		{"both new", there, []func(*v1.Node){withSystemUUID(uuidA), madeAt(1)}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(2)}, "two", "two"},
		{"both new, made at one time", there, []func(*v1.Node){withSystemUUID(uuidA)}, []func(*v1.Node){withSystemUUID(uuidA)}, "two", "two"},
		{"in two byte orders", there, []func(*v1.Node){withSystemUUID(swapped), madeAt(1)}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(2)}, "two", "two"},
		{"by provider ID and by UUID", there, []func(*v1.Node){withProviderID("vsphere://" + uuidA), madeAt(1)}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(2)}, "two", "two"},
		{"one was initialized and made later", there, []func(*v1.Node){runs, initializedByUs, madeAt(2)}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(1)}, "two", "one two"},
		{"one runs, as its kubelet registered it, and was made later", there, []func(*v1.Node){runs, func(n *v1.Node) { n.Annotations = map[string]string{nodeinfo.KeyVM: "east/vm-1"} }, madeAt(2)}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(1)}, "", "one"},
		{"both run", there, []func(*v1.Node){runs, madeAt(2)}, []func(*v1.Node){runs, madeAt(1)}, "", "one two"},
		{"one runs without a provider ID and was made later", there, []func(*v1.Node){untainted, withSystemUUID(uuidA), madeAt(2)}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(1)}, "", "one"},
		{"one is another provider's", there, []func(*v1.Node){withProviderID("other://1"), withSystemUUID(uuidA), madeAt(1)}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(2)}, "", ""},
		{"one contradicts itself", there, []func(*v1.Node){withProviderID("vsphere://" + uuidA), withSystemUUID(uuidB), madeAt(1)}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(2)}, "", ""},
		{"one claims another VM, which cannot be read", states{claimed(stateOf("east", newVM(uuidA)))},
			[]func(*v1.Node){withProviderID("vsphere://" + uuidA), claiming, madeAt(1)}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(2)}, "", ""},
		{"one claims a VM of another vCenter, which cannot be read", states{stateOf("west", newVM(uuidA)), claimed(stateOf("east"))},
			[]func(*v1.Node){withProviderID("vsphere://" + uuidA), claiming, madeAt(1)}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(2)}, "", ""},
		{"one runs and claims another VM", states{claimed(stateOf("east", newVM(uuidA)))},
			[]func(*v1.Node){runs, claiming, madeAt(1)}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(2)}, "two", "two"},
		{"one runs and contradicts itself", there, []func(*v1.Node){runs, withSystemUUID(uuidB), madeAt(1)}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(2)}, "two", "two"},
		{"one by name", states{stateOf("east", newVM(uuidA, func(m *inventory.VM) { m.HostName = "one" }))}, []func(*v1.Node){madeAt(1)}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(2)}, "two", "two"},
		{"one by name and later", states{stateOf("east", newVM(uuidA, func(m *inventory.VM) { m.HostName = "two" }))}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(1)}, []func(*v1.Node){madeAt(2)}, "two", "two"},
		{"of the two forms of a UUID each is a VM's", states{stateOf("east", newVM(uuidA), newVM(swapped, withPower(inventory.PowerOff)))},
			[]func(*v1.Node){withProviderID("vsphere://" + swapped), madeAt(1)}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(2)}, "", ""},
		{"two VMs", states{stateOf("east", newVM(uuidA), newVM(uuidB))}, []func(*v1.Node){withSystemUUID(uuidB), madeAt(1)}, []func(*v1.Node){withSystemUUID(uuidA), madeAt(2)}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			one, two := aNode("one", c.one...), aNode("two", c.two...)
			alone(t, &fakeFleet{states: c.states}, func(cl *cluster) {
				cl.pass(delayRunning + 2*time.Second)
				for _, name := range []string{"one", "two"} {
					n := cl.node(name)
					if _, err := cl.provider.placer.Join(n); nodeinfo.IsUninitialized(n) && errors.Is(err, placement.ErrShared) != (name == c.waits) {
						t.Errorf("Join(%s): error %v, want ErrShared: %t", name, err, name == c.waits)
					}
					told := slices.Contains(cl.events(), name+" VMShared")
					if told != strings.Contains(c.complains, name) {
						t.Errorf("%s: Events %q", name, cl.events())
					}
				}
				if got := cl.outcomes()["vm_shared"]; got != len(strings.Fields(c.complains)) {
					t.Errorf("outcomes %v", cl.outcomes())
				}
			}, two, one)
		})
	}
}

// TestAloneMeansFirst: the only Node of a VM keeps it, whether or not another Node claimed the VM when vzones first
// annotated the Node.
func TestAloneMeansFirst(t *testing.T) {
	for _, claimed := range []bool{false, true} {
		node, other := aNode("node", runs, madeAt(2)), aNode("other", runs, madeAt(3))
		if !claimed {
			other.Spec.ProviderID = "vsphere://" + uuidB
		}
		alone(t, &fakeFleet{states: states{stateOf("east", newVM(uuidA))}}, func(c *cluster) {
			c.pass(time.Minute)
			if n := c.node("node"); n.Annotations[nodeinfo.KeyVM] == "" || claimed == (n.Labels[nodeinfo.KeyInitialized] != "") {
				t.Fatalf("annotated %v, labeled %v", n.Annotations, n.Labels)
			}
			c.delete("other")
			c.pass(time.Minute)
			c.create(aNode("older", withSystemUUID(uuidA), madeAt(1)))
			c.pass(time.Second)
			if _, err := c.provider.placer.Join(c.node("older")); !errors.Is(err, placement.ErrShared) {
				t.Errorf("claimed %t: the other one gets the VM: %v", claimed, err)
			}
		}, node, other)
	}
}

// TestManyNodesOfOneVM: an Event stays short.
func TestManyNodesOfOneVM(t *testing.T) {
	nodes := []*v1.Node{aNode("n-0", runs)}
	for i := range 100 {
		nodes = append(nodes, aNode(fmt.Sprintf("n-%d", i+1), withSystemUUID(uuidA), madeAt(1)))
	}
	alone(t, &fakeFleet{states: states{stateOf("east", newVM(uuidA, func(m *inventory.VM) { m.InventoryPath = "/dc/vm/" + strings.Repeat("a b", 1000) }))}}, func(c *cluster) {
		for _, name := range []string{"n-0", "n-99"} {
			err := c.provider.placer.Decide(c.node(name)).Err
			if !errors.Is(err, placement.ErrShared) || len(err.Error()) > 700 || !strings.Contains(err.Error(), " more, which came ") {
				t.Errorf("Decide(%s): error %v, want ErrShared, at most 700 bytes, with the number of further Nodes", name, err)
			}
		}
	}, nodes...)
}

// TestBareMetalIsNotFoundByName: a Node without taint, UUID and provider ID gets no label, address or taint from a VM whose
// guest reports its name.
func TestBareMetalIsNotFoundByName(t *testing.T) {
	f := &fakeFleet{states: states{stateOf("east", newVM(uuidA, func(m *inventory.VM) { m.HostName = "metal" }))}}
	withFramework(t, f, func(c *cluster) {
		c.create(aNode("metal", untainted))
		c.create(aNode("vm", withSystemUUID(uuidA)))
		c.pass(delayRunning + time.Second)
		metal := c.node("metal")
		if place := c.provider.placer.Decide(metal); place.VM != nil || !errors.Is(place.PlaceErr, nodeinfo.ErrNoUUID) {
			t.Errorf("Decide: VM %+v, error %v, want none and ErrNoUUID", place.VM, place.PlaceErr)
		}
		if m, err := c.provider.InstanceMetadata(c.ctx, metal); err != nil || m == nil || len(m.NodeAddresses) > 0 || m.ProviderID != "" {
			t.Errorf("InstanceMetadata = %+v, %v, want neither addresses nor a provider ID", m, err)
		}
		if down, err := c.provider.placer.IsShutDown(metal); down || err == nil {
			t.Errorf("IsShutDown = %t, %v, want false and an error", down, err)
		}
		if got := c.outcomes()[report.Foreign]; got != 1 {
			t.Errorf("outcomes %v", c.outcomes())
		}
		if nodeinfo.IsUninitialized(c.node("vm")) {
			t.Error("it keeps the VM's own Node waiting")
		}
		c.wantEvents()
	})
}

func (c *cluster) delete(name string) {
	c.Helper()
	if err := c.client.CoreV1().Nodes().Delete(c.ctx, name, metav1.DeleteOptions{}); err != nil {
		c.Fatal(err)
	}
}

// claimant returns an initialized Node with the address that VM A reports, 10.0.0.1.
func claimant(changes ...func(*v1.Node)) *v1.Node {
	n := aNode("claimant", withProviderID("vsphere://"+uuidB), untainted)
	n.Status.Addresses = both("10.0.0.1")
	for _, change := range changes {
		change(n)
	}
	return n
}

// TestAddressOfAnotherNode: a Node whose VM has no other address waits for another Node whose VM has it or had it when it was
// last known. It does not wait for a Node whose VM lost it, or that only claims it.
func TestAddressOfAnotherNode(t *testing.T) {
	static := func(m *inventory.VM) { m.Static = []netip.Addr{netip.MustParseAddr("10.0.0.1")} }
	off := func(m *inventory.VM) { m.Power, m.NICs = inventory.PowerOff, nil }
	b := func(changes ...func(*inventory.VM)) inventory.State {
		return stateOf("west", newVM(uuidB, changes...))
	}
	foreign := func(n *v1.Node) { n.Spec.ProviderID = "other://1" }
	for _, c := range []struct {
		name  string
		other *v1.Node
		west  inventory.State
		// seen means that the other's VM reported the address before.
		seen, waits bool
	}{
		{"the VM reports it", claimant(), b(), false, true},
		{"it is one of several", claimant(), b(withNICs("a=10.0.0.2; b=10.0.0.1")), false, true},
		{"the VM reports another", claimant(), b(withNICs("a=10.0.0.2")), true, false},
		{"and is configured with it", claimant(), b(withNICs("a=10.0.0.2"), static), false, true},
		{"the VM reports none any more", claimant(), b(withoutAddress), true, true},
		{"the VM reports none", claimant(), b(withoutAddress), false, false},
		{"the VM is off", claimant(), b(off), true, false},
		{"and is configured with it", claimant(silent, withRecord("west/vm-1")), b(off, static), false, true},
		{"the VM was suspended", claimant(), b(withoutAddress, withPower(inventory.PowerSuspended)), true, true},
		{"the VM is suspended", claimant(), b(withoutAddress, withPower(inventory.PowerSuspended)), false, false},
		{"the VM is gone", claimant(silent), stateOf("west"), true, false},
		{"but a kubelet runs", claimant(ready(v1.ConditionTrue)), stateOf("west"), true, true},
		{"there never was a VM", claimant(ready(v1.ConditionTrue)), stateOf("west"), false, false},
		{"the VM is not known any more", claimant(), failing(stateOf("west")), true, true},
		{"the VM is not known", claimant(), failing(stateOf("west")), false, false},
		{"the vCenter fails", claimant(), failing(b()), true, true},
		{"the vCenter has failed from the start", claimant(), failing(b()), false, false},
		{"another cloud's Node", claimant(foreign), stateOf("west"), false, false},
		{"only the kubelet's --node-ip", withNodeIP(claimant(func(n *v1.Node) { n.Status.Addresses = nil }), "10.0.0.1"), b(), false, true},
		{"one of three --node-ips", withNodeIP(claimant(func(n *v1.Node) { n.Status.Addresses = nil }), "10.0.0.1,fd00::1,10.0.0.3"), b(), false, false},
		{"only as its third address", claimant(func(n *v1.Node) { n.Status.Addresses = both("10.0.0.2", "10.0.0.3", "10.0.0.1") }), b(), false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			first := c.west
			if c.seen {
				first = b()
			}
			alone(t, &fakeFleet{states: states{stateOf("east", newVM(uuidA)), first}}, func(cl *cluster) {
				cl.pass(time.Second)
				cl.fleet.become(stateOf("east", newVM(uuidA)), c.west)
				cl.pass(delay + time.Second)
				if err := cl.provider.placer.Decide(cl.node("joins")).Err; errors.Is(err, addresses.ErrClaimed) != c.waits || (err != nil) != c.waits {
					t.Error(err)
				}
				if told := slices.Contains(cl.events(), "joins AddressConflict"); told != c.waits {
					t.Errorf("Events %q", cl.events())
				}
				if want := map[bool]int{true: 1}[c.waits]; cl.outcomes()["address_conflict"] != want {
					t.Errorf("outcomes %v", cl.outcomes())
				}
			}, c.other, aNode("joins", withSystemUUID(uuidA)))
		})
	}
}

func byAddress(n *v1.Node) []v1.NodeAddress {
	return slices.DeleteFunc(slices.Clone(n.Status.Addresses), func(a v1.NodeAddress) bool { return a.Type == v1.NodeHostName })
}

// TestOneNodeIPOfTwo: of two Nodes with the same --node-ip, the older one gets it while both VMs report it, and otherwise the
// Node whose VM reports it.
func TestOneNodeIPOfTwo(t *testing.T) {
	a, b := newVM(uuidA), newVM(uuidB)
	withFramework(t, &fakeFleet{states: states{stateOf("east", a, b)}}, func(c *cluster) {
		c.pass(delay + time.Second)
		c.wantEvents("node-a AddressConflict")
		if !nodeinfo.IsUninitialized(c.node("node-a")) || nodeinfo.IsUninitialized(c.node("node-b")) {
			t.Error("the older Node does not get it")
		}
		c.fleet.become(stateOf("east", a, newVM(uuidB, withNICs("a=10.0.0.2"))))
		c.pass(time.Second)
		if nodeinfo.IsUninitialized(c.node("node-a")) {
			t.Error("the one that has it does not get it")
		}
	}, withNodeIP(aNode("node-a", withSystemUUID(uuidA), madeAt(2)), "10.0.0.1"), withNodeIP(aNode("node-b", withSystemUUID(uuidB), madeAt(1)), "10.0.0.1"))
}

// TestNoNodeTakesTheAddressOfARunningNode: neither a Node that claims it, nor a VM that also reports it.
func TestNoNodeTakesTheAddressOfARunningNode(t *testing.T) {
	runs := aNode("runs", withProviderID("vsphere://"+uuidA), untainted)
	runs.Status.Addresses = both("10.0.0.1")
	fleet := &fakeFleet{states: states{stateOf("east", newVM(uuidA, withNICs("a=10.0.0.9,10.0.0.1")), newVM(uuidB))}}
	withFramework(t, fleet, func(c *cluster) {
		c.pass(2 * statusEvery)
		if got := byAddress(c.node("runs")); !slices.Equal(got, both("10.0.0.1")) {
			t.Errorf("has %v", got)
		}
	}, runs, claimant())
}

func asNew(n *v1.Node) { n.UID = "new" }

// TestANodeThatIsReplaced between an answer and the resulting write: the framework writes by name, and the new Node must not
// get the old Node's data.
func TestANodeThatIsReplaced(t *testing.T) {
	const address = "10.0.0.2"
	there := func(a *inventory.VM) states {
		return states{stateOf("east", a, newVM(uuidB, in("east", "b"), withNICs("a="+address)))}
	}
	is := func(n *v1.Node) bool {
		return n.Spec.ProviderID == "vsphere://"+uuidB && len(n.Spec.Taints) == 0 &&
			slices.Contains(n.Status.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: address})
	}
	for _, c := range []struct {
		name     string
		call     string
		old, new *v1.Node
		a        *inventory.VM
	}{
		{"while it is initialized", "InstanceMetadata", aNode("n", withSystemUUID(uuidA)), aNode("n", asNew, withSystemUUID(uuidB)), newVM(uuidA)},
		{"while its addresses are updated", "InstanceMetadata", aNode("n", runs), aNode("n", asNew, withProviderID("vsphere://"+uuidB), untainted, func(n *v1.Node) {
			n.Labels = map[string]string{topology.LabelZone: "b"}
			n.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeHostName, Address: "n"}, {Type: v1.NodeInternalIP, Address: address}, {Type: v1.NodeExternalIP, Address: address}}
		}), newVM(uuidA)},
		{"while it is tainted as shut down", "InstanceShutdown", aNode("n", runs, withRecord("east/vm-1"), silent), aNode("n", asNew, withSystemUUID(uuidB), silent), newVM(uuidA, withPower(inventory.PowerOff))},
	} {
		t.Run(c.name, func(t *testing.T) {
			withBoth(t, &fakeFleet{states: there(c.a)}, "", func(cl *cluster) {
				cl.asked.after(c.call, func(asked *v1.Node) {
					if asked.UID != c.old.UID {
						return
					}
					cl.asked.after("", nil)
					cl.delete("n")
					cl.create(c.new)
					// The informer receives the Node meanwhile.
					time.Sleep(gather)
				})
				cl.create(c.old)
				for range 4 {
					cl.pass(statusEvery)
					n := cl.node("n")
					if n.UID != "new" || !is(n) || n.Labels[topology.LabelZone] != "b" {
						cl.Fatalf("the new Node has %v, %v, %v, %v", n.Spec.ProviderID, n.Labels, n.Spec.Taints, n.Status.Addresses)
					}
				}
			})
		})
	}
}

// TestANodeThatIsReplacedWhileTheFrameworkReads: for two of its patches the framework does not ask the provider. It takes the
// change from the Node in the cache, and reads the Node of that name again before it writes.
func TestANodeThatIsReplacedWhileTheFrameworkReads(t *testing.T) {
	labeled := func(zone, beta string) func(*v1.Node) {
		return func(n *v1.Node) {
			n.Labels = map[string]string{topology.LabelZone: zone, v1.LabelFailureDomainBetaZone: beta}
		}
	}
	shutDown := func(n *v1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: cloudproviderapi.TaintNodeShutdown, Effect: v1.TaintEffectNoSchedule})
	}
	isShutDown := func(n *v1.Node) bool {
		return slices.ContainsFunc(n.Spec.Taints, func(t v1.Taint) bool { return t.Key == cloudproviderapi.TaintNodeShutdown })
	}
	const nobodys = "422e4956-ad22-1139-6d72-00000000000f"
	for name, c := range map[string]struct {
		old, new *v1.Node
		// done reports whether the patch has changed the Node, so that the framework was seen to write it.
		done func(*v1.Node) bool
	}{
		"to copy a label": {
			aNode("n", runs, labeled("b", "a")), aNode("n", asNew, withSystemUUID(nobodys)),
			func(n *v1.Node) bool { return n.Labels[topology.LabelZone] == "a" },
		},
		"to remove the taint of a VM that is shut down": {
			aNode("n", runs, shutDown), aNode("n", asNew, withSystemUUID(nobodys), silent, shutDown),
			func(n *v1.Node) bool { return !isShutDown(n) },
		},
	} {
		for _, replaced := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, replaced: %t", name, replaced), func(t *testing.T) {
				withBoth(t, &fakeFleet{states: states{stateOf("east", newVM(uuidA))}}, "", func(cl *cluster) {
					var reads atomic.Int64
					cl.client.PrependReactor("get", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
						reads.Add(1)
						old, err := cl.client.Tracker().Get(a.GetResource(), "", "n")
						if n, ok := old.(*v1.Node); err == nil && ok && replaced && n.UID == c.old.UID {
							if err := cl.client.Tracker().Delete(a.GetResource(), "", "n"); err != nil {
								cl.Error(err)
							}
							if err := cl.client.Tracker().Create(a.GetResource(), c.new, ""); err != nil {
								cl.Error(err)
							}
						}
						return false, nil, nil
					})
					cl.create(c.old)
					cl.pass(time.Minute)
					if reads.Load() == 0 {
						cl.Fatal("the framework has not read the Node")
					}
					n, want := cl.node("n"), c.old.UID
					if replaced {
						want = c.new.UID
					}
					if n.UID != want || c.done(n) == replaced {
						cl.Errorf("the Node has UID %s, labels %v, taints %v; want UID %s, changed: %t", n.UID, n.Labels, n.Spec.Taints, want, !replaced)
					}
				})
			})
		}
	}
}
