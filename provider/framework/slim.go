package framework

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"vzones/internal/quote"
	"vzones/provider/nodeinfo"
	"vzones/provider/plan"
	"vzones/vcenter/inventory"
)

const (
	// longestProviderID exceeds any cloud's provider IDs. A longer one is cut to providerIDKept bytes, which
	// identify the provider and are no valid UUID.
	longestProviderID  = 1024
	providerIDKept     = 96
	longestAddress     = 253
	longestAddressType = 63
	// longestCondition: a longer condition is not ours and is overwritten.
	longestCondition = quote.LongestNote + 128
	mostAddresses    = 256
)

// slim drops the unused parts of a Node, which are most of it and which a kubelet can make a megabyte long.
//
// The framework writes cached Nodes back. An update ignores the status, and a patch contains only
// differences, but labels, annotations and taints must stay whole. The API server rejects an update with a
// cut provider ID.
func slim(object any) (any, error) {
	n, ok := object.(*v1.Node)
	if !ok {
		return object, nil
	}
	n.ManagedFields = plan.KubeletFields(n)
	if id := n.Spec.ProviderID; len(id) > longestProviderID {
		n.Spec.ProviderID = fmt.Sprintf("%s… (%d bytes)", id[:providerIDKept], len(id))
	}
	status := v1.NodeStatus{Addresses: n.Status.Addresses}
	if len(n.Status.VolumesAttached) > 0 {
		// Only their presence matters: a kubelet can write any number of any length.
		status.VolumesAttached = []v1.AttachedVolume{{}}
	}
	if u := n.Status.NodeInfo.SystemUUID; len(u) <= inventory.MaxUUIDLength {
		status.NodeInfo.SystemUUID = u
	}
	for _, c := range n.Status.Conditions {
		switch {
		case c.Type == v1.NodeReady:
			status.Conditions = append(status.Conditions, v1.NodeCondition{Type: c.Type, Status: c.Status})
		case c.Type == nodeinfo.TopologyReady && len(c.Status)+len(c.Reason)+len(c.Message) <= longestCondition:
			status.Conditions = append(status.Conditions, v1.NodeCondition{
				Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message, LastTransitionTime: c.LastTransitionTime,
			})
		}
	}
	isTooLong := func(a v1.NodeAddress) bool {
		return len(a.Address) > longestAddress || len(a.Type) > longestAddressType
	}
	if len(status.Addresses) > mostAddresses || slices.ContainsFunc(status.Addresses, isTooLong) {
		valid := slices.DeleteFunc(slices.Clone(status.Addresses), isTooLong)
		status.Addresses = slices.Clone(valid[:min(len(valid), mostAddresses)])
	}
	n.Status = status
	return n, nil
}
