package operator

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/provider/nodeinfo"
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

// hasEvent returns a function that reports whether vzones has recorded an Event on a Node, and has
// written on each initialized one which machine it has.
func hasEvent(s *stack.Stack, node string) func([]*v1.Node) bool {
	return func(nodes []*v1.Node) bool {
		if slices.ContainsFunc(nodes, func(n *v1.Node) bool { return stack.Initialized(n) && n.Annotations[nodeinfo.KeyMachine] == "" }) {
			return false
		}
		ctx, cancel := context.WithTimeout(context.Background(), startTime)
		defer cancel()
		events, err := s.Client.CoreV1().Events(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{FieldSelector: "source=vzones,involvedObject.name=" + node})
		return err == nil && len(events.Items) > 0
	}
}
