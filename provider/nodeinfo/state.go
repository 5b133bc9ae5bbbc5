package nodeinfo

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/topology"
)

// Keys that vzones writes to Nodes. They must never change.
const (
	// KeyVM is the annotation of the VM's last location: vCenter entry, slash, managed object ID.
	KeyVM = topology.OwnDomain + "/vm"
	// KeyVCenter is the annotation of that vCenter's instance UUID.
	KeyVCenter = topology.OwnDomain + "/vcenter"
	// KeyInstanceUUID is the annotation of the VM's instance UUID.
	KeyInstanceUUID = topology.OwnDomain + "/instance-uuid"
	// KeyLabels is the annotation of the level labels that vzones wrote and may remove, sorted, with commas.
	KeyLabels = topology.OwnDomain + "/labels"
	// KeyFormerAddresses is the annotation of addresses that the VM stopped reporting, as TYPE=IP with commas.
	KeyFormerAddresses = topology.OwnDomain + "/former-addresses"
	// KeyInitialized labels Nodes that vzones initialized or found to be the only Node of their VM. No kubelet
	// can set a label of a domain that ends with node-restriction.kubernetes.io.
	KeyInitialized = topology.OwnDomain + ".node-restriction.kubernetes.io/initialized"
	// DriftTaint taints a Node whose labels differ from its placement.
	DriftTaint = topology.OwnDomain + "/topology-drift"
	// TopologyReady reports whether a Node's topology labels match its placement.
	TopologyReady = topology.OwnDomain + "/TopologyReady"
)

// HasCSIDriver reports whether the vSphere CSI driver is registered on a Node.
func HasCSIDriver(node *v1.Node) bool {
	return strings.Contains(node.Annotations["csi.volume.kubernetes.io/nodeid"], `"`+topology.CSIDriver+`"`)
}

// IsUninitialized reports whether a Node has the cloud provider's taint.
func IsUninitialized(node *v1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == cloudproviderapi.TaintExternalCloudProvider })
}

// IsReady reports whether a Node is ready.
func IsReady(node *v1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == v1.NodeReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}
