package provider

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"vzones/provider/report"
	"vzones/vcenter/inventory"
)

// waitingVM is a Node without an address, and its VM.
type waitingVM struct {
	name string
	made int // the time when the Node was created, in minutes
	// reports are the reported addresses in the format of nics.
	reports string
	node    []func(*v1.Node)
	vm      []func(*inventory.VM)
}

// TestTheOlderNodeGetsTheAddress that several VMs report, in every order of the framework's questions. The result is the
// same as by age.
func TestTheOlderNodeGetsTheAddress(t *testing.T) {
	const waits = "AddressConflict"
	off := withPower(inventory.PowerOff)
	for _, c := range []struct {
		name string
		vms  []waitingVM
		want map[string]string // the internal IP of each Node, or the reason why it has none
	}{
		{"the only address", []waitingVM{{name: "z", made: 1, reports: "a=10.0.0.1"}, {name: "a", made: 2, reports: "a=10.0.0.1"}},
			map[string]string{"z": "10.0.0.1", "a": waits}},
		{"created in the same second", []waitingVM{{name: "z", reports: "a=10.0.0.1"}, {name: "a", reports: "a=10.0.0.1"}},
			map[string]string{"z": waits, "a": "10.0.0.1"}},
		{"the younger has another one", []waitingVM{{name: "z", made: 1, reports: "a=10.0.0.1"}, {name: "a", made: 2, reports: "a=10.0.0.1,10.0.0.2"}},
			map[string]string{"z": "10.0.0.1", "a": "10.0.0.2"}},
		{"the older prefers another one", []waitingVM{{name: "z", made: 1, reports: "a=10.0.0.2,10.0.0.1"}, {name: "a", made: 2, reports: "a=10.0.0.1"}},
			map[string]string{"z": "10.0.0.2", "a": "10.0.0.1"}},
		{"three in a row", []waitingVM{{name: "z", made: 1, reports: "a=10.0.0.1"}, {name: "y", made: 2, reports: "a=10.0.0.1,10.0.0.2"}, {name: "x", made: 3, reports: "a=10.0.0.2,10.0.0.3"}},
			map[string]string{"z": "10.0.0.1", "y": "10.0.0.2", "x": "10.0.0.3"}},
		{"as --node-ip of both", []waitingVM{
			{name: "z", made: 1, reports: "a=10.0.0.1", node: []func(*v1.Node){withTheNodeIP}},
			{name: "a", made: 2, reports: "a=10.0.0.1", node: []func(*v1.Node){withTheNodeIP}},
		}, map[string]string{"z": "10.0.0.1", "a": waits}},
		{"as --node-ip of the younger", []waitingVM{{name: "z", made: 1, reports: "a=10.0.0.1"}, {name: "a", made: 2, reports: "a=10.0.0.1", node: []func(*v1.Node){withTheNodeIP}}},
			map[string]string{"z": "10.0.0.1", "a": waits}},
		{"as --node-ip that the VM of the older does not report", []waitingVM{
			{name: "z", made: 1, node: []func(*v1.Node){withTheNodeIP}, vm: []func(*inventory.VM){withoutAddress}},
			{name: "a", made: 2, reports: "a=10.0.0.1", node: []func(*v1.Node){withTheNodeIP}},
		}, map[string]string{"z": waits, "a": "10.0.0.1"}},
		{"the VM of the older is off", []waitingVM{{name: "z", made: 1, reports: "a=10.0.0.1", vm: []func(*inventory.VM){off}}, {name: "a", made: 2, reports: "a=10.0.0.1"}},
			map[string]string{"z": "VMPoweredOff", "a": "10.0.0.1"}},
		{"the older has no zone yet", []waitingVM{{name: "z", made: 1, reports: "a=10.0.0.1", vm: []func(*inventory.VM){in("east", "")}}, {name: "a", made: 2, reports: "a=10.0.0.1"}},
			map[string]string{"z": "TopologyMissing", "a": waits}},
		{"the older is another provider's", []waitingVM{{name: "z", made: 1, reports: "a=10.0.0.1", node: []func(*v1.Node){withProviderID("other://1")}}, {name: "a", made: 2, reports: "a=10.0.0.1"}},
			map[string]string{"z": "unmanaged", "a": "10.0.0.1"}},
		{"the older contradicts itself", []waitingVM{{name: "z", made: 1, reports: "a=10.0.0.1", node: []func(*v1.Node){withProviderID("vsphere://" + uuidOf(9))}}, {name: "a", made: 2, reports: "a=10.0.0.1"}},
			map[string]string{"z": "ProviderIDMismatch", "a": "10.0.0.1"}},
		{"on an interface that the guest made", []waitingVM{{name: "z", made: 1, reports: "a=10.0.0.2; b=10.0.0.1", vm: []func(*inventory.VM){func(m *inventory.VM) { m.NICs[1].DeviceConfigID = -1 }}}, {name: "a", made: 2, reports: "a=10.0.0.1"}},
			map[string]string{"z": "10.0.0.2", "a": "10.0.0.1"}},
	} {
		for _, order := range permutations(len(c.vms)) {
			t.Run(fmt.Sprintf("%s/%v", c.name, order), func(t *testing.T) {
				var nodes []*v1.Node
				var vms []*inventory.VM
				for i, vm := range c.vms {
					n := aNode(vm.name, append([]func(*v1.Node){withSystemUUID(uuidOf(i)), madeAt(vm.made)}, vm.node...)...)
					nodes = append(nodes, n)
					changes := []func(*inventory.VM){func(m *inventory.VM) {
						m.Name = vm.name
						m.HostName = vm.name
						if vm.reports != "" {
							m.NICs = nics(vm.reports)
						}
					}}
					vms = append(vms, newVM(uuidOf(i), append(changes, vm.vm...)...))
				}
				alone(t, &fakeFleet{states: states{stateOf("east", vms[:1]...), stateOf("west", vms[1:]...)}}, func(cl *cluster) {
					got := map[string]string{}
					for _, i := range order {
						got[c.vms[i].name] = cl.joinsWith(c.vms[i].name)
					}
					if diff := cmp.Diff(c.want, got); diff != "" {
						t.Errorf("asked in the order %v, the Nodes get (-want +got):\n%s", order, diff)
					}
				}, nodes...)
			})
		}
	}
}

// joinsWith returns the internal IP that a Node gets, or the reason why it stays uninitialized.
func (c *cluster) joinsWith(name string) string {
	n := c.node(name)
	if c.provider.placer.IsForeign(n) {
		return "unmanaged"
	}
	d, err := c.provider.placer.JoinAndReserve(n)
	if err != nil {
		return report.OutcomeOfError(err).Event
	}
	i := slices.IndexFunc(d.Metadata.NodeAddresses, func(a v1.NodeAddress) bool { return a.Type == v1.NodeInternalIP })
	return d.Metadata.NodeAddresses[i].Address
}

// uuidOf returns the UUID of the n-th VM.
func uuidOf(n int) string { return fmt.Sprintf("422e4956-ad22-1139-6d72-0000000001%02d", n) }

func withTheNodeIP(n *v1.Node) { withNodeIP(n, "10.0.0.1") }

// permutations returns all orders of the numbers below n.
func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{{}}
	}
	var all [][]int
	for _, shorter := range permutations(n - 1) {
		for i := range n {
			all = append(all, slices.Insert(slices.Clone(shorter), i, n-1))
		}
	}
	return all
}
