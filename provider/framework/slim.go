package framework

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"vzones/internal/quote"
	"vzones/provider/nodeinfo"
	"vzones/vcenter/inventory"
)

const (
	// longestProviderID exceeds any cloud's provider IDs. A longer one is cut to a beginning that still identifies
	// the provider and is no valid UUID.
	longestProviderID = 1024
	// providerIDKept is the length of that beginning, in bytes.
	providerIDKept = 96
	// longestAddress is the greatest length of a host name, in bytes.
	longestAddress     = 253
	longestAddressType = 63
	// longestCondition exceeds the status, reason and message of our condition. A longer condition is not ours and is
	// overwritten.
	longestCondition = quote.LongestNote + 128
	mostAddresses    = 256
)

// slim drops the parts of a Node that are not read before it enters the cache. Managed fields are a third of a Node,
// images and conditions most of the rest, and a kubelet can make them a megabyte long.
//
// The framework's node controller writes cached Nodes back. That is safe for the status: an update ignores it, and a
// patch contains only differences. Labels, annotations and taints must stay whole, because an update would remove them.
// A provider ID is immutable, so the API server rejects an update with a cut one.
func slim(object any) (any, error) {
	n, ok := object.(*v1.Node)
	if !ok {
		return object, nil
	}
	n.ManagedFields = nil
	if id := n.Spec.ProviderID; len(id) > longestProviderID {
		n.Spec.ProviderID = fmt.Sprintf("%s… (%d bytes)", id[:providerIDKept], len(id))
	}
	status := v1.NodeStatus{Addresses: n.Status.Addresses}
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
	odd := func(a v1.NodeAddress) bool {
		return len(a.Address) > longestAddress || len(a.Type) > longestAddressType
	}
	if len(status.Addresses) > mostAddresses || slices.ContainsFunc(status.Addresses, odd) {
		few := slices.DeleteFunc(slices.Clone(status.Addresses), odd)
		status.Addresses = slices.Clone(few[:min(len(few), mostAddresses)])
	}
	n.Status = status
	return n, nil
}
