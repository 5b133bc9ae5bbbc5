package tags

import (
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/topology"
)

// describedMax bounds the objects of a survey that are looked at.
const describedMax = 200

// A described is what is read of an object that has a tag.
type described struct {
	name     string
	children []string
}

// inventoryTypes are the types that SOAP knows. Tags may be attached to others too.
var inventoryTypes = []string{
	"Folder", "ResourcePool", "VirtualApp", "VirtualMachine", "Network", "OpaqueNetwork",
	"DistributedVirtualPortgroup", "DistributedVirtualSwitch", "VmwareDistributedVirtualSwitch", "StoragePod",
}

// withoutHosts returns the objects of tags below which there may be no hosts.
func withoutHosts(uses []Use) []Ref {
	var refs []Ref
	for _, use := range uses {
		for _, ref := range use.Objects {
			if !topology.HasHosts(ref.Type, nil) && !slices.Contains(refs, ref) && len(refs) < describedMax {
				refs = append(refs, ref)
			}
		}
	}
	return refs
}

// describe reads the names of objects, and what may be in folders.
func describe(ctx context.Context, in Inventory, refs []Ref) (map[Ref]described, error) {
	var spec types.PropertyFilterSpec
	for _, kind := range inventoryTypes {
		before := len(spec.ObjectSet)
		for _, ref := range refs {
			if ref.Type == kind {
				spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: ref})
			}
		}
		if len(spec.ObjectSet) == before {
			continue
		}
		read := types.PropertySpec{Type: kind, PathSet: []string{"name"}}
		if kind == "Folder" {
			read.PathSet = append(read.PathSet, "childType")
		}
		spec.PropSet = append(spec.PropSet, read)
	}
	if len(spec.ObjectSet) == 0 {
		return nil, nil
	}
	seen := make(map[Ref]described, len(refs))
	err := in.Retrieve(ctx, spec, func(o *types.ObjectContent) {
		var d described
		for _, p := range o.PropSet {
			switch value := p.Val.(type) {
			case string:
				d.name = value
			case types.ArrayOfString:
				d.children = value.String
			}
		}
		seen[o.Obj] = d
	})
	if err != nil {
		return nil, fmt.Errorf("reading the names of objects with tags: %w", err)
	}
	return seen, nil
}
