package reconcile

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"vzones/config"
	"vzones/provider/keys"
	"vzones/topology"
)

// policy says what may be done to running Nodes.
type policy struct{ *config.Topology }

// twins returns the keys that have a label's value. The framework's node
// controller copies the beta label over the stable one, so it comes first.
func twins(label string) []string {
	switch label {
	case topology.LabelRegion:
		return []string{v1.LabelFailureDomainBetaRegion, label}
	case topology.LabelZone:
		return []string{v1.LabelFailureDomainBetaZone, label}
	case labelType:
		return []string{v1.LabelInstanceType, label}
	}
	return []string{label}
}

// isLevel says whether a label is one of a further level, and neither region nor zone.
func isLevel(label string) bool {
	switch label {
	case topology.LabelRegion, topology.LabelZone, v1.LabelFailureDomainBetaRegion, v1.LabelFailureDomainBetaZone:
		return false
	}
	return true
}

// isRemovable says whether a label can be one that vzones may remove. Region and zone
// are none: volumes are bound to them. Nor is any other label that is reserved,
// although the annotation may list it: kubelets may write annotations of their Nodes,
// and may not take Kubernetes' own labels off them.
func isRemovable(label string) bool { return topology.ReservedDomain(label) == "" }

// owned returns the labels that vzones wrote to a Node and that are still there.
func owned(node *v1.Node) []string {
	var own []string
	for key := range strings.SplitSeq(node.Annotations[keys.Labels], ",") {
		if _, there := node.Labels[key]; there && isRemovable(key) {
			own = append(own, key)
		}
	}
	slices.Sort(own)
	return slices.Compact(own)
}

func isTainted(node *v1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == keys.DriftTaint })
}
