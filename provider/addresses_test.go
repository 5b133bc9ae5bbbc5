package provider

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/provider/nodeinfo"
	"vzones/vcenter/inventory"
)

// nics parses "network=address,address; …". The devices are 4000, 4001 and so on.
func nics(s string) []inventory.NIC {
	var out []inventory.NIC
	for one := range strings.SplitSeq(s, ";") {
		name, list, _ := strings.Cut(strings.TrimSpace(one), "=")
		nic := inventory.NIC{Network: name, DeviceConfigID: int32(4000 + len(out))}
		for a := range strings.SplitSeq(list, ",") {
			nic.Addresses = append(nic.Addresses, netip.MustParseAddr(a))
		}
		out = append(out, nic)
	}
	return out
}

func withNICs(s string) func(*inventory.VM) {
	return func(m *inventory.VM) { m.NICs = nics(s) }
}

// withNodeIP sets the kubelet's --node-ip.
func withNodeIP(n *v1.Node, ip string) *v1.Node {
	metav1.SetMetaDataAnnotation(&n.ObjectMeta, cloudproviderapi.AnnotationAlphaProvidedIPAddr, ip)
	return n
}

// withStatus sets the addresses of a Node.
func withStatus(n *v1.Node, addresses ...v1.NodeAddress) *v1.Node {
	n.Status.Addresses = addresses
	return n
}

// both returns an internal and an external IP for each address.
func both(addresses ...string) []v1.NodeAddress {
	var out []v1.NodeAddress
	for _, a := range addresses {
		out = append(out, v1.NodeAddress{Type: v1.NodeInternalIP, Address: a}, v1.NodeAddress{Type: v1.NodeExternalIP, Address: a})
	}
	return out
}

// TestAnAddressThatIsLostForAWhileStays: another interface reports an address while the Node's interface has none. If that
// lasts, the Node gets the other address and an Event.
func TestAnAddressThatIsLostForAWhileStays(t *testing.T) {
	up, starting := newVM(uuidA, withNICs("a=10.0.0.1; b=10.1.0.1")), newVM(uuidA, withNICs("a=169.254.1.2; b=10.1.0.1"))
	node := withStatus(ours(), complete().NodeAddresses...)
	withFramework(t, &fakeFleet{states: states{stateOf("east", up)}}, func(c *cluster) {
		check := func(when string, want ...string) {
			t.Helper()
			if got := byAddress(c.node("node-1")); !slices.Equal(got, both(want...)) {
				t.Errorf("%s: the Node has the addresses %v, want %v", when, got, both(want...))
			}
		}
		// The framework asks during one of these passes.
		for range 6 {
			c.fleet.become(stateOf("east", starting))
			c.pass(3*time.Minute - time.Second)
			check("while it starts", "10.0.0.1")
			c.fleet.become(stateOf("east", up))
			c.pass(time.Minute)
		}
		c.fleet.become(stateOf("east", newVM(uuidA, withoutAddress, withPower(inventory.PowerOff))))
		c.pass(time.Hour)
		c.fleet.become(stateOf("east", starting))
		c.pass(3*time.Minute - time.Second)
		check("after it was off", "10.0.0.1")
		c.wantEvents()
		c.pass(statusEvery)
		check("when that lasts", "10.1.0.1")
		c.wantEvents("node-1 AddressesChanged")
		former := c.node("node-1").Annotations[nodeinfo.KeyFormerAddresses]
		if want := "InternalIP=10.0.0.1,ExternalIP=10.0.0.1"; former != want {
			t.Errorf("annotated with %q, want %q", former, want)
		}
		c.fleet.become(stateOf("east", newVM(uuidA, withNICs("a=10.0.0.1; b=10.1.0.1"), withPower(inventory.PowerOff), withoutAddress)))
		c.pass(statusEvery)
		check("while the VM is off", "10.1.0.1")
		c.fleet.become(stateOf("east", up))
		c.pass(statusEvery)
		check("when it is back", "10.0.0.1")
		c.wantEvents("node-1 AddressesChanged", "node-1 AddressesChanged")
		if former, is := c.node("node-1").Annotations[nodeinfo.KeyFormerAddresses]; is {
			t.Errorf("still annotated with %q", former)
		}
	}, node)
}

