package plan

import (
	v1 "k8s.io/api/core/v1"

	"vzones/provider/placement"
)

// Differences returns how the labels of an initialized Node differ from its place, whatever is done
// about that: topology labels in the order of the policy, then the instance type.
func (p *Policy) Differences(node *v1.Node, place *placement.Decision) []Difference {
	var all []Difference
	if place.PlaceErr == nil {
		all = p.differences(node, place.Placement, ownedBy(node))
	}
	if d, differs := compareType(node, place); differs {
		all = append(all, d)
	}
	return all
}
