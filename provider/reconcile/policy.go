package reconcile

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"vzones/config"
	"vzones/topology"
)

// policy says what may be done to running Nodes.
type policy struct{ config.Topology }

// Keys of ours on Nodes. They are in running clusters: another name would make
// vzones forget what it wrote there, so none of them may ever change.
const (
	// labelsKey is the annotation that lists the labels of further levels that
	// vzones wrote, in order, with commas between them.
	labelsKey = "vzones/labels"
	// taintKey is the taint of a Node that is not where its labels say.
	taintKey = "vzones/topology-drift"
)

// twins returns the keys that have a label's value. The framework's node
// controller copies the beta label over the stable one, so it comes first.
func twins(label string) []string {
	switch label {
	case topology.LabelRegion:
		return []string{v1.LabelFailureDomainBetaRegion, label}
	case topology.LabelZone:
		return []string{v1.LabelFailureDomainBetaZone, label}
	}
	return []string{label}
}

// isLevel says whether a label can be one of a further level, which is what vzones
// may remove. Region and zone are none: volumes are bound to them. Nor is any other
// label that is reserved, although the annotation may list it: kubelets may write
// annotations of their Nodes, and may not take Kubernetes' own labels off them.
func isLevel(label string) bool {
	prefix, _, prefixed := strings.Cut(label, "/")
	return !prefixed || !slices.ContainsFunc(reserved, func(domain string) bool {
		return prefix == domain || strings.HasSuffix(prefix, "."+domain)
	})
}

// reserved are the domains of labels that no configuration names.
var reserved = []string{"kubernetes.io", "k8s.io", "topology.csi.vmware.com"}

// owned returns the labels that vzones wrote to a Node and that are still there.
func owned(node *v1.Node) []string {
	var keys []string
	for key := range strings.SplitSeq(node.Annotations[labelsKey], ",") {
		if _, there := node.Labels[key]; there && isLevel(key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func isTainted(node *v1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == taintKey })
}
