package vcenter

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/inventory"
)

// candidates are the machines to be in the index, in order: those that were found,
// those that an earlier watch knew, since a search may not find a machine whose
// configuration cannot be read, and apart from these those that only Nodes tell of. These
// and what was known before count once the search for their UUID was done: until then
// another machine with that UUID may not be known.
func (w *watch) candidates(f *followed) (ids, told []string) {
	for _, found := range w.seek.refs {
		ids = append(ids, found...)
	}
	searched := func(u inventory.UUID) bool { _, done := w.seek.refs[sought{uuid: u}]; return done }
	if w.model.before != nil {
		for id, e := range w.model.before.index {
			if searched(e.uuid) {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	for id, uuids := range f.told[w.c.name] {
		if _, ok := slices.BinarySearch(ids, id); !ok && slices.ContainsFunc(uuids, searched) {
			told = append(told, id)
		}
	}
	slices.Sort(told)
	taken := func(all []string) []string {
		return slices.DeleteFunc(all, func(id string) bool { return w.seek.untaken[id] })
	}
	maps.DeleteFunc(w.seek.untaken, func(id string, _ bool) bool {
		_, found := slices.BinarySearch(ids, id)
		_, named := slices.BinarySearch(told, id)
		return !found && !named
	})
	return taken(ids), taken(told)
}

// coming are the UUIDs of the machines that are on the list and that the filter has
// not told of yet, as the earlier watch tells them.
func (w *watch) coming() map[inventory.UUID]bool {
	uuids := map[inventory.UUID]bool{}
	for id := range w.seek.listed {
		if _, here := w.model.index[id]; !here && w.model.before != nil {
			uuids[w.model.before.index[id].uuid] = true
		}
	}
	return uuids
}

// awaited are the machines that Nodes tell of and of which the vCenter has not said yet
// whether there are such: they were not tried for want of time, or are on the list of the
// index and the filter has not told of them. Without datacenters everything is in the index
// of all machines.
func (w *watch) awaited(f *followed) map[string]bool {
	if w.seek == nil && len(w.c.cfg.Datacenters) == 0 {
		return nil
	}
	var awaited map[string]bool
	for id := range f.told[w.c.name] {
		_, here := w.model.index[id]
		answered := w.listed[id] || w.missing[id] || !w.refused[id].IsZero()
		if w.seek != nil {
			answered = w.seek.untaken[id]
		}
		if here || answered {
			continue
		}
		if awaited == nil {
			awaited = map[string]bool{}
		}
		awaited[id] = true
	}
	return awaited
}

// follows makes the list view of the index hold exactly the candidates, but for those
// that it does not take.
func (w *watch) follows(ctx context.Context, f *followed) error {
	k := w.seek
	ids, told := w.candidates(f)
	var add, hearsay, remove []types.ManagedObjectReference
	wanted := make(map[string]bool, len(ids)+len(told))
	for _, id := range ids {
		if wanted[id] = true; !k.listed[id] {
			add = append(add, machineRef(id))
		}
	}
	heard := map[string]bool{}
	for _, id := range told {
		if wanted[id], heard[id] = true, true; !k.listed[id] {
			hearsay = append(hearsay, machineRef(id))
		}
	}
	w.changed = w.model.hear(heard) || w.changed
	for id := range k.listed {
		if !wanted[id] {
			remove = append(remove, machineRef(id))
		}
	}
	if len(add) > 0 || len(remove) > 0 {
		taken, err := w.modifyList(ctx, k.list, add, remove)
		if err != nil {
			return fmt.Errorf("watching %d machines: %w", len(ids), err)
		}
		w.taken(add, taken)
	}
	if len(hearsay) > 0 {
		taken, err := w.tryList(ctx, k.list, hearsay)
		if err != nil {
			return fmt.Errorf("watching %d machines that Nodes tell of: %w", len(hearsay), err)
		}
		w.taken(hearsay, taken)
	}
	for _, ref := range remove {
		delete(k.listed, ref.Value)
		w.model.applyIndex(k.filter, &types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: ref})
		w.changed = true
	}
	return nil
}

// taken notes which machines that were added the list view has.
func (w *watch) taken(add []types.ManagedObjectReference, l listing) {
	k := w.seek
	for _, ref := range add {
		k.listed[ref.Value] = true
	}
	for _, ref := range l.unresolved {
		delete(k.listed, ref.Value)
		k.untaken[ref.Value] = true
	}
	for _, ref := range l.untried {
		delete(k.listed, ref.Value)
		w.postponed = time.After(postponeTime)
	}
	w.changed = true
}
