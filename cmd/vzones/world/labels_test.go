package world

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"vzones/provider/placement"
	"vzones/provider/plan"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// TestInstanceTypeOfAJoiningNode: a Node is initialized with the type of its VM even if the guest system is unknown;
// the type of an initialized Node then stays.
func TestInstanceTypeOfAJoiningNode(t *testing.T) {
	const incomplete = "vsphere-vm.cpu-2.mem-4gb.os-unknown"
	look := &Look{
		Node:          &v1.Node{},
		Uninitialized: true,
		Place: placement.Decision{
			VM:        &inventory.VM{},
			Placement: topology.Placement{},
			Metadata:  &cloudprovider.InstanceMetadata{InstanceType: incomplete},
		},
	}
	if l := look.Label(plan.LabelInstanceType); l.Result != incomplete || l.Action != ActionInitialize || l.Source == "" {
		t.Errorf("joining: %+v", l)
	}
	look.Uninitialized = false
	look.Place.Metadata = nil
	if l := look.Label(plan.LabelInstanceType); l.Result != "" || l.Action != "" {
		t.Errorf("initialized: %+v", l)
	}
}
