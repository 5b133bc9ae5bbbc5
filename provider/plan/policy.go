package plan

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"vzones/config"
	"vzones/provider/keys"
	"vzones/topology"
)

// A Policy says what may be done to running Nodes.
type Policy struct{ *config.Topology }

// IsRemovable reports whether a label can be one that vzones may remove. Region and zone
// are none: volumes are bound to them. Nor is any other label that is reserved,
// although the annotation may list it: kubelets may write annotations of their Nodes,
// and may not take Kubernetes' own labels off them.
func IsRemovable(label string) bool { return topology.ReservedDomain(label) == "" }

// ownedBy returns the labels that vzones wrote to a Node and that are still there.
func ownedBy(node *v1.Node) []string {
	var own []string
	for key := range strings.SplitSeq(node.Annotations[keys.Labels], ",") {
		if _, there := node.Labels[key]; there && IsRemovable(key) {
			own = append(own, key)
		}
	}
	slices.Sort(own)
	return slices.Compact(own)
}

// Own returns what the annotation keys.Labels of a Node has to be once it was given labels, as far
// as it has their values.
func Own(node *v1.Node, given map[string]string) string {
	p := Plan{Owned: ownedBy(node)}
	for label, value := range given {
		if node.Labels[label] == value && IsRemovable(label) {
			p.own(label)
		}
	}
	return strings.Join(p.Owned, ",")
}

// IsTainted reports whether a Node has the taint of drift.
func IsTainted(node *v1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == keys.DriftTaint })
}
