package nodecache

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/nodeinfo"
	"vzones/topology/quote"
	"vzones/vcenter/inventory"
)

const (
	// longestProviderID is longer than any cloud's provider IDs. One that is longer is
	// kept as its beginning, which says whose it is, and can be nobody's UUID.
	longestProviderID = 1024
	// providerIDKept is how many bytes of it are kept; with its length it is shown whole.
	providerIDKept = 96
	// longestAddress is that of a host name, longestAddressType of what says its kind.
	longestAddress, longestAddressType = 253, 63
	// longestCondition is more than the status, the reason and the message of a condition of
	// ours have. A longer one is somebody else's, and is written again.
	longestCondition = quote.LongestNote + 128
	// mostAddresses is more than a Node has.
	mostAddresses = 256
)

// slim keeps less of each Node, before it gets into the cache: who set which field is a
// third of it, and images, conditions and the like are most of the rest, which a kubelet
// can also make a megabyte long. All readers of Nodes here share the cache, and so does
// the framework.
//
// The framework writes Nodes back as they are in the cache (its node controller updates
// those that it initializes). An update of a Node does not touch its status, and patches
// of the status say only what differs, so all but what is read may be left out of it. Of
// the rest everything stays that the API server would take a change of: labels,
// annotations, taints. A provider ID cannot be changed once it is set, so that an update
// with a shortened one would be refused as a whole.
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
