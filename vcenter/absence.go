package vcenter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/sync/errgroup"

	"vzones/internal/quote"
	"vzones/topology"
	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
	"vzones/vcenter/watch"
)

// ConfirmAbsent searches every vCenter, in all its datacenters, for a VM's UUIDs and its last managed
// objects. Nil means that none exists. The error is topology.ErrUnknown if the search is incomplete;
// otherwise it names the vCenter with the VM.
func (f *Fleet) ConfirmAbsent(ctx context.Context, id inventory.Identity) error {
	vcenters := f.vcenters.Load()
	errs := make([]error, len(*vcenters))
	var g errgroup.Group
	for i, v := range *vcenters {
		g.Go(func() error {
			errs[i] = v.confirmAbsent(ctx, id)
			return nil
		})
	}
	_ = g.Wait()
	if f.vcenters.Load() != vcenters {
		errs = append(errs, topology.Errorf(topology.ErrUnknown, "the configuration changed during the search: retrying"))
	}
	return joinAnswers(errs)
}

func (v *vCenter) confirmAbsent(ctx context.Context, id inventory.Identity) error {
	published := v.status.Load()
	s := v.sessionOf(published)
	if s == nil {
		return topology.Errorf(topology.ErrUnknown, "vCenter %q: not logged in: see the Events of the daemon's Pod", v.name)
	}
	if err := v.checkHold(ctx, s, published.reading, id); err != nil {
		return topology.Errorf(topology.ErrUnknown, "vCenter %q: %w", v.name, faults.Printable{Err: err})
	}
	if err := v.catchUp(ctx); err != nil {
		return err
	}
	last := v.lastSeen(s, id)
	errs := make([]error, 1+len(last))
	v.inParallel(ctx, errs, func(i int) error {
		if i > 0 {
			return v.confirmGone(ctx, s, last[i-1])
		}
		ref, u, err := v.withUUID(ctx, s, id.UUIDs)
		switch {
		case ref != nil:
			return fmt.Errorf("%s has UUID %s but is missing from the list of VMs: reading it again", topology.Ref{VCenter: v.name, Type: ref.Type, ID: ref.Value}.Located(""), u)
		case err != nil:
			return topology.Errorf(topology.ErrUnknown, "vCenter %q: %w", v.name, faults.Printable{Err: err})
		}
		return nil
	})
	for i, err := range errs {
		if faults.Recovered(err) {
			errs[i] = topology.Errorf(topology.ErrUnknown, "vCenter %q: %w", v.name, faults.Printable{Err: err})
		}
	}
	return joinAnswers(errs)
}

const catchUpTimeout = 10 * time.Second

// catchUp waits until the snapshot includes all reported changes. A VM with an unreadable configuration
// may be in the snapshot only.
func (v *vCenter) catchUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, catchUpTimeout)
	defer cancel()
	if err := v.inbox.CatchUp(ctx); err != nil {
		return topology.Errorf(topology.ErrUnknown, "vCenter %q: changes were not read within %v: retrying the search", v.name, catchUpTimeout)
	}
	return nil
}

func (v *vCenter) inParallel(ctx context.Context, errs []error, f func(int) error) {
	var g errgroup.Group
	for i := range errs {
		g.Go(func() error {
			errs[i] = v.guard.Run(ctx, "checking whether the VM exists", func() error { return f(i) })
			return nil
		})
	}
	_ = g.Wait()
}

// joinAnswers prefers errors that name a vCenter with the VM, then failures. So the result is inventory.ErrHeld only if
// every vCenter without an answer is held.
func joinAnswers(errs []error) error {
	for _, kind := range []error{topology.ErrUnknown, inventory.ErrHeld} {
		preferred := slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil || errors.Is(err, kind) })
		if len(preferred) > 0 {
			return quote.Errors(quote.Most, preferred...)
		}
	}
	return quote.Errors(quote.Most, errs...)
}

