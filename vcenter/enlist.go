package vcenter

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"
)

// outside returns the machines that are or may be in the vCenter and are in none
// of the configured datacenters, in order: those followed that have left the
// index and are still told of, and those where a Node's machine was found last.
func (w *watch) outside(f *followed) []string {
	if len(w.c.cfg.Datacenters) == 0 {
		return nil // everything that the account can see is inside
	}
	if w.seek != nil {
		return w.elsewhere()
	}
	var ids []string
	for id := range f.known[w.c.name] {
		if _, inside := w.model.index[id]; !inside && !w.missing[id] && w.refused[id].IsZero() {
			ids = append(ids, id)
		}
	}
	for id := range w.listed {
		if _, inside := w.model.index[id]; !inside && f.uuids[w.model.uuid(id)] {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// refusedFor is how long a machine that no list view may have is not tried again.
const refusedFor = 5 * time.Minute

// dispute ends the watch, once for each machine, if the index still has one that the
// vCenter says it does not have: something was not told. The second time it is not
// followed, since the account may list it and not see it.
func (w *watch) dispute(ctx context.Context) error {
	w.disputed = nil
	again := ""
	for id := range w.missing {
		if _, inside := w.model.index[id]; !inside {
			delete(w.c.disputed, id)
			continue
		}
		if w.c.disputed[id] {
			w.refuse(ctx, id)
			continue
		}
		if w.c.disputed == nil {
			w.c.disputed = map[string]bool{}
		}
		w.c.disputed[id] = true
		again = id
	}
	if again != "" {
		return fmt.Errorf("%s was listed and is not there; reading everything again", again)
	}
	return nil
}

// refuse has a machine not be followed for a while.
func (w *watch) refuse(ctx context.Context, id string) {
	delete(w.missing, id)
	if w.refused[id].IsZero() {
		klog.FromContext(ctx).Info("The vCenter does not let a machine be followed, though it is listed; its Node waits. Does the account have System.View and System.Read on it?", "moid", id)
	}
	w.refused[id] = time.Now()
}

// enlist makes the list view hold exactly these machines, but for those that
// the vCenter does not have or does not let us follow.
func (w *watch) enlist(ctx context.Context, ids []string) error {
	var add, remove []types.ManagedObjectReference
	now := make(map[string]bool, len(ids))
	for _, id := range ids {
		if since := w.refused[id]; w.missing[id] || !since.IsZero() && time.Since(since) < refusedFor {
			continue
		}
		now[id] = true
		if !w.listed[id] {
			add = append(add, machineRef(id))
		}
	}
	for id := range w.listed {
		if !now[id] {
			remove = append(remove, machineRef(id))
			w.untold.told(id) // it is no concern any more
			w.model.tree.remove(machineRef(id))
		}
	}
	if len(add) == 0 && len(remove) == 0 {
		return nil
	}
	added, err := w.modifyList(ctx, w.list, add, remove)
	if err != nil {
		return fmt.Errorf("following %d machines: %w", len(ids), err)
	}
	for _, ref := range added.unresolved {
		id := ref.Value
		delete(now, id)
		if !w.refused[id].IsZero() {
			w.refuse(ctx, id)
			continue
		}
		w.missing[id] = true
		if w.disputed == nil {
			w.disputed = time.After(disputeTime)
		}
	}
	for _, ref := range added.untried {
		delete(now, ref.Value)
		w.postponed = time.After(postponeTime)
	}
	add = slices.DeleteFunc(add, func(ref types.ManagedObjectReference) bool { return !now[ref.Value] })
	for _, ref := range add {
		delete(w.refused, ref.Value)
		delete(w.c.disputed, ref.Value)
		if _, inside := w.model.index[ref.Value]; !inside {
			w.untold.add(ref.Value)
		}
	}
	w.changed = true
	// The watch tells of them too, a page of 100 objects at a time.
	// A machine that only a Node tells of may be one that the account may not see.
	if err := w.s.readMachines(ctx, add, w.more(), w.model.tree); err != nil && !gone(err) && !denied(err) {
		return fmt.Errorf("reading %d machines: %w", len(add), err)
	}
	klog.FromContext(ctx).V(2).Info("Follows machines", "machines", len(ids), "added", len(add), "removed", len(remove))
	w.listed = now
	return nil
}

const (
	// listRequestsMax bounds the requests for finding out which machines cannot be on
	// the list, where the vCenter refuses all that are added together.
	listRequestsMax = 64
	// postponeTime is the pause after which the rest is tried.
	postponeTime = 5 * time.Second
)

// listing is what has not come onto the list: machines that are not there or cannot be
// seen, and those that were not tried.
type listing struct {
	unresolved, untried []types.ManagedObjectReference
}

// modifyList changes a list view. Some vCenters return what they cannot list, others
// refuse the whole request: then it is repeated with halves, down to single machines.
func (w *watch) modifyList(ctx context.Context, list types.ManagedObjectReference, add, remove []types.ManagedObjectReference) (l listing, err error) {
	if l.unresolved, err = w.requestList(ctx, list, add, remove); err == nil || !w.refusesWhole(err) {
		return l, err
	}
	if len(remove) > 0 {
		// Those that have been deleted are no longer on the list.
		if _, err := w.requestList(ctx, list, nil, remove); err != nil && !w.refusesWhole(err) {
			return l, err
		}
	}
	parts := [][]types.ManagedObjectReference{add}
	if len(remove) == 0 {
		parts = halves(add)
	}
	for n := 0; len(parts) > 0; n++ {
		part := parts[0]
		parts = parts[1:]
		if len(part) == 0 {
			continue
		}
		if n >= listRequestsMax {
			l.untried = append(l.untried, part...)
			continue
		}
		unresolved, err := w.requestList(ctx, list, part, nil)
		switch {
		case err == nil:
			l.unresolved = append(l.unresolved, unresolved...)
		case !w.refusesWhole(err):
			return l, err
		case len(part) == 1:
			l.unresolved = append(l.unresolved, part...)
		default:
			parts = append(halves(part), parts...) // depth first, so that some are settled each time
		}
	}
	return l, nil
}

func halves(all []types.ManagedObjectReference) [][]types.ManagedObjectReference {
	if len(all) < 2 {
		return [][]types.ManagedObjectReference{all}
	}
	return [][]types.ManagedObjectReference{all[:len(all)/2], all[len(all)/2:]}
}

func (w *watch) requestList(ctx context.Context, list types.ManagedObjectReference, add, remove []types.ManagedObjectReference) (unresolved []types.ManagedObjectReference, err error) {
	res, err := methods.ModifyListView(ctx, w.s.vim, &types.ModifyListView{This: list, Add: add, Remove: remove})
	if err != nil {
		return nil, err
	}
	return res.Returnval, nil
}

// refusesWhole reports whether a change of the list was refused because of one of the
// machines in it.
func (w *watch) refusesWhole(err error) bool {
	return !lost(w.s.judge(err)) && (denied(err) || gone(err) || faulted[types.InvalidArgument](err))
}
