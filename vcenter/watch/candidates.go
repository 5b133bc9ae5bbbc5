package watch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/inventory"
	"vzones/vcenter/watch/model"
	"vzones/vcenter/watch/search"
)

// candidates are the machines to be in the index, in order: those that were found,
// those that an earlier watch knew, since a search may not find a machine whose
// configuration cannot be read, and apart from these those that only Nodes name. These
// and what was known before count once the search for their UUID was done: until then
// another machine with that UUID may not be known.
func (k *searcher) candidates(i *Interest) (ids, recorded []string) {
	for _, found := range k.refs {
		ids = append(ids, found...)
	}
	searched := func(u inventory.UUID) bool { _, done := k.refs[search.Key{UUID: u}]; return done }
	for id, uuid := range k.model.Earlier() {
		if searched(uuid) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	for id, uuids := range i.recordedIn(k.vcenter, k.model.Instance()) {
		if _, ok := slices.BinarySearch(ids, id); !ok && slices.ContainsFunc(uuids, searched) {
			recorded = append(recorded, id)
		}
	}
	slices.Sort(recorded)
	taken := func(all []string) []string {
		return slices.DeleteFunc(all, func(id string) bool { return k.untaken[id] })
	}
	maps.DeleteFunc(k.untaken, func(id string, _ bool) bool {
		_, found := slices.BinarySearch(ids, id)
		_, named := slices.BinarySearch(recorded, id)
		return !found && !named
	})
	return taken(ids), taken(recorded)
}

// setList makes the list view of the index hold exactly the candidates, but for those
// that it does not take, and reports whether it was changed.
func (k *searcher) setList(ctx context.Context, i *Interest) (changed bool, err error) {
	ids, recorded := k.candidates(i)
	var add, named, remove []types.ManagedObjectReference
	wanted := make(map[string]bool, len(ids)+len(recorded))
	for _, id := range ids {
		if wanted[id] = true; !k.listed[id] {
			add = append(add, model.MachineRef(id))
		}
	}
	only := map[string]bool{}
	for _, id := range recorded {
		if wanted[id], only[id] = true, true; !k.listed[id] {
			named = append(named, model.MachineRef(id))
		}
	}
	changed = k.model.SetOnlyRecorded(only)
	for id := range k.listed {
		if !wanted[id] {
			remove = append(remove, model.MachineRef(id))
		}
	}
	if len(add) > 0 || len(remove) > 0 {
		not, err := k.list.modify(ctx, add, remove)
		if err != nil {
			return false, fmt.Errorf("watching %d machines: %w", len(ids), err)
		}
		k.added(add, not)
		changed = true
	}
	if len(named) > 0 {
		not, err := k.list.try(ctx, named)
		if err != nil {
			return false, fmt.Errorf("watching %d machines that Nodes name: %w", len(named), err)
		}
		k.added(named, not)
		changed = true
	}
	for _, ref := range remove {
		delete(k.listed, ref.Value)
		k.model.ApplyIndex(k.filter, &types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: ref})
		changed = true
	}
	return changed, nil
}

// added notes which machines that were added the list view has.
func (k *searcher) added(add []types.ManagedObjectReference, not notListed) {
	for _, ref := range add {
		k.listed[ref.Value] = true
	}
	for _, ref := range not.unresolved {
		delete(k.listed, ref.Value)
		k.untaken[ref.Value] = true
	}
	for _, ref := range not.untried {
		delete(k.listed, ref.Value)
		k.postponed = time.After(postponeTime)
	}
}
