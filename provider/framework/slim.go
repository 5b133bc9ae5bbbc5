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
	// longestProviderID is longer than any cloud's provider IDs. One that is longer is
	// kept as its beginning, which says whose it is, and can be nobody's UUID.
	longestProviderID = 1024
	// providerIDKept is how many bytes of it are kept; with its length it is shown whole.
	providerIDKept = 96
	// longestAddress is the greatest length of a host name, in bytes.
	longestAddress = 253
	// longestAddressType is the greatest length of an address's type, in bytes.
	longestAddressType = 63
	// longestCondition is more than the status, the reason and the message of a condition of
	// ours have. A longer one is somebody else's, and is written again.
	longestCondition = quote.LongestNote + 128
	// mostAddresses is more than a Node has.
	mostAddresses = 256
)

// slim removes fields of a Node before the Node gets into the cache. Managed fields are a third of a Node, and
// images, conditions and the like are most of the rest; a kubelet can make them a megabyte long. The framework
// and all other readers of Nodes share the cache.
//
// The framework's node controller writes a Node back as it is in the cache. An update of a Node does not change
// its status, and a patch of the status has only differences, so every field of the status that nobody reads may
// go. Labels, annotations and taints stay whole, because the API server would take a change of them. A provider
// ID that is set cannot be changed, so an update with a shortened one is refused as a whole.
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
