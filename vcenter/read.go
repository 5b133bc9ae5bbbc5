package vcenter

import (
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/config"
	"vzones/topology/quote"
	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
)

// machinesPerRequest bounds the list of objects in a request.
const machinesPerRequest = 1000

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

// datacenterSpec reads the names of the datacenters in a view and of the folders
// above them.
func datacenterSpec(view types.ManagedObjectReference) types.PropertyFilterSpec {
	spec := viewSpec(view, "ManagedEntity", "name", "parent")
	spec.ObjectSet[0].SelectSet = []types.BaseSelectionSpec{&types.TraversalSpec{
		Type: "ContainerView", Path: "view", SelectSet: []types.BaseSelectionSpec{upwards("up")},
	}}
	return spec
}

// detailSpec reads the machines on a list and everything above them.
func detailSpec(list types.ManagedObjectReference, more []types.PropertySpec) types.PropertyFilterSpec {
	return types.PropertyFilterSpec{
		PropSet: detailProperties(more),
		ObjectSet: []types.ObjectSpec{{
			Obj:  list,
			Skip: types.NewBool(true),
			SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{
				Type: "ListView", Path: "view", SelectSet: machineSelection(),
			}},
		}},
	}
}

func detailProperties(more []types.PropertySpec) []types.PropertySpec {
	return append([]types.PropertySpec{
		{Type: "ManagedEntity", PathSet: []string{"name", "parent"}},
		{Type: "VirtualMachine", PathSet: machineProperties},
	}, more...)
}

// readMachines reads machines and everything above them into a tree, more among its
// properties.
func (s *reader) readMachines(ctx context.Context, machines []types.ManagedObjectReference, more []types.PropertySpec, into *tree) error {
	for some := range slices.Chunk(machines, machinesPerRequest) {
		spec := types.PropertyFilterSpec{PropSet: detailProperties(more)}
		for _, ref := range some {
			spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: ref, SelectSet: machineSelection()})
		}
		if err := s.Retrieve(ctx, spec, into.add); err != nil {
			return err
		}
	}
	return nil
}

// containerView makes a view of everything of a type below an object, and leaves it.
func (s *reader) containerView(ctx context.Context, root types.ManagedObjectReference, kind string) (types.ManagedObjectReference, error) {
	res, err := methods.CreateContainerView(ctx, s.vim, &types.CreateContainerView{
		This:      *s.vim.ServiceContent.ViewManager,
		Container: root,
		Type:      []string{kind},
		Recursive: true,
	})
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	s.Track(res.Returnval, session.DestroyView)
	return res.Returnval, nil
}

// roots returns what contains the machines of the configured datacenters, the
// whole vCenter where none is configured. A configured datacenter that is not
// there, or not visible to the account, is in the second result.
func (s *reader) roots(ctx context.Context, datacenters []string) (roots []types.ManagedObjectReference, incomplete, err error) {
	if len(datacenters) == 0 {
		return []types.ManagedObjectReference{s.vim.ServiceContent.RootFolder}, nil, nil
	}
	roots, incomplete, err = s.datacenters(ctx, datacenters)
	if err != nil {
		return nil, nil, fmt.Errorf("listing datacenters: %w", err)
	}
	return roots, incomplete, nil
}

// datacenters finds the configured datacenters.
func (s *reader) datacenters(ctx context.Context, wanted []string) (refs []types.ManagedObjectReference, incomplete, err error) {
	view, err := s.containerView(ctx, s.vim.ServiceContent.RootFolder, "Datacenter")
	if err != nil {
		return nil, nil, err
	}
	t := newTree(s.vim.ServiceContent.RootFolder)
	if err := s.Retrieve(ctx, datacenterSpec(view), t.add); err != nil {
		return nil, nil, err
	}
	if err := s.Destroy(ctx, view); err != nil && (faults.SessionLost(err) || !faults.FromServer(err)) {
		return nil, nil, err
	}
	refs, incomplete = matching(t, wanted)
	return refs, incomplete, nil
}

// matching returns the datacenters that are wanted, and why others are not
// among them.
func matching(t *tree, wanted []string) (refs []types.ManagedObjectReference, incomplete error) {
	var all []config.Datacenter
	for _, ref := range t.ofType("Datacenter") {
		all = append(all, config.Datacenter{ID: ref.Value, Name: t.name(ref), Path: t.path(ref)})
	}
	matched, unmatched := config.MatchDatacenters(wanted, all)
	for _, d := range matched {
		refs = append(refs, types.ManagedObjectReference{Type: "Datacenter", Value: d.ID})
	}
	missing := make([]error, len(unmatched))
	for i, w := range unmatched {
		missing[i] = fmt.Errorf("datacenter %q is not there or the account may not see it", w)
		if form, _ := config.FormOfDatacenter(w); form == config.DatacenterNamePattern || form == config.DatacenterPathPattern {
			missing[i] = fmt.Errorf("pattern %q fits no datacenter that the account may see", w)
		}
	}
	return refs, quote.Errors(quote.Most, missing...)
}

// search asks the whole vCenter, beyond the configured datacenters, for
// machines with a UUID.
func (s *reader) search(ctx context.Context, u inventory.UUID) ([]types.ManagedObjectReference, error) {
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
