package survey

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/faults"
	"vzones/vcenter/rest"
	"vzones/vcenter/tags"
)

const (
	// attachedMax bounds the tags whose objects are listed, and attachedNames those of them whose names are
	// read though they are beyond definedNames.
	attachedMax, attachedNames = 500, 50
	// describedMax bounds the objects that are looked at, and namedMax those that are named for each tag.
	describedMax, namedMax = 200, 5
)

// tagged reads to what the tags of Query.Tagged are attached, in the order of categories and names. Tags
// beyond its bounds are left out.
func (r *reader) tagged(ctx context.Context, defined []definition) (all []topology.Tagged, err error) {
	var ids []string
	categories, known := map[string]string{}, map[string]tags.Tag{} // by the ID of a tag
	for _, d := range defined {
		if !slices.Contains(r.q.Tagged, d.Name) {
			continue
		}
		ids = append(ids, d.tags...)
		maps.Copy(known, d.known)
		for _, id := range d.tags {
			categories[id] = d.Name
		}
	}
	slices.Sort(ids)
	if ids = ids[:min(len(ids), attachedMax)]; len(ids) == 0 {
		return nil, nil // some vCenters answer a request without a tag with all objects
	}
	var objects map[string][]types.ManagedObjectReference
	err = r.rest.With(ctx, func(c *rest.Client) error {
		if objects, err = r.objectsWith(ctx, c, ids); err != nil {
			return fmt.Errorf("listing the objects of %d tags: %w", len(ids), err)
		}
		unnamed := slices.DeleteFunc(slices.Sorted(maps.Keys(objects)), func(id string) bool { return known[id].Name != "" })
		further, err := readEach(ctx, unnamed[:min(len(unnamed), attachedNames)], tags.NewClient(c, r.rest.Do).Tag)
		if err != nil {
			return fmt.Errorf("reading tags: %w", err)
		}
		maps.Copy(known, further)
		return nil
	})
	if err != nil {
		return nil, faults.Printable{Err: err}
	}
	seen, err := r.describe(ctx, objects)
	if err != nil {
		return nil, faults.Printable{Err: err}
	}
	for id, of := range objects {
		if tag, ok := known[id]; ok {
			all = append(all, r.withoutHosts(topology.Tagged{VCenter: r.vcenter, Category: categories[id], Name: tag.Name}, of, seen))
		}
	}
	slices.SortFunc(all, func(a, b topology.Tagged) int {
		return cmp.Or(cmp.Compare(a.Category, b.Category), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

// withoutHosts names those of a tag's objects below which there are no hosts. A folder that was not looked
// at does not count.
func (r *reader) withoutHosts(t topology.Tagged, objects []types.ManagedObjectReference, seen map[types.ManagedObjectReference]described) topology.Tagged {
	for _, ref := range objects {
		is, ok := seen[ref]
		switch {
		case topology.HasHosts(ref.Type, is.children), ref.Type == "Folder" && (!ok || len(is.children) == 0):
		case len(t.NoHosts) == namedMax:
			t.Further++
		default:
			path := ref.Value
			if is.name != "" {
				path = fmt.Sprintf("%s (%s)", quote.Name(is.name), ref.Value)
			}
			t.NoHosts = append(t.NoHosts, &topology.Object{Ref: topology.Ref{VCenter: r.vcenter, Type: ref.Type, ID: ref.Value}, Name: is.name, Path: path})
		}
	}
	return t
}

// A described is what is read of an object that has a tag.
type described struct {
	name     string
	children []string
}

// soapTypes are the types that SOAP knows and below which there may be no hosts. Tags may be attached to
// others too.
var soapTypes = []string{
	"Folder", "ResourcePool", "VirtualApp", "VirtualMachine", "Network", "OpaqueNetwork",
	"DistributedVirtualPortgroup", "DistributedVirtualSwitch", "VmwareDistributedVirtualSwitch", "StoragePod",
}

// describe reads the names of objects of tags below which there may be no hosts, and what may be in folders.
func (r *reader) describe(ctx context.Context, objects map[string][]types.ManagedObjectReference) (map[types.ManagedObjectReference]described, error) {
	var spec types.PropertyFilterSpec
	seen := map[types.ManagedObjectReference]bool{}
	for _, id := range slices.Sorted(maps.Keys(objects)) {
		for _, ref := range objects[id] {
			if slices.Contains(soapTypes, ref.Type) && !seen[ref] && len(seen) < describedMax {
				seen[ref] = true
				spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: ref})
			}
		}
	}
	if len(seen) == 0 {
		return nil, nil
	}
	for _, kind := range soapTypes {
		if !slices.ContainsFunc(spec.ObjectSet, func(o types.ObjectSpec) bool { return o.Obj.Type == kind }) {
			continue
		}
		read := types.PropertySpec{Type: kind, PathSet: []string{"name"}}
		if kind == "Folder" {
			read.PathSet = append(read.PathSet, "childType")
		}
		spec.PropSet = append(spec.PropSet, read)
	}
	all := make(map[types.ManagedObjectReference]described, len(seen))
	err := r.session.Retrieve(ctx, spec, func(o *types.ObjectContent) {
		var d described
		for _, p := range o.PropSet {
			switch value := p.Val.(type) {
			case string:
				d.name = value
			case types.ArrayOfString:
				d.children = value.String
			}
		}
		all[o.Obj] = d
	})
	if err != nil {
		return nil, fmt.Errorf("reading the names of objects with tags: %w", err)
	}
	return all, nil
}

// tagsOf returns the IDs of the tags of a category that the account may read.
func (r *reader) tagsOf(ctx context.Context, c *rest.Client, category string) (ids []string, err error) {
	err = r.ask(ctx, c, "tagging: list tags of category", &rest.Request{
		Method: http.MethodPost, Resource: "tagging/tag", LegacyID: category, Action: "list-tags-for-category",
		Body: map[string]string{"category_id": category},
	}, &ids)
	return ids, err
}

// objectsWith returns the objects to which each of the tags is attached, in order, as far as the account may
// read them. A tag that is attached to nothing is no key.
func (r *reader) objectsWith(ctx context.Context, c *rest.Client, ids []string) (map[string][]types.ManagedObjectReference, error) {
	var answer []struct {
		Tag     string `json:"tag_id"`
		Objects []struct {
			ID   string `json:"id"`
			Type string `json:"type"`
		} `json:"object_ids"`
	}
	err := r.ask(ctx, c, "tagging: list attached objects", &rest.Request{
		Method: http.MethodPost, Resource: "tagging/tag-association", Action: "list-attached-objects-on-tags",
		Body: map[string][]string{"tag_ids": ids},
	}, &answer)
	if err != nil {
		return nil, err
	}
	objects := make(map[string][]types.ManagedObjectReference, len(answer))
	for _, a := range answer {
		for _, o := range a.Objects {
			objects[a.Tag] = append(objects[a.Tag], types.ManagedObjectReference{Type: o.Type, Value: o.ID})
		}
	}
	for _, refs := range objects {
		slices.SortFunc(refs, func(a, b types.ManagedObjectReference) int {
			return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Value, b.Value))
		})
	}
	return objects, nil
}

// ask makes one request of the tagging API.
func (r *reader) ask(ctx context.Context, c *rest.Client, name string, request *rest.Request, answer any) error {
	return r.rest.Do(ctx, name, func(ctx context.Context) error { return c.Do(ctx, request, answer) })
}
