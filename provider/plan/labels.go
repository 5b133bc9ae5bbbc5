package plan

import (
	v1 "k8s.io/api/core/v1"

	"vzones/topology"
)

// LabelType is the label of a Node's instance type. It has a beta twin.
const LabelType = v1.LabelInstanceTypeStable

// StableAndBeta returns the keys that have a label's value. The framework's node
// controller copies the beta label over the stable one, so it comes first.
func StableAndBeta(label string) []string {
	switch label {
	case topology.LabelRegion:
		return []string{v1.LabelFailureDomainBetaRegion, label}
	case topology.LabelZone:
		return []string{v1.LabelFailureDomainBetaZone, label}
	case LabelType:
		return []string{v1.LabelInstanceType, label}
	}
	return []string{label}
}

// IsLevel reports whether a label is one of a further level, and neither region nor zone.
func IsLevel(label string) bool {
	switch label {
	case topology.LabelRegion, topology.LabelZone, v1.LabelFailureDomainBetaRegion, v1.LabelFailureDomainBetaZone:
		return false
	}
	return true
}

// Lacking returns the first label that a Node does not have with the value that its placement
// gives, empty if it has them all.
func Lacking(node *v1.Node, placed topology.Placement) string {
	for _, d := range placed.Decisions {
		for _, key := range StableAndBeta(d.Label) {
			if value, there := node.Labels[key]; !there || value != d.Value {
				return key
			}
		}
	}
	return ""
}
