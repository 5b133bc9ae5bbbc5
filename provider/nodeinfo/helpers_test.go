package nodeinfo

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/vcenter/inventory"
)

const (
	uuidA = "422e4956-ad22-1139-6d72-59cc8f26bc90"
	uuidB = "422e4956-ad22-1139-6d72-000000000002"
)

func mustUUID(s string) inventory.UUID {
	u, err := inventory.ParseUUID(s)
	if err != nil {
		panic(err)
	}
	return u
}

func aNode(changes ...func(*v1.Node)) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: v1.NodeSpec{
		Taints: []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Effect: v1.TaintEffectNoSchedule}},
	}}
	for _, change := range changes {
		change(n)
	}
	return n
}

func withSystemUUID(s string) func(*v1.Node) {
	return func(n *v1.Node) { n.Status.NodeInfo.SystemUUID = s }
}

func withProviderID(s string) func(*v1.Node) {
	return func(n *v1.Node) { n.Spec.ProviderID = s }
}
