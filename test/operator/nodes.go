package operator

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"vzones/test/stack"
)

// allHaveAddresses reports whether each Node is initialized and has addresses, which the framework
// writes after it has removed its taint.
func allHaveAddresses(nodes []*v1.Node) bool {
	for _, n := range nodes {
		if !slices.ContainsFunc(n.Status.Addresses, func(a v1.NodeAddress) bool { return a.Type == v1.NodeInternalIP }) {
			return false
		}
	}
	return allInitialized(nodes)
}

func allInitialized(nodes []*v1.Node) bool {
	for _, n := range nodes {
		if !stack.Initialized(n) {
			return false
		}
	}
	return len(nodes) > 0
}
