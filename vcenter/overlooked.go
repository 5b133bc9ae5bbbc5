package vcenter

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/faults"
)

// A machine can be on the list of the index without the filter telling of it: one
// that was taken off and put on again at once never left for the filter, or its
// leaving is told when it is back. A search that finds such a machine has it read.

// overlooks notes those of the machines that a search has found which are on the list
// since before that and not in the index.
func (w *watch) overlooks(found []string) {
	for _, id := range found {
		if _, here := w.model.index[id]; w.seek.listed[id] && !here {
			w.seek.overlooked = append(w.seek.overlooked, id)
		}
	}
}

// readOverlooked reads these machines into the index. One that cannot be read stays out
// of it until the next search.
func (w *watch) readOverlooked(ctx context.Context) error {
	ids := w.seek.overlooked
	if w.seek.overlooked = nil; len(ids) == 0 {
		return nil
	}
	spec := types.PropertyFilterSpec{PropSet: []types.PropertySpec{{Type: "VirtualMachine", PathSet: indexProperties}}}
	for _, id := range ids {
		spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: machineRef(id)})
	}
	err := w.s.Retrieve(ctx, spec, func(o *types.ObjectContent) {
		u := types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: o.Obj}
		for _, p := range o.PropSet {
			u.ChangeSet = append(u.ChangeSet, types.PropertyChange{Name: p.Name, Op: types.PropertyChangeOpAssign, Val: p.Val})
		}
		w.model.applyIndex(w.seek.filter, &u)
		w.changed = true
	})
	if err != nil && !faults.Gone(err) && !faults.Denied(err) {
		return fmt.Errorf("reading %d machines: %w", len(ids), err)
	}
	return nil
}
