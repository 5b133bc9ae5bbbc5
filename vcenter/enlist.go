package vcenter

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"vzones/vcenter/faults"
)

// outside are machines that are or may be in the vCenter and are in none of the configured
// datacenters, in order.
type outside struct {
	// left are those followed that have left the index and are still told of.
	left []string
	// told are those that Nodes say theirs were found as. Only the Nodes that say so hear
	// of them.
	told []string
}

func (w *watch) outside(f *followed) outside {
	var out outside
	if len(w.c.cfg.Datacenters) == 0 {
		return out // everything that the account can see is inside
	}
	if w.seek != nil {
		return outside{left: w.elsewhere()}
	}
	for id := range f.told[w.c.name] {
		if _, inside := w.model.index[id]; !inside && !w.missing[id] && w.refused[id].IsZero() {
			out.told = append(out.told, id)
		}
	}
	for id := range w.listed {
		if _, inside := w.model.index[id]; !inside && !w.hearsay[id] && f.uuids[w.model.uuid(id)] {
			out.left = append(out.left, id)
		}
	}
	slices.Sort(out.told)
	slices.Sort(out.left)
	return out
}

// forgetUntold forgets what became of machines that are not in the index, and that no
// Node names any more.
func (w *watch) forgetUntold(f *followed) {
	nobodys := func(id string) bool {
		_, inside := w.model.index[id]
		_, told := f.told[w.c.name][id]
		return !inside && !told && !w.listed[id]
	}
	maps.DeleteFunc(w.missing, func(id string, _ bool) bool { return nobodys(id) })
	maps.DeleteFunc(w.refused, func(id string, _ time.Time) bool { return nobodys(id) })
	maps.DeleteFunc(w.hearsay, func(id string, _ bool) bool { return !w.listed[id] })
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
// the vCenter does not have or does not let us follow. Those that nothing but Nodes tells
// of are put on it by themselves, so that what is wrong with them is no concern of others.
func (w *watch) enlist(ctx context.Context, ids, told []string) error {
	var add, hearsay, remove []types.ManagedObjectReference
	now := make(map[string]bool, len(ids)+len(told))
	for _, id := range ids {
		delete(w.hearsay, id)
		if since := w.refused[id]; w.missing[id] || !since.IsZero() && time.Since(since) < refusedFor {
			continue
		}
		now[id] = true
		if !w.listed[id] {
			add = append(add, machineRef(id))
		}
	}
	for _, id := range told {
		if !now[id] && !w.listed[id] {
			hearsay = append(hearsay, machineRef(id))
		}
		now[id] = true
	}
	for id := range w.listed {
		if !now[id] {
			remove = append(remove, machineRef(id))
			w.untold.told(id) // it is no concern any more
			w.model.tree.remove(machineRef(id))
		}
	}
	if len(add) == 0 && len(remove) == 0 && len(hearsay) == 0 {
		return nil
	}
	if err := w.putOnList(ctx, now, add, remove); err != nil {
		return fmt.Errorf("following %d machines: %w", len(ids), err)
	}
	if err := w.believe(ctx, now, hearsay); err != nil {
		return fmt.Errorf("following %d machines that Nodes tell of: %w", len(hearsay), err)
	}
	w.changed = true
	klog.FromContext(ctx).V(2).Info("Follows machines", "machines", len(ids), "added", len(add), "told", len(hearsay), "removed", len(remove))
	w.listed = now
	return nil
}

// putOnList puts machines on the list view and takes others off it, and leaves in now what
// is on it.
func (w *watch) putOnList(ctx context.Context, now map[string]bool, add, remove []types.ManagedObjectReference) error {
	if len(add) == 0 && len(remove) == 0 {
		return nil
	}
	added, err := w.modifyList(ctx, w.list, add, remove)
	if err != nil {
		return err
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
	// The watch tells of them too, a page of 100 objects at a time.
	if err := w.s.readMachines(ctx, add, w.more(), w.model.tree); err != nil && !faults.Gone(err) && !faults.Denied(err) {
		return fmt.Errorf("reading %d machines: %w", len(add), err)
	}
	return nil
}

// believe puts machines on the list view that nothing but Nodes tells of. No fault that the
// vCenter answers ends the watch: there may be no such object, or one of another type. It
// is missing then, until no Node names it any more.
func (w *watch) believe(ctx context.Context, now map[string]bool, hearsay []types.ManagedObjectReference) error {
	if len(hearsay) == 0 {
		return nil
	}
	taken, err := w.tryList(ctx, w.list, hearsay)
	if err != nil {
		return err
	}
	for _, ref := range taken.unresolved {
		delete(now, ref.Value)
		w.missing[ref.Value] = true
	}
	for _, ref := range taken.untried {
		delete(now, ref.Value)
		w.postponed = time.After(postponeTime)
	}
	hearsay = slices.DeleteFunc(hearsay, func(ref types.ManagedObjectReference) bool { return !now[ref.Value] })
	if w.hearsay == nil {
		w.hearsay = map[string]bool{}
	}
	for _, ref := range hearsay {
		w.hearsay[ref.Value] = true
		w.untold.add(ref.Value)
	}
	// It may be one that the account may not see.
	if err := w.s.readMachines(ctx, hearsay, w.more(), w.model.tree); err != nil && !w.faults(err) {
		return fmt.Errorf("reading them: %w", err)
	}
	return nil
}

const (
	// listRequestsMax bounds the requests for finding out which machines cannot be on
	// the list, where the vCenter refuses all that are added together.
	listRequestsMax = 64
	// toldRequestsMax is the same for machines that nothing but Nodes tells of. A few are
	// settled each time, however many there are.
	toldRequestsMax = 16
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
	return w.listParts(ctx, list, parts, listRequestsMax, w.refusesWhole)
}

// tryList adds to a list view what may be no machines at all: whatever fault that is
// answered with is taken for one of them.
func (w *watch) tryList(ctx context.Context, list types.ManagedObjectReference, add []types.ManagedObjectReference) (listing, error) {
	return w.listParts(ctx, list, [][]types.ManagedObjectReference{add}, toldRequestsMax, w.faults)
}

// listParts adds parts to a list view, and halves of those that are refused.
func (w *watch) listParts(ctx context.Context, list types.ManagedObjectReference, parts [][]types.ManagedObjectReference, most int, refused func(error) bool) (l listing, err error) {
	for n := 0; len(parts) > 0; n++ {
		part := parts[0]
		parts = parts[1:]
		if len(part) == 0 {
			continue
		}
		if n >= most {
			l.untried = append(l.untried, part...)
			continue
		}
		unresolved, err := w.requestList(ctx, list, part, nil)
		switch {
		case err == nil:
			l.unresolved = append(l.unresolved, unresolved...)
		case !refused(err):
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
	return !faults.SessionLost(w.s.Classify(err)) && (faults.Denied(err) || faults.Gone(err) || faults.Is[types.InvalidArgument](err))
}

// faults reports whether the vCenter answered with a fault, and the session is not lost.
func (w *watch) faults(err error) bool {
	return faults.FromServer(err) && !faults.SessionLost(w.s.Classify(err))
}
