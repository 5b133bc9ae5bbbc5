package survey

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/sync/errgroup"

	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/rest"
	"vzones/vcenter/tags"
)

const (
	// attachedMax bounds the tags whose objects are listed, and attachedNames those whose names are read, a
	// request each.
	attachedMax, attachedNames = 500, 200
	// describedMax bounds the objects that are looked at, and namedMax those that are named for each tag.
	describedMax, namedMax = 200, 5
)

// categories reads the categories that matter, and returns them with the names of all that are visible, and
// of those in Query.Tagged by their IDs. One that the account cannot see is left out.
func (r *reader) categories(ctx context.Context) (all []Category, visible []string, tagged map[string]string, err error) {
	err = tags.With(ctx, r.rest, func(s tags.Service) error {
		ids, err := s.Categories(ctx)
		if err != nil && !rest.HasStatus(err, http.StatusForbidden) {
			return fmt.Errorf("listing the tag categories: %w", err)
		}
		known, err := readEach(ctx, ids, s.Category)
		all, visible, tagged = nil, nil, map[string]string{}
		for _, is := range known {
			visible = append(visible, is.Name)
		}
		for _, name := range r.q.Categories {
			for _, id := range slices.Sorted(maps.Keys(known)) {
				if is := known[id]; is.Name == name {
					all = append(all, Category{Name: name, Multiple: is.Cardinality == "MULTIPLE", Types: is.Types})
					if slices.Contains(r.q.Tagged, name) {
						tagged[id] = name
					}
				}
			}
		}
		return err
	})
	return all, visible, tagged, err
}

// readEach reads what IDs stand for, several at a time. What the account may not read, or is gone, is left
// out.
func readEach[T any](ctx context.Context, ids []string, read func(context.Context, string) (T, error)) (map[string]T, error) {
	var mu sync.Mutex
	all := make(map[string]T, len(ids))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(tagsAtOnce)
	for _, id := range ids {
		g.Go(func() error {
			one, err := read(ctx, id)
			switch {
			case rest.HasStatus(err, http.StatusNotFound), rest.HasStatus(err, http.StatusForbidden):
				return nil
			case err != nil:
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			all[id] = one
			return nil
		})
	}
	return all, g.Wait()
}

// tagged reads to what the tags of categories are attached, in the order of categories and names. Tags
// beyond its bounds are left out.
func (r *reader) tagged(ctx context.Context, categories map[string]string) (all []topology.Tagged, err error) {
	var objects map[string][]types.ManagedObjectReference // by the ID of a tag
	var named map[string]tags.Tag
	err = r.rest.With(ctx, func(c *rest.Client) error {
		var ids []string
		for _, category := range slices.Sorted(maps.Keys(categories)) {
			some, err := r.tagsOf(ctx, c, category)
			if err != nil {
				return fmt.Errorf("listing the tags of category %s: %w", quote.Value(categories[category]), err)
			}
			ids = append(ids, some...)
		}
		slices.Sort(ids)
		if ids = ids[:min(len(ids), attachedMax)]; len(ids) == 0 {
			return nil // some vCenters answer a request without a tag with all objects
		}
		if objects, err = r.objectsWith(ctx, c, ids); err != nil {
			return fmt.Errorf("listing the objects of %d tags: %w", len(ids), err)
		}
		ids = slices.Sorted(maps.Keys(objects))
		named, err = readEach(ctx, ids[:min(len(ids), attachedNames)], tags.NewClient(c, r.rest.Do).Tag)
		return err
	})
	if err != nil {
		return nil, err
	}
	seen, err := r.describe(ctx, objects)
	if err != nil {
		return nil, err
	}
	for id, tag := range named {
		all = append(all, r.withoutHosts(topology.Tagged{VCenter: r.vcenter, Category: categories[tag.Category], Name: tag.Name}, objects[id], seen))
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
			t.NoHosts = append(t.NoHosts, &topology.Object{Ref: r.ref(ref), Name: is.name, Path: path})
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
	spec := types.PropertyFilterSpec{PropSet: []types.PropertySpec{{Type: "ManagedEntity", PathSet: []string{"name"}}, {Type: "Folder", PathSet: []string{"childType"}}}}
	all := map[types.ManagedObjectReference]described{}
	for _, id := range slices.Sorted(maps.Keys(objects)) {
		for _, ref := range objects[id] {
			if _, again := all[ref]; !again && slices.Contains(soapTypes, ref.Type) && len(all) < describedMax {
				all[ref] = described{}
				spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: ref})
			}
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
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
	return all, err
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
	objects := make(map[string][]types.ManagedObjectReference, len(answer))
	for _, a := range answer {
		for _, o := range a.Objects {
			objects[a.Tag] = append(objects[a.Tag], types.ManagedObjectReference{Type: o.Type, Value: o.ID})
		}
		slices.SortFunc(objects[a.Tag], func(a, b types.ManagedObjectReference) int {
			return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Value, b.Value))
		})
	}
	return objects, err
}

// ask makes one request of the tagging API.
func (r *reader) ask(ctx context.Context, c *rest.Client, name string, request *rest.Request, answer any) error {
	return r.rest.Do(ctx, name, func(ctx context.Context) error { return c.Do(ctx, request, answer) })
}
