package addresses

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"
	helpers "k8s.io/cloud-provider/node/helpers"
)

// Written returns the addresses as the framework's node controller writes them, with the Node's host name
// and --node-ip.
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

// Unchanged reports whether the Node already has the addresses as written. The framework compares only one
// address of each type, and would rewrite a Node with two internal IPs forever. The order of types is ignored:
// the API server changes it.
func Unchanged(node *v1.Node, addresses []v1.NodeAddress) bool {
	written, err := Written(node, addresses)
	return err == nil && slices.Equal(byType(written), byType(node.Status.Addresses))
}

func byType(addresses []v1.NodeAddress) []v1.NodeAddress {
	addresses = slices.Clone(addresses)
	slices.SortStableFunc(addresses, func(a, b v1.NodeAddress) int { return cmp.Compare(a.Type, b.Type) })
	return addresses
}
