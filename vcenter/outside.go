package vcenter

import (
	"context"

	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/sync/errgroup"

	"vzones/topology"
	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
	"vzones/vcenter/watch"
	"vzones/vcenter/watch/model"
)

// SearchOutside searches for a VM outside the configured datacenters. If a vCenter has it, the error
// is inventory.ErrOutside with the VM's location. Nil proves nothing.
func (f *Fleet) SearchOutside(ctx context.Context, id inventory.Identity) error {
	vcenters := *f.vcenters.Load()
	found := make([]error, len(vcenters))
	var g errgroup.Group
	for i, v := range vcenters {
		if len(v.spec.Load().cfg.Datacenters) > 0 {
			g.Go(func() error {
				found[i] = v.guard.Run(ctx, "searching for the VM", func() error { return v.searchOutside(ctx, id) })
				if faults.Recovered(found[i]) {
					found[i] = nil
				}
				return nil
			})
		}
	}
	_ = g.Wait()
	for _, err := range found {
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *vCenter) searchOutside(ctx context.Context, id inventory.Identity) error {
	s := v.session()
	if s == nil {
		return nil
	}
	ref, _, err := v.withUUID(ctx, s, id.UUIDs)
	if err != nil || ref == nil {
		return nil //nolint:nilerr // nil proves nothing
	}
	t := model.NewTree(s.Client().ServiceContent.RootFolder)
	if err := watch.ReadVMs(ctx, s, []types.ManagedObjectReference{*ref}, model.HostFacts{}, t); err != nil {
		return nil //nolint:nilerr // nil proves nothing
	}
	return topology.Errorf(topology.Kinds{topology.ErrUnknown, inventory.ErrOutside},
		"%s is in none of the configured datacenters: add its datacenter to the key datacenters of the configuration",
		topology.Ref{VCenter: v.name, Type: ref.Type, ID: ref.Value}.Located(t.Path(*ref)))
}