// TestAFloatingAddressDoesNotComeBack: its interface reported another address meanwhile.
func TestAFloatingAddressDoesNotComeBack(t *testing.T) {
	node := withStatus(ours(), complete().NodeAddresses...)
	withFramework(t, &fakeFleet{states: states{stateOf("east", newVM(uuidA, withNICs("a=10.0.0.1,10.0.0.9")))}}, func(c *cluster) {
		for _, reported := range []string{"a=10.0.0.9", "a=10.0.0.1,10.0.0.9"} {
			c.fleet.become(stateOf("east", newVM(uuidA, withNICs(reported))))
			c.pass(2 * statusEvery)
			if got := byAddress(c.node("node-1")); !slices.Equal(got, both("10.0.0.9")) {
				t.Errorf("VMware Tools report %s: the Node has the addresses %v, want %v", reported, got, both("10.0.0.9"))
			}
		}
	}, node)
}

func TestAnAddressThatAnotherNodeHasIsNotWaitedFor(t *testing.T) {
	node := withStatus(ours(), complete().NodeAddresses...)
	withFramework(t, &fakeFleet{states: states{stateOf("east", newVM(uuidA))}}, func(c *cluster) {
		c.pass(statusEvery - time.Minute)
		other := newVM(uuidB, func(m *inventory.VM) { m.Name, m.HostName = "other", "other" })
		c.fleet.become(stateOf("east", newVM(uuidA, withNICs("a=10.0.0.9")), other))
		c.create(aNode("other", withSystemUUID(uuidB)))
		c.pass(time.Minute) // the framework asks
		for name, want := range map[string]string{"node-1": "10.0.0.9", "other": "10.0.0.1"} {
			if got := byAddress(c.node(name)); !slices.Equal(got, both(want)) {
				t.Errorf("%s has %v", name, got)
			}
		}
	}, node)
}

// TestOthersMayChangeTheirAddresses: changed addresses of a Node that vSphere does not have get no Event.
func TestOthersMayChangeTheirAddresses(t *testing.T) {
	alone(t, &fakeFleet{states: states{stateOf("east")}}, func(c *cluster) {
		n := withStatus(c.node("metal").DeepCopy(), both("10.0.0.2")...)
		c.updateStatus(n)
		c.pass(time.Minute)
		c.wantEvents()
	}, withStatus(aNode("metal", untainted), both("10.0.0.1")...))
}

// TestTheAddressLoopAsksBeforeTheFirstAddresses: the framework removes the taint and then writes the addresses. Its address
// loop must not replace the guest's host name if it asks in between.
func TestTheAddressLoopAsksBeforeTheFirstAddresses(t *testing.T) {
	p, _ := provide(states{stateOf("east", newVM(uuidA, func(m *inventory.VM) { m.HostName = "guest" }))})
	node := withStatus(aNode("node-1", withSystemUUID(uuidA)), v1.NodeAddress{Type: v1.NodeHostName, Address: "node-1"})
	joining, err := p.InstanceMetadata(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	untainted(node)
	node.Spec.ProviderID = joining.ProviderID
	running, err := p.InstanceMetadata(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(joining.NodeAddresses, running.NodeAddresses); d != "" {
		t.Errorf("the addresses of the initialization (-) and of the address loop (+):\n%s", d)
	}
}

// TestAHostNameThatIsAnotherNodesName: such a name, which any guest can report, is only kept, never given.
func TestAHostNameThatIsAnotherNodesName(t *testing.T) {
	guestSays := func(name string) func(*inventory.VM) {
		return func(m *inventory.VM) { m.Name, m.HostName = "liar", name }
	}
	had := withStatus(aNode("had-it", withProviderID("vsphere://"+uuidB), untainted), append(both("10.0.0.2"), v1.NodeAddress{Type: v1.NodeHostName, Address: "victim"})...)
	fleet := &fakeFleet{states: states{stateOf("east", newVM(uuidA, guestSays("Victim")), newVM(uuidB, guestSays("had-it"), withNICs("a=10.0.0.2")))}}
	withFramework(t, fleet, func(c *cluster) {
		c.pass(2 * statusEvery)
		for name, want := range map[string]string{"joins": "joins", "had-it": "victim"} {
			i := slices.IndexFunc(c.node(name).Status.Addresses, func(a v1.NodeAddress) bool { return a.Type == v1.NodeHostName })
			if got := c.node(name).Status.Addresses; i < 0 || got[i].Address != want {
				t.Errorf("Node %s has the addresses %v, want the Hostname %s", name, got, want)
			}
		}
	}, aNode("victim"), aNode("joins", withSystemUUID(uuidA)), had)
}
