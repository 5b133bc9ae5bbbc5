package addresses

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"
	helpers "k8s.io/cloud-provider/node/helpers"
)

// Written returns what the framework's node controller makes of a Node's
// addresses before it writes them: where they have no host name, the Node keeps
// its own; an address that the kubelet was given comes first, as the only one
// of its type. The error is the framework's, which writes nothing then.
func Written(node *v1.Node, addresses []v1.NodeAddress) ([]v1.NodeAddress, error) {
	isHostName := func(a v1.NodeAddress) bool { return a.Type == v1.NodeHostName }
	if !slices.ContainsFunc(addresses, isHostName) {
		addresses = slices.Clone(addresses)
		for _, a := range node.Status.Addresses {
			if isHostName(a) {
				addresses = append(addresses, a)
			}
		}
	}
	if provided, ok := node.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr]; ok {
		return helpers.GetNodeAddressesFromNodeIP(provided, addresses)
	}
	return addresses, nil
}

// Unchanged reports whether the Node already has what the framework would write.
// The framework itself compares one address of each type, and so writes a Node
// with two internal IPs again and again. The order of the types does not count:
// the API server changes it. That of the addresses of a type does, for the first
// internal IP is the Node's primary one.
func Unchanged(node *v1.Node, addresses []v1.NodeAddress) bool {
	written, err := Written(node, addresses)
	return err == nil && slices.Equal(byType(written), byType(node.Status.Addresses))
}

func byType(addresses []v1.NodeAddress) []v1.NodeAddress {
	addresses = slices.Clone(addresses)
	slices.SortStableFunc(addresses, func(a, b v1.NodeAddress) int { return cmp.Compare(a.Type, b.Type) })
	return addresses
}
