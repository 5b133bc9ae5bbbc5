package watch

import (
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/inventory"
	"vzones/vcenter/watch/model"
)

// TestFollowedMachinesThatLeaveTheIndex stay on the list while they are reported,
// also without a record.
func TestFollowedMachinesThatLeaveTheIndex(t *testing.T) {
	n1 := identity(t, stranger)
	w, _ := newWatch(nil, func(o *Options) { o.Datacenters = []string{"dc1"} })
	w.details.listed = map[string]bool{"vm-1": true, "vm-2": true, "vm-3": true}
	w.details.missing = map[string]bool{"vm-5": true}
	details := func(id, uuid string) {
		w.model.Tree.Apply(&types.ObjectUpdate{Obj: model.MachineRef(id), ChangeSet: []types.PropertyChange{{Name: "config.uuid", Val: uuid}}})
	}
	for id, uuid := range map[string]string{"vm-1": stranger, "vm-2": "99999999-2222-3333-4444-555555555555", "vm-3": stranger} {
		details(id, uuid)
	}
	w.model.ApplyIndex("f", &types.ObjectUpdate{Obj: model.MachineRef("vm-3"), ChangeSet: []types.PropertyChange{{Name: "config.uuid", Val: stranger}}})
	f := NewInterest([]inventory.Identity{
		n1, recorded(n1, "east", "vm-4"), recorded(n1, "east", "vm-5"), recorded(n1, "west", "vm-6"), recorded(n1, "east", "vm-3"),
	})
	if got := w.outside(f); !slices.Equal(got.left, []string{"vm-1"}) || !slices.Equal(got.recorded, []string{"vm-4"}) {
		t.Errorf("outside: %v", got)
	}
	w.model.Tree.Apply(&types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: model.MachineRef("vm-1")})
	w.details.onlyRecorded["vm-2"] = true
	details("vm-2", stranger)
	if got := w.outside(f); len(got.left) > 0 || !slices.Equal(got.recorded, []string{"vm-4"}) {
		t.Errorf("outside, after one is gone: %v", got)
	}
	w.opts.Datacenters = nil
	if got := w.outside(f); len(got.left) > 0 || len(got.recorded) > 0 {
		t.Errorf("outside of the whole vCenter: %v", got)
	}
}

// TestDispute: a machine that was listed and is said not to be there has to leave
// the index soon, or everything is read again, once. It is not asked for again
// meanwhile, and after the second time not for a while.
func TestDispute(t *testing.T) {
	w, _ := newWatch(nil, nil)
	w.details.missing["vm-1"] = true
	w.details.disputes.start()
	if err := w.details.resolveDisputes(t.Context()); err != nil || w.details.disputes.due != nil {
		t.Errorf("one that has left: %v, to be looked at again: %v", err, w.details.disputes.due != nil)
	}
	w.model.ApplyIndex("f", &types.ObjectUpdate{Obj: model.MachineRef("vm-1")})
	if err := w.details.resolveDisputes(t.Context()); err == nil || !strings.Contains(err.Error(), "vm-1") {
		t.Errorf("one that is still there: %v", err)
	}
	if _, err := w.details.set(t.Context(), []string{"vm-1"}, nil, &progress{phase: ready}); err != nil || len(w.details.listed) > 0 {
		t.Errorf("it is asked for again: %v", err)
	}
	if err := w.details.resolveDisputes(t.Context()); err != nil || w.details.missing["vm-1"] || w.details.refused["vm-1"].IsZero() {
		t.Errorf("the second time: %v, missing %v, refused %v", err, w.details.missing, w.details.refused)
	}
	if _, err := w.details.set(t.Context(), []string{"vm-1"}, nil, &progress{phase: ready}); err != nil || len(w.details.listed) > 0 {
		t.Errorf("it is asked for again: %v", err)
	}
}
