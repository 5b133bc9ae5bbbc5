package nodes

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/identity"
	"vzones/vcenter/inventory"
)

// interest are the machines that the fleet follows for Nodes, and where Nodes say that those
// were found, as the fleet was last asked.
type interest struct {
	machines, locations []string
}

// update asks the fleet for the machines of all Nodes, if they have changed.
// Where they were found counts only in a whole comparison: it is of use after a
// restart, and hundreds of Nodes that are initialized get it one by one.
func (i *interest) update(fleet Fleet, placer placer, nodes []*v1.Node, whole bool) {
	ids := make([]inventory.Identity, 0, len(nodes))
	for _, n := range nodes {
		if placer.IsForeign(n) {
			continue
		}
		if id, err := placer.Statement(n); err == nil {
			ids = append(ids, id)
		}
	}
	machines := make([]string, len(ids))
	locations := make([]string, 0, len(ids))
	for j, id := range ids {
		machines[j] = machineKey(id)
		if id.Recorded.VCenter != "" {
			locations = append(locations, identity.FormatLocation(id.Recorded))
		}
	}
	slices.Sort(machines)
	slices.Sort(locations)
	if !slices.Equal(machines, i.machines) || whole && !slices.Equal(locations, i.locations) {
		i.machines, i.locations = machines, locations
		fleet.Follow(ids)
	}
}

// machineKey is the same for a Node before it has its provider ID and after, when
// the other byte order of its UUID is ruled out: the machine is the same.
func machineKey(id inventory.Identity) string {
	if len(id.UUIDs) == 0 {
		return id.Name
	}
	u := id.UUIDs[0]
	return min(u.String(), u.Swapped().String())
}
