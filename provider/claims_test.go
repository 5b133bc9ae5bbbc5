package provider

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/addresses"
	"vzones/provider/nodeinfo"
	"vzones/vcenter/inventory"
)

// claimant is an initialized Node with the address that machine A reports, 10.0.0.1.
func claimant(changes ...func(*v1.Node)) *v1.Node {
	n := aNode("claimant", withProviderID("vsphere://"+uuidB), untainted)
	n.Status.Addresses = both("10.0.0.1")
	for _, change := range changes {
		change(n)
	}
	return n
}

// TestAddressOfAnotherNode: a Node whose machine has no other address waits for another
// Node whose machine has it, or had it when that was last known, and not for one that has
// had it, nor for one that only says so.
func TestAddressOfAnotherNode(t *testing.T) {
	static := func(m *inventory.Machine) { m.Static = []netip.Addr{netip.MustParseAddr("10.0.0.1")} }
	off := func(m *inventory.Machine) { m.Power, m.NICs = inventory.PowerOff, nil }
	b := func(changes ...func(*inventory.Machine)) inventory.State {
		return stateOf("west", machine(uuidB, changes...))
	}
	foreign := func(n *v1.Node) { n.Spec.ProviderID = "other://1" }
	for _, c := range []struct {
		name  string
		other *v1.Node
		west  inventory.State
		// seen says that the other's machine reported the address before.
		seen, waits bool
	}{
		{"the machine reports it", claimant(), b(), false, true},
		{"it is one of several", claimant(), b(withNICs("a=10.0.0.2; b=10.0.0.1")), false, true},
		{"the machine reports another", claimant(), b(withNICs("a=10.0.0.2")), true, false},
		{"and is configured with it", claimant(), b(withNICs("a=10.0.0.2"), static), false, true},
		{"the machine reports none any more", claimant(), b(withoutAddress), true, true},
		{"the machine reports none", claimant(), b(withoutAddress), false, false},
		{"the machine is off", claimant(), b(off), true, false},
		{"and is configured with it", claimant(silent), b(off, static), false, true},
		{"the machine was suspended", claimant(), b(withoutAddress, withPower(inventory.PowerSuspended)), true, true},
		{"the machine is suspended", claimant(), b(withoutAddress, withPower(inventory.PowerSuspended)), false, false},
		{"the machine is gone", claimant(silent), stateOf("west"), true, false},
		{"but a kubelet runs", claimant(ready(v1.ConditionTrue)), stateOf("west"), true, true},
		{"there never was a machine", claimant(ready(v1.ConditionTrue)), stateOf("west"), false, false},
		{"the machine is not known any more", claimant(), failing(stateOf("west")), true, true},
		{"the machine is not known", claimant(), failing(stateOf("west")), false, false},
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
			alone(t, &fakeFleet{states: states{stateOf("east", machine(uuidA)), first}}, func(cl *cluster) {
				cl.pass(time.Second)
				cl.fleet.become(stateOf("east", machine(uuidA)), c.west)
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

// TestOneNodeIPOfTwo: neither of two kubelets with one --node-ip gets it, whoever
// comes first, while both machines report it.
func TestOneNodeIPOfTwo(t *testing.T) {
	a, b := machine(uuidA), machine(uuidB)
	withFramework(t, &fakeFleet{states: states{stateOf("east", a, b)}}, func(c *cluster) {
		c.pass(delay + time.Second)
		got := c.events()
		slices.Sort(got)
		if strings.Join(got, ", ") != "node-a AddressConflict, node-b AddressConflict" {
			t.Errorf("Events %q", got)
		}
		c.fleet.become(stateOf("east", a, machine(uuidB, withNICs("a=10.0.0.2"))))
		c.pass(time.Second)
		if nodeinfo.IsUninitialized(c.node("node-a")) || !nodeinfo.IsUninitialized(c.node("node-b")) {
			t.Error("the one that has it does not get it")
		}
	}, withNodeIP(aNode("node-a", withSystemUUID(uuidA)), "10.0.0.1"), withNodeIP(aNode("node-b", withSystemUUID(uuidB)), "10.0.0.1"))
}

// TestNobodyTakesTheAddressOfARunningNode: not a Node that claims it, nor a machine
// that reports it too.
func TestNobodyTakesTheAddressOfARunningNode(t *testing.T) {
	runs := aNode("runs", withProviderID("vsphere://"+uuidA), untainted)
	runs.Status.Addresses = both("10.0.0.1")
	fleet := &fakeFleet{states: states{stateOf("east", machine(uuidA, withNICs("a=10.0.0.9,10.0.0.1")), machine(uuidB))}}
	withFramework(t, fleet, func(c *cluster) {
		c.pass(2 * statusEvery)
		if got := byAddress(c.node("runs")); !slices.Equal(got, both("10.0.0.1")) {
			t.Errorf("has %v", got)
		}
	}, runs, claimant())
}
