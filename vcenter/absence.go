package vcenter

import (
	"context"
	"errors"
	"fmt"

	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/sync/errgroup"

	"vzones/topology"
	"vzones/vcenter/inventory"
)

// ConfirmAbsent asks every vCenter directly for the machine: for each of its
// UUIDs in all datacenters, configured or not, and where it was found last. Nil
// means that each answered and none has it, and that they were the configured ones
// all the time. topology.ErrUnknown means that one
// could not say; any other error names a vCenter that has it. Templates do not
// count.
func (f *Fleet) ConfirmAbsent(ctx context.Context, id inventory.Identity) error {
	asked := f.connections.Load()
	connections := *asked
	errs := make([]error, len(connections))
	var g errgroup.Group
	for i, c := range connections {
		g.Go(func() error {
			errs[i] = c.guard.run(ctx, "asking whether the machine is there", func() error { return c.confirmAbsent(ctx, id) })
			if crashed(errs[i]) {
				errs[i] = fmt.Errorf("%w: vCenter %q: %w", topology.ErrUnknown, c.name, errs[i])
			}
			return nil
		})
	}
	_ = g.Wait()
	if f.connections.Load() != asked {
		errs = append(errs, fmt.Errorf("%w: the configuration has changed meanwhile", topology.ErrUnknown))
	}
	return errors.Join(errs...)
}

func (c *connection) confirmAbsent(ctx context.Context, id inventory.Identity) error {
	s := c.current()
	if s == nil {
		return fmt.Errorf("%w: vCenter %q: not logged in", topology.ErrUnknown, c.name)
	}
	ref, u, err := s.withUUID(ctx, id.UUIDs)
	switch {
	case err != nil:
		return fmt.Errorf("%w: vCenter %q: %w", topology.ErrUnknown, c.name, err)
	case ref != nil:
		return fmt.Errorf("vCenter %q has a machine with UUID %s: %s", c.name, u, ref.Value)
	}
	if id.Known.VCenter != c.name {
		return nil
	}
	// An account that may not see a machine does not find it by its UUID, but
	// is not told either that there is none.
	template, err := s.template(ctx, machineRef(id.Known.ID))
	switch {
	case err == nil && template:
		return nil
	case err == nil:
		return fmt.Errorf("vCenter %q still has %s, which the machine was", c.name, id.Known.ID)
	case gone(err):
		return nil
	}
	return fmt.Errorf("%w: vCenter %q: reading %s, which the machine was: %w", topology.ErrUnknown, c.name, id.Known.ID, err)
}

// withUUID searches the whole vCenter for a machine with one of the UUIDs, which
// is not a template. Nil means that it has none.
func (s *session) withUUID(ctx context.Context, uuids []inventory.UUID) (*types.ManagedObjectReference, inventory.UUID, error) {
	for _, u := range uuids {
		refs, err := s.search(ctx, u)
		if err != nil {
			return nil, u, fmt.Errorf("searching for UUID %s: %w", u, err)
		}
		for _, ref := range refs {
			template, err := s.template(ctx, ref)
			switch {
			case err != nil && !gone(err):
				return nil, u, fmt.Errorf("reading %s, which has UUID %s: %w", ref.Value, u, err)
			case err == nil && !template:
				return &ref, u, nil
			}
		}
	}
	return nil, inventory.UUID{}, nil
}

// template says whether a machine is one.
func (s *session) template(ctx context.Context, machine types.ManagedObjectReference) (template bool, err error) {
	err = s.retrieve(ctx, types.PropertyFilterSpec{
		PropSet:   []types.PropertySpec{{Type: "VirtualMachine", PathSet: []string{"config.template"}}},
		ObjectSet: []types.ObjectSpec{{Obj: machine}},
	}, func(o *types.ObjectContent) { template = propertiesOf(o, nil).bool("config.template") })
	return template, err
}
