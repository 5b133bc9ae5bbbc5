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
	var ids []string
	for id := range f.known[w.c.name] {
		if _, inside := w.model.index[id]; !inside && !w.missing[id] {
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

// dispute ends the watch if the index still has a machine that the vCenter says it
// does not have: something was not told.
func (w *watch) dispute() error {
	w.disputed = nil
	for id := range w.missing {
		if _, inside := w.model.index[id]; inside {
			return fmt.Errorf("%s was listed and is not there; reading everything anew", id)
		}
	}
	return nil
}

// enlist makes the list view hold exactly these machines, but for those that
// the vCenter does not have.
func (w *watch) enlist(ctx context.Context, ids []string) error {
	var add, remove []types.ManagedObjectReference
	now := make(map[string]bool, len(ids))
	for _, id := range ids {
		if w.missing[id] {
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
			delete(w.model.tree.objects, machineRef(id))
		}
	}
	if len(add) == 0 && len(remove) == 0 {
		return nil
	}
	res, err := methods.ModifyListView(ctx, w.s.vim, &types.ModifyListView{This: w.list, Add: add, Remove: remove})
	if err != nil {
		return fmt.Errorf("following %d machines: %w", len(ids), err)
	}
	for _, ref := range res.Returnval {
		w.missing[ref.Value] = true
		if w.disputed == nil {
			w.disputed = time.After(disputeTime)
		}
		delete(now, ref.Value)
		add = slices.DeleteFunc(add, func(r types.ManagedObjectReference) bool { return r == ref })
	}
	w.changed = true
	// The watch tells of them too, a page of 100 objects at a time.
	// A machine that only a Node tells of may be one that the account may not see.
	if err := w.s.readMachines(ctx, add, w.model.tree); err != nil && !gone(err) && !denied(err) {
		return fmt.Errorf("reading %d machines: %w", len(add), err)
	}
	klog.FromContext(ctx).V(2).Info("Follows machines", "machines", len(ids), "added", len(add), "removed", len(remove))
	w.listed = now
	return nil
}
