package placement

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/vcenter/inventory"
)

const uuidA = "422e4956-ad22-1139-6d72-59cc8f26bc90"

func mustUUID(s string) inventory.UUID {
	u, err := inventory.ParseUUID(s)
	if err != nil {
		panic(err)
	}
	return u
}

// aNode is a Node that waits.
func aNode(name string, changes ...func(*v1.Node)) *v1.Node {
	n := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)},
		Spec:       v1.NodeSpec{Taints: []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Effect: v1.TaintEffectNoSchedule}}},
	}
	for _, change := range changes {
		change(n)
	}
	return n
}

// runs is a Node that is initialized with the machine uuidA.
func runs(n *v1.Node) { n.Spec.ProviderID, n.Spec.Taints = "vsphere://"+uuidA, nil }

// both are the internal and external addresses.
func both(addresses ...string) []v1.NodeAddress {
	var all []v1.NodeAddress
	for _, a := range addresses {
		all = append(all, v1.NodeAddress{Type: v1.NodeInternalIP, Address: a}, v1.NodeAddress{Type: v1.NodeExternalIP, Address: a})
	}
	return all
}
