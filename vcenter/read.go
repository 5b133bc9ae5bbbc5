package vcenter

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/inventory"
)

// pageSize is how many objects a server is asked to put on a page of results.
const pageSize = 500

// retrieve reads properties and hands over the objects page by page.
func (s *session) retrieve(ctx context.Context, spec types.PropertyFilterSpec, each func(*types.ObjectContent)) error {
	collector := s.vim.ServiceContent.PropertyCollector
	res, err := methods.RetrievePropertiesEx(ctx, s.vim, &types.RetrievePropertiesEx{
		This:    collector,
		SpecSet: []types.PropertyFilterSpec{spec},
		Options: types.RetrieveOptions{MaxObjects: pageSize},
	})
	if err != nil {
		return err
	}
	page := res.Returnval
	for page != nil {
		for i := range page.Objects {
			each(&page.Objects[i])
		}
		if page.Token == "" {
			return nil
		}
		next, err := methods.ContinueRetrievePropertiesEx(ctx, s.vim, &types.ContinueRetrievePropertiesEx{
			This:  collector,
			Token: page.Token,
		})
		if err != nil {
			return err
		}
		page = &next.Returnval
	}
	return nil
}

// viewSpec reads properties of everything of one type in a container view.
func viewSpec(view types.ManagedObjectReference, kind string, properties ...string) types.PropertyFilterSpec {
	return types.PropertyFilterSpec{
		PropSet: []types.PropertySpec{{Type: kind, PathSet: properties}},
		ObjectSet: []types.ObjectSpec{{
			Obj:       view,
			Skip:      types.NewBool(true),
			SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: "ContainerView", Path: "view"}},
		}},
	}
}

func (s *session) containerView(ctx context.Context, root types.ManagedObjectReference, kind string) (types.ManagedObjectReference, error) {
	res, err := methods.CreateContainerView(ctx, s.vim, &types.CreateContainerView{
		This:      *s.vim.ServiceContent.ViewManager,
		Container: root,
		Type:      []string{kind},
		Recursive: true,
	})
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	return res.Returnval, nil
}

// ensureViews makes the container views that hold all machines of the
// configured datacenters, or of the whole vCenter where none is configured.
// Views that leave out a datacenter, because it is not there or not visible to
// the account, are made anew the next time.
func (s *session) ensureViews(ctx context.Context, datacenters []string) error {
	if s.views != nil && s.incomplete == nil {
		return nil
	}
	if err := s.destroyViews(ctx, s.views...); err != nil {
		return err
	}
	s.views, s.incomplete = nil, nil
	roots := []types.ManagedObjectReference{s.vim.ServiceContent.RootFolder}
	if len(datacenters) > 0 {
		var err error
		roots, s.incomplete, err = s.datacenters(ctx, datacenters)
		if err != nil {
			return fmt.Errorf("listing datacenters: %w", err)
		}
	}
	for _, root := range roots {
		v, err := s.containerView(ctx, root, "VirtualMachine")
		if err != nil {
			return fmt.Errorf("listing the machines of %s: %w", root.Value, err)
		}
		s.views = append(s.views, v)
	}
	return nil
}

func (s *session) destroyViews(ctx context.Context, views ...types.ManagedObjectReference) error {
	for _, v := range views {
		if _, err := methods.DestroyView(ctx, s.vim, &types.DestroyView{This: v}); err != nil && !gone(err) {
			return err
		}
	}
	return nil
}

// datacenters finds the configured datacenters by name or inventory path, in
// folders too. A name that several datacenters have means all of them.
func (s *session) datacenters(ctx context.Context, wanted []string) (refs []types.ManagedObjectReference, incomplete, err error) {
	view, err := s.containerView(ctx, s.vim.ServiceContent.RootFolder, "Datacenter")
	if err != nil {
		return nil, nil, err
	}
	t := newTree(s.vim.ServiceContent.RootFolder)
	spec := viewSpec(view, "ManagedEntity", "name", "parent")
	spec.ObjectSet[0].SelectSet = []types.BaseSelectionSpec{&types.TraversalSpec{
		Type: "ContainerView", Path: "view", SelectSet: []types.BaseSelectionSpec{upwards("up")},
	}}
	if err := s.retrieve(ctx, spec, t.add); err != nil {
		return nil, nil, err
	}
	if err := s.destroyViews(ctx, view); err != nil {
		return nil, nil, err
	}
	var missing []error
	for _, w := range wanted {
		found := false
		for _, ref := range t.ofType("Datacenter") {
			if w == t.name(ref) || w == unescaped(t.name(ref)) || "/"+strings.Trim(w, "/") == t.path(ref) {
				found = true
				if !slices.Contains(refs, ref) {
					refs = append(refs, ref)
				}
			}
		}
		if !found {
			missing = append(missing, fmt.Errorf("datacenter %q is not there or the account may not see it", w))
		}
	}
	return refs, errors.Join(missing...), nil
}

// unescaped undoes vSphere's %2f, %5c and %25.
func unescaped(name string) string {
	if s, err := url.PathUnescape(name); err == nil {
		return s
	}
	return name
}

// readIndex reads the UUIDs of all machines, and which of them have one of the
// given names (lower case) where there are any.
func (s *session) readIndex(ctx context.Context, into *inventory.Snapshot, names map[string]string) error {
	properties := []string{"config.uuid", "config.template", "runtime.powerState"}
	if len(names) > 0 {
		properties = append(properties, "name", "guest.hostName")
	}
	nameless := 0
	for _, view := range s.views {
		err := s.retrieve(ctx, viewSpec(view, "VirtualMachine", properties...), func(o *types.ObjectContent) {
			p := propertiesOf(o)
			e := inventory.Entry{ID: o.Obj.Value, Template: p.bool("config.template"), PoweredOn: p.power() == inventory.PowerOn}
			addNames(into, names, p, e)
			u, err := inventory.ParseUUID(p.string("config.uuid"))
			if err != nil {
				nameless++
				return
			}
			into.Index[u] = append(into.Index[u], e)
		})
		if err != nil {
			return err
		}
	}
	if nameless > 0 && into.Incomplete == nil {
		// Inaccessible and orphaned machines exist, whatever their UUID is.
		into.Incomplete = fmt.Errorf("vCenter %q: the configuration of %d machines cannot be read", into.VCenter, nameless)
	}
	return nil
}

func addNames(into *inventory.Snapshot, names map[string]string, p properties, e inventory.Entry) {
	host, own := strings.ToLower(p.string("guest.hostName")), strings.ToLower(p.string("name"))
	if node, ok := names[host]; ok && host != "" {
		into.Names[node] = append(into.Names[node], inventory.NameEntry{Entry: e, ByHostName: true})
	} else if node, ok := names[own]; ok && own != "" {
		into.Names[node] = append(into.Names[node], inventory.NameEntry{Entry: e})
	}
}

// search asks the whole vCenter, beyond the configured datacenters, for
// machines with a UUID.
func (s *session) search(ctx context.Context, u inventory.UUID) ([]types.ManagedObjectReference, error) {
	res, err := methods.FindAllByUuid(ctx, s.vim, &types.FindAllByUuid{
		This:     *s.vim.ServiceContent.SearchIndex,
		Uuid:     u.String(),
		VmSearch: true,
	})
	if err != nil {
		return nil, err
	}
	return res.Returnval, nil
}