func (v *vCenter) lastSeen(s *session.Session, id inventory.Identity) []string {
	var ids []string
	instance := s.Client().ServiceContent.About.InstanceUuid
	for _, seen := range []inventory.LastSeen{{VCenter: id.Recorded.VCenter, Instance: id.RecordedInstance, ID: id.Recorded.ID}, id.LastSeen} {
		if seen.IsIn(v.name, instance) && seen.ID != "" {
			ids = append(ids, seen.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func (v *vCenter) confirmGone(ctx context.Context, s *session.Session, id string) error {
	// A search by UUID would miss a VM that the account may not see.
	reply, err := watch.InSlot(ctx, v.slots, func() (inventory.Reply, error) { return watch.AskAbout(ctx, s, id) })
	name := topology.Ref{VCenter: v.name, Type: "VirtualMachine", ID: id}.Located("")
	switch {
	case err != nil:
		return topology.Errorf(topology.ErrUnknown, "vCenter %q: reading %s, the VM's last managed object: %w", v.name, quote.Plain(id), faults.Printable{Err: err})
	case reply == inventory.Gone, reply == inventory.Different:
		return nil
	case reply == inventory.Present:
		return fmt.Errorf("%s, the VM's last managed object, still exists: delete the Node manually if this is no longer its VM", name)
	}
	return topology.Errorf(topology.ErrUnknown, "%s, the VM's last managed object, is not visible to the account and may still exist: give the account its role on it", name)
}

func (v *vCenter) withUUID(ctx context.Context, s *session.Session, uuids []inventory.UUID) (*types.ManagedObjectReference, inventory.UUID, error) {
	found := make([]*types.ManagedObjectReference, len(uuids))
	errs := make([]error, len(uuids))
	v.inParallel(ctx, errs, func(i int) (err error) {
		found[i], err = v.find(ctx, s, uuids[i])
		return err
	})
	for i, ref := range found {
		if ref != nil {
			return ref, uuids[i], nil
		}
	}
	return nil, inventory.UUID{}, quote.Errors(quote.Most, errs...)
}

func (v *vCenter) find(ctx context.Context, s *session.Session, u inventory.UUID) (*types.ManagedObjectReference, error) {
	refs, err := watch.InSlot(ctx, v.slots, func() ([]types.ManagedObjectReference, error) { return watch.SearchUUID(ctx, s.Client(), u) })
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		reply, err := watch.InSlot(ctx, v.slots, func() (inventory.Reply, error) { return watch.AskAbout(ctx, s, ref.Value) })
		switch {
		case err != nil:
			return nil, fmt.Errorf("reading %s, which has UUID %s: %w", quote.Plain(ref.Value), u, err)
		case reply == inventory.Hidden:
			return nil, fmt.Errorf("%s, which has UUID %s, is not visible to the account", quote.Plain(ref.Value), u)
		case reply == inventory.Present:
			return &ref, nil
		}
	}
	return nil, nil
}

const disconnectedHostFactor = 12

// A reading lasts from the first snapshot to the next interrupt.
type reading struct {
	inventory.Reading
	hostsConnected atomic.Bool
}

// checkHold returns an error while the vCenter may lack an existing VM. A vCenter restored from a backup
// discovers newer VMs, under new managed object IDs, once their hosts connect.
func (v *vCenter) checkHold(ctx context.Context, s *session.Session, r *reading, id inventory.Identity) error {
	if v.deletionHold == 0 {
		return nil
	}
	if err := r.CheckHold(id, v.deletionHold); err != nil {
		return err
	}
	if !r.MayMissVM(id) || r.hostsConnected.Load() || time.Since(r.Since) > disconnectedHostFactor*v.deletionHold {
		return nil
	}
	host, err := watch.InSlot(ctx, v.slots, func() (string, error) { return watch.DisconnectedHost(ctx, s) })
	switch {
	case err != nil:
		return fmt.Errorf("checking whether its hosts are connected: %w", err)
	case host != "":
		return fmt.Errorf("%w, since host %s is not connected: connect it, remove it from the inventory, or wait for up to %v",
			inventory.ErrHeld, quote.Plain(host), disconnectedHostFactor*v.deletionHold)
	}
	r.hostsConnected.Store(true)
	return nil
}
