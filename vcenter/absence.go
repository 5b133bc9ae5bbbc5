package vcenter

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/sync/errgroup"

	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
	"vzones/vcenter/panics"
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
			errs[i] = c.confirmAbsent(ctx, id)
			return nil
		})
	}
	_ = g.Wait()
	if f.connections.Load() != asked {
		errs = append(errs, fmt.Errorf("%w: the configuration has changed meanwhile", topology.ErrUnknown))
	}
	return certain(errs)
}

// confirmAbsent asks all questions side by side. That the vCenter has the machine
// counts more than what it could not say.
func (c *connection) confirmAbsent(ctx context.Context, id inventory.Identity) error {
	s := c.current()
	if s == nil {
		return fmt.Errorf("%w: vCenter %q: not logged in", topology.ErrUnknown, c.name)
	}
	traces := c.traces(s, id)
	errs := make([]error, 1+len(traces))
	c.sideBySide(ctx, errs, func(i int) error {
		if i > 0 {
			return c.confirmGone(ctx, s, traces[i-1])
		}
		ref, u, err := c.withUUID(ctx, s, id.UUIDs)
		switch {
		case ref != nil:
			return fmt.Errorf("vCenter %q has a machine with UUID %s: %s", c.name, u, quote.Plain(ref.Value))
		case err != nil:
			return fmt.Errorf("%w: vCenter %q: %w", topology.ErrUnknown, c.name, faults.Printable{Err: err})
		}
		return nil
	})
	for i, err := range errs {
		if panics.Recovered(err) {
			errs[i] = fmt.Errorf("%w: vCenter %q: %w", topology.ErrUnknown, c.name, faults.Printable{Err: err})
		}
	}
	return certain(errs)
}

// sideBySide fills errs with what do returns for each index. None panics.
func (c *connection) sideBySide(ctx context.Context, errs []error, do func(int) error) {
	var g errgroup.Group
	for i := range errs {
		g.Go(func() error {
			errs[i] = c.guard.Run(ctx, "asking whether the machine is there", func() error { return do(i) })
			return nil
		})
	}
	_ = g.Wait()
}

// certain joins the errors that name a vCenter that has the machine, or else all.
func certain(errs []error) error {
	has := slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil || errors.Is(err, topology.ErrUnknown) })
	if len(has) > 0 {
		return quote.Errors(quote.Most, has...)
	}
	return quote.Errors(quote.Most, errs...)
}

// traces are the managed object IDs that the machine had in this vCenter last, through
// whichever of its entries: as its Node tells, as this process saw the Node's machine, and
// as its own watch knows.
func (c *connection) traces(s *reader, id inventory.Identity) []string {
	var ids []string
	instance := s.vim.ServiceContent.About.InstanceUuid
	here := func(vcenter, of string) bool { return vcenter == c.name || of != "" && of == instance }
	if here(id.Known.VCenter, id.KnownIn) && id.Known.ID != "" {
		ids = append(ids, id.Known.ID)
	}
	if here(id.Seen.VCenter, id.Seen.Instance) && id.Seen.ID != "" {
		ids = append(ids, id.Seen.ID)
	}
	ids = append(ids, c.places.of(instance, id.UUIDs)...)
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
func (c *connection) confirmGone(ctx context.Context, s *reader, id string) error {
	// An account that may not see a machine does not find it by its UUID, but
	// is not told either that there is none.
	template, err := atLeisure(ctx, c, func() (bool, error) { return s.template(ctx, machineRef(id)) })
	switch {
	case err == nil && template:
		return nil
	case err == nil:
		return fmt.Errorf("vCenter %q still has %s, which the machine was", c.name, quote.Plain(id))
	case faults.Gone(err):
		return nil
	}
	return fmt.Errorf("%w: vCenter %q: reading %s, which the machine was: %w", topology.ErrUnknown, c.name, quote.Plain(id), faults.Printable{Err: err})
}

// withUUID searches the whole vCenter for a machine with one of the UUIDs, which
// is not a template, for all of them side by side. Nil without an error means that it
// has none.
func (c *connection) withUUID(ctx context.Context, s *reader, uuids []inventory.UUID) (*types.ManagedObjectReference, inventory.UUID, error) {
	found := make([]*types.ManagedObjectReference, len(uuids))
	errs := make([]error, len(uuids))
	c.sideBySide(ctx, errs, func(i int) (err error) {
		found[i], err = c.search(ctx, s, uuids[i])
		return err
	})
	for i, ref := range found {
		if ref != nil {
			return ref, uuids[i], nil
		}
	}
	return nil, inventory.UUID{}, quote.Errors(quote.Most, errs...)
}

// search returns a machine with the UUID that is not a template, nil if the vCenter
// has none.
func (c *connection) search(ctx context.Context, s *reader, u inventory.UUID) (*types.ManagedObjectReference, error) {
	refs, err := atLeisure(ctx, c, func() ([]types.ManagedObjectReference, error) { return s.search(ctx, u) })
	if err != nil {
		return nil, fmt.Errorf("searching for UUID %s: %w", u, err)
	}
	for _, ref := range refs {
		template, err := atLeisure(ctx, c, func() (bool, error) { return s.template(ctx, ref) })
		switch {
		case err != nil && !faults.Gone(err):
			return nil, fmt.Errorf("reading %s, which has UUID %s: %w", quote.Plain(ref.Value), u, err)
		case err == nil && !template:
			return &ref, nil
		}
	}
	return nil, nil
}

// atLeisure makes a request that may wait for others of its kind, which leave the rest
// of the requests in flight to what cannot wait.
func atLeisure[T any](ctx context.Context, c *connection, request func() (T, error)) (T, error) {
	select {
	case c.searches <- struct{}{}:
		defer func() { <-c.searches }()
		return request()
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// template reports whether a machine is one.
func (s *reader) template(ctx context.Context, machine types.ManagedObjectReference) (template bool, err error) {
	err = s.Retrieve(ctx, types.PropertyFilterSpec{
		PropSet:   []types.PropertySpec{{Type: "VirtualMachine", PathSet: []string{"config.template"}}},
		ObjectSet: []types.ObjectSpec{{Obj: machine}},
	}, func(o *types.ObjectContent) { template = propertiesOf(o, static{}).bool("config.template") })
	return template, err
}
