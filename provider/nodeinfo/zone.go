package nodeinfo

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	nodetopology "k8s.io/component-helpers/node/topology"

	"vzones/internal/quote"
)

// Zone is a zone of kube-controller-manager's node-lifecycle controller: a region and a zone label. Either may be empty.
type Zone struct{ Region, Zone string }

// excludeFromZones is a label of Nodes that the node-lifecycle controller leaves out of the health of their zones.
const excludeFromZones = "node.kubernetes.io/exclude-disruption"

// ZoneOf returns the zone whose health includes a Node, or zero for a Node without the labels.
func ZoneOf(node *v1.Node) Zone {
	if _, isExcluded := node.Labels[excludeFromZones]; isExcluded {
		return Zone{}
	}
	region, zone, _ := strings.Cut(nodetopology.GetZoneKey(node), ":\x00:")
	return Zone{Region: region, Zone: zone}
}

// String describes the zone in a message.
func (z Zone) String() string {
	return fmt.Sprintf("zone %s of region %s", quote.Value(z.Zone), quote.Value(z.Region))
}

// HasStoppedReporting reports whether the kubelet of a Node no longer reports its status. A Node that is not ready for
// another reason, such as a missing network plugin, still reports.
func HasStoppedReporting(node *v1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == v1.NodeReady && c.Status == v1.ConditionUnknown })
}
