package nodeinfo

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/topology"
)

// The keys of ours on Nodes. They are in running clusters: another name would make vzones forget what
// it wrote there, so none of them may ever change. The configuration refuses them for labels.
const (
	// KeyMachine is the annotation that says where a Node's machine was found last:
	// the name of the vCenter's entry, a slash, the managed object ID.
	KeyMachine = "vzones/machine"
	// KeyVCenter is the annotation that says which vCenter that was, by its own UUID.
	// It is written with KeyMachine.
	KeyVCenter = "vzones/vcenter"
	// KeyInstanceUUID is the annotation with the instance UUID of that VM. It is written with KeyMachine.
	KeyInstanceUUID = "vzones/instance-uuid"
	// KeyLabels is the annotation that lists the labels of further levels that vzones
	// wrote, in order, with commas between them.
	KeyLabels = "vzones/labels"
	// KeyFormerAddresses is the annotation that lists the addresses of an initialized Node that its machine stopped
	// reporting, with commas between them, each as TYPE=IP. It is written with the addresses in their place.
	KeyFormerAddresses = "vzones/former-addresses"
	// KeyInitialized is the label of a Node that was initialized by vzones, or that has had its machine alone
	// since. No kubelet can set a label of that domain.
	KeyInitialized = "vzones.node-restriction.kubernetes.io/initialized"
	// DriftTaint is the taint of a Node that is not where its labels say.
	DriftTaint = "vzones/topology-drift"
	// TopologyReady is the condition that says whether a Node's topology labels are those of
	// its machine's place.
	TopologyReady = "vzones/TopologyReady"
)

// HasCSIDriver reports whether the vSphere CSI driver is registered on a Node, by the kubelet's annotation.
func HasCSIDriver(node *v1.Node) bool {
	return strings.Contains(node.Annotations["csi.volume.kubernetes.io/nodeid"], `"`+topology.CSIDriver+`"`)
}

// IsUninitialized reports whether a Node waits for the cloud provider.
func IsUninitialized(node *v1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == cloudproviderapi.TaintExternalCloudProvider })
}

// IsReady reports whether a Node is ready. The framework asks whether the machines of all
// others exist.
func IsReady(node *v1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == v1.NodeReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}
