package vcenter

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/sync/errgroup"

	"vzones/topology"
	"vzones/vcenter/inventory"
)

// ConfirmAbsent asks every vCenter directly for the machine: for each of its
// UUIDs in all datacenters, configured or not, and where it was found last. Nil
// means that each answered and none has it, and that they were the configured ones
// all the time. A vCenter with index: followed has no list of the machines whose
// UUID cannot be read, which a search may not find: then it has to be known where
// the machine was last, and that it is not there any more. topology.ErrUnknown means that one
// could not say; any other error names a vCenter that has it. Templates do not
// count.
func (f *Fleet) ConfirmAbsent(ctx context.Context, id inventory.Identity) error {
	asked := f.connections.Load()
	connections := *asked
	errs := make([]error, len(connections))
	if err := traceless(connections, id); err != nil {
		return err
	}
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
	for _, was := range c.traces(s, id) {
		if err := c.confirmGone(ctx, s, was); err != nil {
			return err
		}
	}
	return nil
}

// traces are the managed object IDs that the machine had in this vCenter last: as its
// Node tells, as this process saw the Node's machine, and as its own watch knows.
func (c *connection) traces(s *session, id inventory.Identity) []string {
	var ids []string
	if id.Known.VCenter == c.name {
		ids = append(ids, id.Known.ID)
	}
	if id.Seen.VCenter == c.name && id.Seen.ID != "" {
		ids = append(ids, id.Seen.ID)
	}
	ids = append(ids, c.places.of(s.vim.ServiceContent.About.InstanceUuid, id.UUIDs)...)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// traceless returns an error if a vCenter has an index of followed machines only and
// nothing tells where the machine was last.
func traceless(connections []*connection, id inventory.Identity) error {
	for _, c := range connections {
		if s := c.current(); s != nil && len(c.traces(s, id)) > 0 {
			return nil
		}
	}
	for _, c := range connections {
		if c.target.Load().cfg.Followed {
			return fmt.Errorf("%w: vCenter %q has index: followed, where a search may not find a machine whose configuration cannot be read, "+
				"and nothing tells where the machine was: delete the Node by hand if its machine is gone", topology.ErrUnknown, c.name)
		}
	}
	return nil
}

// confirmGone returns nil if the managed object that the machine was is not there any
// more, or is a template.
func (c *connection) confirmGone(ctx context.Context, s *session, id string) error {
	// An account that may not see a machine does not find it by its UUID, but
	// is not told either that there is none.
	template, err := s.template(ctx, machineRef(id))
	switch {
	case err == nil && template:
		return nil
	case err == nil:
		return fmt.Errorf("vCenter %q still has %s, which the machine was", c.name, id)
	case gone(err):
		return nil
	}
	return fmt.Errorf("%w: vCenter %q: reading %s, which the machine was: %w", topology.ErrUnknown, c.name, id, err)
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
