package provider

import (
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/keys"
	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/inventory"
)

// identify returns what a Node tells about its machine: its provider ID, else
// its system UUID in both byte orders, else its name. Only the first that the
// Node has is used. A provider ID of ours without a usable UUID is
// topology.ErrUnknown: another machine must not be taken for the one it meant.
func identify(node *v1.Node) (inventory.Identity, error) {
	if id := node.Spec.ProviderID; id != "" {
		u, err := parseProviderID(id)
		if err == nil {
			err = checkRecord(node)
		}
		if err != nil {
			return inventory.Identity{}, fmt.Errorf("%w: %w", topology.ErrUnknown, err)
		}
		return inventory.Identity{
			UUIDs:   []inventory.UUID{u},
			Name:    node.Name,
			Known:   parseRecord(node.Annotations[keys.Machine]),
			KnownIn: parseInstance(node.Annotations[keys.VCenter]),
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

// checkRecord returns an error if what the Node says of where its machine was found is
// too long to have been written by vzones. It is not as if there were nothing: then the
// Node might be deleted.
func checkRecord(node *v1.Node) error {
	for _, key := range []string{keys.Machine, keys.VCenter} {
		if n := len(node.Annotations[key]); n > recordMax {
			return fmt.Errorf("annotation %s has %d bytes, which vzones has not written: take it off Node %s", key, n, node.Name)
		}
	}
	return nil
}

// errNoUUID says that a Node has no UUID, and that no machine is looked for by name. It is
// in a topology.ErrUnknown.
var errNoUUID = errors.New("the kubelet reports no usable system UUID, and the Node has no provider ID")

// errNeverOurs says that a Node which waits for nothing has no UUID. Its name is no reason
// to write to it: any machine's guest can report that. It is in a topology.ErrUnknown.
var errNeverOurs = fmt.Errorf("%w: a Node without the taint is not looked for by its name", errNoUUID)

// identifies is identify, by what the configuration lets a Node tell.
func (p *Provider) identifies(node *v1.Node) (inventory.Identity, error) {
	id, err := identify(node)
	if err == nil && len(id.UUIDs) == 0 && !isUninitialized(node) {
		return id, fmt.Errorf("%w: %w", topology.ErrUnknown, errNeverOurs)
	}
	if err == nil && len(id.UUIDs) == 0 && !p.settings.Load().cfg.MatchByName {
		err = fmt.Errorf("%w: %w; nodes.matchByName is false in the configuration: have the kubelet of Node %s report the UUID that the machine's SMBIOS shows, or give the Node the provider ID vsphere://UUID",
			topology.ErrUnknown, errNoUUID, node.Name)
	}
	return id, err
}

// identify is identifies, with what this process remembers.
func (p *Provider) identify(node *v1.Node) (inventory.Identity, error) {
	id, err := p.identifies(node)
	id.Seen, id.Waited = p.sightings.last(node.UID), p.sightings.waited(node.UID)
	return id, err
}

// errContradiction says that a Node's provider ID and its system UUID are those of two
// machines. It is in a topology.ErrUnknown.
var errContradiction = errors.New("the provider ID is not that of the machine that the Node runs on")

// contradiction returns an error if a Node's provider ID and the system UUID that its
// kubelet reports are of two machines, in both byte orders: a machine was rebuilt under
// the name of an old Node, whose provider ID cannot be changed. A kubelet that reports
// no UUID contradicts nothing.
func contradiction(node *v1.Node) error {
	id, err := parseProviderID(node.Spec.ProviderID)
	if err != nil {
		return nil //nolint:nilerr // then nothing is said, or by identify
	}
	system, err := inventory.ParseUUID(node.Status.NodeInfo.SystemUUID)
	if err != nil || slices.Contains([]inventory.UUID{id, id.Swapped()}, system) {
		return nil //nolint:nilerr // likewise
	}
	return fmt.Errorf("%w: %w: it is %s, and the kubelet reports the system UUID %s; was the machine rebuilt under the name of an old Node? "+
		"Delete Node %s and restart its kubelet, which registers it again", topology.ErrUnknown, errContradiction, quote.Plain(node.Spec.ProviderID), system, node.Name)
}

// contradicted returns a Node's contradiction, with what is known of the machine of the
// provider ID, or else the error with which that was looked for.
func contradicted(node *v1.Node, looked error) error {
	err := contradiction(node)
	switch {
	case err == nil:
		return looked
	case looked == nil:
		return fmt.Errorf("%w; a vCenter still has the machine of the provider ID", err)
	case errors.Is(looked, topology.ErrAbsent):
		return fmt.Errorf("%w; no vCenter has the machine of the provider ID any more", err)
	}
	return err
}
