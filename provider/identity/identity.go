package identity

import (
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/keys"
	"vzones/provider/nodestate"
	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/inventory"
)

// Of returns what a Node says about its machine: its provider ID, else
// its system UUID in both byte orders, else its name. Only the first that the
// Node has is used. A provider ID of ours without a usable UUID is
// topology.ErrUnknown: another machine must not be taken for the one it meant.
func Of(node *v1.Node) (inventory.Identity, error) {
	if id := node.Spec.ProviderID; id != "" {
		u, err := ParseProviderID(id)
		if err == nil {
			err = checkLocation(node)
		}
		if err != nil {
			return inventory.Identity{}, topology.Errorf(topology.ErrUnknown, "%w", err)
		}
		return inventory.Identity{
			UUIDs:            []inventory.UUID{u},
			Name:             node.Name,
			Recorded:         ParseLocation(node.Annotations[keys.Machine]),
			RecordedInstance: parseInstance(node.Annotations[keys.VCenter]),
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

// checkLocation returns an error if what the Node says of where its machine was found is
// too long to have been written by vzones. It is not as if there were nothing: then the
// Node might be deleted.
func checkLocation(node *v1.Node) error {
	for _, key := range []string{keys.Machine, keys.VCenter} {
		if n := len(node.Annotations[key]); n > locationMax {
			return fmt.Errorf("annotation %s has %d bytes, which vzones has not written: take it off Node %s", key, n, node.Name)
		}
	}
	return nil
}

// ErrNoUUID says that a Node has no UUID, and that no machine is looked for by name. It is
// in a topology.ErrUnknown.
var ErrNoUUID = errors.New("the kubelet reports no usable system UUID, and the Node has no provider ID")

// errNameNotUsed says that a Node which waits for nothing has no UUID. Its name is no reason
// to write to it: any machine's guest can report that. It is in a topology.ErrUnknown.
var errNameNotUsed = topology.Errorf(ErrNoUUID, "a Node without the taint is not looked for by its name")

// Allowed returns an error for the identity of a Node that has no UUID if no machine may be
// looked for by the Node's name: the Node waits for nothing, or byName is false, as the
// configuration has it.
func Allowed(node *v1.Node, id inventory.Identity, byName bool) error {
	switch {
	case len(id.UUIDs) > 0:
		return nil
	case !nodestate.IsUninitialized(node):
		return topology.Errorf(topology.ErrUnknown, "%w", errNameNotUsed)
	case !byName:
		return topology.Errorf(topology.ErrUnknown, "%w; nodes.matchByName is false in the configuration: have the kubelet of Node %s report the UUID that the machine's SMBIOS shows, or give the Node the provider ID vsphere://UUID", ErrNoUUID, node.Name)
	}
	return nil
}

// ErrContradiction says that a Node's provider ID and its system UUID are those of two
// machines. It is in a topology.ErrUnknown.
var ErrContradiction = errors.New("the provider ID is not that of the machine that the Node runs on")

// Contradiction returns an error if a Node's provider ID and the system UUID that its
// kubelet reports are of two machines, in both byte orders: a machine was rebuilt under
// the name of an old Node, whose provider ID cannot be changed. A kubelet that reports
// no UUID contradicts nothing.
func Contradiction(node *v1.Node) error {
	id, err := ParseProviderID(node.Spec.ProviderID)
	if err != nil {
		return nil //nolint:nilerr // then nothing is said, or by Of
	}
	system, err := inventory.ParseUUID(node.Status.NodeInfo.SystemUUID)
	if err != nil || slices.Contains([]inventory.UUID{id, id.Swapped()}, system) {
		return nil //nolint:nilerr // likewise
	}
	return topology.Errorf(topology.Kinds{topology.ErrUnknown, ErrContradiction}, "the provider ID is %s, and the kubelet reports the system UUID %s: was the machine rebuilt under the name of an old Node? "+
		"Delete Node %s and restart its kubelet, which registers it again", quote.Plain(node.Spec.ProviderID), system, node.Name)
}

// WithContradiction returns a Node's contradiction, with what is known of the machine of the
// provider ID, or else the error with which that was looked for.
func WithContradiction(node *v1.Node, looked error) error {
	err := Contradiction(node)
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
