package watch

import (
	"slices"
	"strings"

	"vzones/vcenter/inventory"
)

// An Interest is the Nodes whose machines' details are wanted. It is never changed.
type Interest struct {
	uuids map[inventory.UUID]bool
	// nodes are the Nodes that have a UUID.
	nodes []node
	// names are the Nodes without a UUID, by their lower-case name.
	names map[string]string
	// recorded are the machines that Nodes name as those they were found as, by vCenter
	// and managed object ID, with the UUIDs of these Nodes. Kubelets can write that: it
	// decides about no other Node's machine.
	recorded map[string]map[string][]inventory.UUID
}

// A node has the UUIDs that a Node's machine may have, and the vCenter where the Node says
// that it was found, if it does.
type node struct {
	uuids []inventory.UUID
	home  string
}

// NewInterest returns the interest in the machines of these Nodes.
func NewInterest(ids []inventory.Identity) *Interest {
	i := &Interest{uuids: map[inventory.UUID]bool{}, names: map[string]string{}, recorded: map[string]map[string][]inventory.UUID{}}
	for _, id := range ids {
		for _, u := range id.UUIDs {
			i.uuids[u] = true
		}
		if len(id.UUIDs) == 0 {
			i.names[strings.ToLower(id.Name)] = id.Name
			continue
		}
		n := node{uuids: id.UUIDs}
		if vc := id.Recorded.VCenter; vc != "" && len(id.UUIDs) == 1 {
			n.home = vc
			if i.recorded[vc] == nil {
				i.recorded[vc] = map[string][]inventory.UUID{}
			}
			if u := id.UUIDs[0]; !slices.Contains(i.recorded[vc][id.Recorded.ID], u) {
				i.recorded[vc][id.Recorded.ID] = append(i.recorded[vc][id.Recorded.ID], u)
			}
		}
		i.nodes = append(i.nodes, n)
	}
	return i
}
