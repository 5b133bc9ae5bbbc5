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
	// VMGone is the value of the taint node.kubernetes.io/out-of-service on a Node whose VM does not exist.
	VMGone = "vm-gone"
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

// OutOfServiceTaint returns a Node's out-of-service taint, or nil, and whether vzones added it. Another client's taint
// has another value or effect. No kubelet can change taints.
func OutOfServiceTaint(node *v1.Node) (taint *v1.Taint, isOurs bool) {
	for i := range node.Spec.Taints {
		if t := &node.Spec.Taints[i]; t.Key == v1.TaintNodeOutOfService {
			taint = t
			if IsVMGone(*t) {
				return t, true
			}
		}
	}
	return taint, false
}

// IsVMGone reports whether a taint is the out-of-service taint of vzones.
func IsVMGone(t v1.Taint) bool {
	return t.Key == v1.TaintNodeOutOfService && t.Value == VMGone && t.Effect == v1.TaintEffectNoExecute
}

// IsReady reports whether a Node is ready.
func IsReady(node *v1.Node) bool { return readiness(node) == v1.ConditionTrue }

// IsSilent reports whether a Node's kubelet no longer reports its status. A Node that is not ready for another reason, such
// as a missing network plugin, still reports.
func IsSilent(node *v1.Node) bool { return readiness(node) == v1.ConditionUnknown }

func readiness(node *v1.Node) v1.ConditionStatus {
	for _, c := range node.Status.Conditions {
		if c.Type == v1.NodeReady {
			return c.Status
		}
	}
	return ""
}
