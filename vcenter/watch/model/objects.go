package model

import (
	"fmt"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/topology"
	"vzones/vcenter/tags"
)

// An Above is an object of a tree with what is above it.
type Above struct {
	*topology.Object
	// Parent is the object above it. There is none above the root folder, and none where that
	// cannot be read, as Broken says then.
	Parent *types.ManagedObjectReference
	Broken error
}

// Objects returns the objects of a tree of a vCenter that are of one of these types, with their
// tags and with what hosts belong to, as snapshots have them.
func (t *Tree) Objects(vcenter string, attached tags.Attachments, hosts HostFacts, kinds ...string) map[types.ManagedObjectReference]Above {
	p := placed{
		vcenter: vcenter, tree: t, tags: attached, hosts: &memberships{facts: hosts},
		objects: map[types.ManagedObjectReference]*topology.Object{},
	}
	all := map[types.ManagedObjectReference]Above{}
	for _, kind := range kinds {
		for _, ref := range t.OfType(kind) {
			a := Above{Object: p.object(ref)}
			if ref != t.root {
				a.Parent, a.Broken = t.readable(vcenter, ref)
			}
			all[ref] = a
		}
	}
	return all
}

// readable returns the object above one, which is in the tree.
func (t *Tree) readable(vcenter string, ref types.ManagedObjectReference) (*types.ManagedObjectReference, error) {
	above, err := t.above(vcenter, ref)
	switch {
	case err != nil:
		return nil, err
	case t.objects[above] == nil:
		return nil, fmt.Errorf("%s cannot be read: give the account the role Read-only there", located(vcenter, above, ""))
	}
	return &above, nil
}
