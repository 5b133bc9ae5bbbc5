// Package nodestate reads from a Node what Kubernetes says of its state.
//
// It owns the meaning of the framework's taint and of the Ready condition. It changes no
// Node and keeps nothing.
package nodestate

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"
)

// IsUninitialized reports whether a Node waits for the cloud provider.
func IsUninitialized(node *v1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == cloudproviderapi.TaintExternalCloudProvider })
}

// IsReady reports whether a Node is ready. The framework asks whether the machines of all
// others exist.
func IsReady(node *v1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == v1.NodeReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}
