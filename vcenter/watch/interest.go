package watch

import (
	"maps"
	"slices"
	"strings"

	"vzones/vcenter/inventory"
)

// An Interest is the Nodes whose machines' details are wanted. It is never changed.
type Interest struct {
	uuids map[inventory.UUID]bool
	// names are the Nodes without a UUID, by their lower-case name.
	names map[string]string
	// recorded are the machines that Nodes name as those they were found as, with the UUIDs of
	// these Nodes. Kubelets can write that: it decides about no other Node's machine.
	recorded map[home]map[string][]inventory.UUID
}

// A home is a vCenter by its own UUID, or by the name of its entry where a Node does not say that UUID.
type home struct{ instance, entry string }

// recordedIn returns the machines that Nodes name in a vCenter, by managed object ID. The name
// counts only while one of the two does not say the vCenter's own UUID.
func (i *Interest) recordedIn(entry, instance string) map[string][]inventory.UUID {
	var all map[string][]inventory.UUID
	merged := false
	for h, machines := range i.recorded {
		switch {
		case !(inventory.LastSeen{VCenter: h.entry, Instance: h.instance}).IsIn(entry, instance):
		case all == nil:
			all = machines // which is the case of all but a few clusters, and costs nothing
		default:
			if !merged {
				all, merged = maps.Clone(all), true
			}
			for id, uuids := range machines {
				all[id] = slices.Concat(all[id], uuids)
			}
		}
	}
	return all
}

// NewInterest returns the interest in the machines of these Nodes.
func NewInterest(ids []inventory.Identity) *Interest {
	i := &Interest{uuids: map[inventory.UUID]bool{}, names: map[string]string{}, recorded: map[home]map[string][]inventory.UUID{}}
	for _, id := range ids {
		for _, u := range id.UUIDs {
			i.uuids[u] = true
		}
		if len(id.UUIDs) == 0 {
			i.names[strings.ToLower(id.Name)] = id.Name
			continue
		}
		if vc := id.Recorded.VCenter; vc != "" && len(id.UUIDs) == 1 {
			at := home{id.RecordedInstance, vc}
			if i.recorded[at] == nil {
				i.recorded[at] = map[string][]inventory.UUID{}
			}
			if u := id.UUIDs[0]; !slices.Contains(i.recorded[at][id.Recorded.ID], u) {
				i.recorded[at][id.Recorded.ID] = append(i.recorded[at][id.Recorded.ID], u)
			}
		}
	}
	return i
}
