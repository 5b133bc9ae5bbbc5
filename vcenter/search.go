package vcenter

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/sync/errgroup"

	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/inventory"
	"vzones/vcenter/panics"
)

// SearchOutside looks for a machine that no index has beyond the configured
// datacenters. It returns inventory.ErrOutside, with where the machine is, if a
// vCenter has it; nil says nothing. Only vCenters with configured datacenters are
// asked: the index of the others has everything that their account can see.
func (f *Fleet) SearchOutside(ctx context.Context, id inventory.Identity) error {
	connections := *f.connections.Load()
	found := make([]error, len(connections))
	var g errgroup.Group
	for i, c := range connections {
		if len(c.target.Load().cfg.Datacenters) > 0 {
			g.Go(func() error {
				found[i] = c.guard.Run(ctx, "searching for the machine", func() error { return c.searchOutside(ctx, id) })
				if panics.Recovered(found[i]) {
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

func (c *connection) searchOutside(ctx context.Context, id inventory.Identity) error {
	s := c.current()
	if s == nil {
		return nil
	}
	ref, _, err := c.withUUID(ctx, s, id.UUIDs)
	if err != nil || ref == nil {
		return nil //nolint:nilerr // that nothing is said is documented
	}
	t := newTree(s.vim.ServiceContent.RootFolder)
	if err := s.readMachines(ctx, []types.ManagedObjectReference{*ref}, nil, t); err != nil {
		return nil //nolint:nilerr // likewise
	}
	return fmt.Errorf("%w: vCenter %s %s (%s) is %w", topology.ErrUnknown, c.name, quote.Name(t.path(*ref)), quote.Plain(ref.Value), inventory.ErrOutside)
}
