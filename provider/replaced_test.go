package provider

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/topology"
	"vzones/vcenter/inventory"
)

func withUID(uid types.UID) func(*v1.Node) { return func(n *v1.Node) { n.UID = uid } }

// TestANodeThatIsReplaced between an answer and the write that follows from it: the framework
// writes by name, and the new Node gets nothing of the old one's.
func TestANodeThatIsReplaced(t *testing.T) {
	const address = "10.0.0.2"
	there := func(a *inventory.Machine) states {
		return states{stateOf("east", a, machine(uuidB, in("east", "b"), withNICs("a="+address)))}
	}
	is := func(n *v1.Node) bool {
		return n.Spec.ProviderID == "vsphere://"+uuidB && len(n.Spec.Taints) == 0 &&
			slices.Contains(n.Status.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: address})
	}
	for _, c := range []struct {
		name     string
		call     string
		old, new *v1.Node
		a        *inventory.Machine
	}{
		{"while it is initialized", "InstanceMetadata", aNode("n", withSystemUUID(uuidA)), aNode("n", withUID("new"), withSystemUUID(uuidB)), machine(uuidA)},
		{"while its addresses are updated", "InstanceMetadata", aNode("n", runs), aNode("n", withUID("new"), withProviderID("vsphere://"+uuidB), untainted, func(n *v1.Node) {
			n.Labels = map[string]string{topology.LabelZone: "b"}
			n.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeHostName, Address: "n"}, {Type: v1.NodeInternalIP, Address: address}, {Type: v1.NodeExternalIP, Address: address}}
		}), machine(uuidA)},
		{"while it is tainted as shut down", "InstanceShutdown", aNode("n", runs, silent), aNode("n", withUID("new"), withSystemUUID(uuidB), silent), machine(uuidA, withPower(inventory.PowerOff))},
	} {
		t.Run(c.name, func(t *testing.T) {
			withBoth(t, &fakeFleet{states: there(c.a)}, "", func(cl *cluster) {
				cl.asked.after(c.call, func(asked *v1.Node) {
					if asked.UID != c.old.UID {
						return
					}
					cl.asked.after("", nil)
					if err := cl.client.CoreV1().Nodes().Delete(cl.ctx, "n", metav1.DeleteOptions{}); err != nil {
						cl.Error(err)
					}
					cl.create(c.new)
					time.Sleep(gather) // and the informer has it
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
