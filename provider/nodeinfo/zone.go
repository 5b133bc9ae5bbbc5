package nodeinfo

import (
	"fmt"
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
