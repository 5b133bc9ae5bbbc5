package provider

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/keys"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// identify returns what a Node tells about its machine: its provider ID, else
// its system UUID in both byte orders, else its name. Only the first that the
// Node has is used. A provider ID of ours without a usable UUID is
// topology.ErrUnknown: another machine must not be taken for the one it meant.
func identify(node *v1.Node) (inventory.Identity, error) {
	if id := node.Spec.ProviderID; id != "" {
		u, err := parseProviderID(id)
		if err != nil {
			return inventory.Identity{}, fmt.Errorf("%w: %w", topology.ErrUnknown, err)
		}
		return inventory.Identity{
			UUIDs:   []inventory.UUID{u},
			Name:    node.Name,
			Known:   parseRecord(node.Annotations[keys.Machine]),
			KnownIn: node.Annotations[keys.VCenter],
		}, nil
	}
	u, err := inventory.ParseUUID(node.Status.NodeInfo.SystemUUID)
	if err != nil {
		return inventory.Identity{Name: node.Name}, nil //nolint:nilerr // without a usable UUID the name counts
	}
	id := inventory.Identity{UUIDs: []inventory.UUID{u}, Name: node.Name}
	if s := u.Swapped(); s != u {
		id.UUIDs = append(id.UUIDs, s)
	}
	return id, nil
}

// identify is the function of that name, with what this process remembers.
func (p *Provider) identify(node *v1.Node) (inventory.Identity, error) {
	id, err := identify(node)
	id.Seen, id.Waited = p.sightings.last(node.UID), p.sightings.waited(node.UID)
	return id, err
}
