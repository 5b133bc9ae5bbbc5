package watch

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/faults"
	"vzones/vcenter/vcentertest"
	"vzones/vcenter/watch/model"
)

// NotAuthenticated is a lost session; with other faults the property is unreadable.
func TestMissingProperties(t *testing.T) {
	missing := func(f types.BaseMethodFault) []types.MissingProperty {
		return []types.MissingProperty{{Path: "config.uuid", Fault: types.LocalizedMethodFault{Fault: f}}}
	}
	if err := faults.InProperties(missing(&types.NoPermission{})); err != nil {
		t.Errorf("NoPermission: %v", err)
	}
	err := faults.InProperties(missing(&types.NotAuthenticated{}))
	if !faults.SessionLost(fmt.Errorf("reading: %w", err)) || faults.Denied(err) || err.Error() == "" {
		t.Errorf("NotAuthenticated: %v", err)
	}
	w, _ := newWatch(nil, nil)
	w.progress.startSyncing()
	filter := indexFilter(w)
	apply := func(u types.ObjectUpdate) error {
		u.Obj = model.VMRef("vm-1")
		_, err := w.apply(&types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{Filter: filter, ObjectSet: []types.ObjectUpdate{u}}}})
		return err
	}
	const uuid = "422e4956-ad22-1139-6d72-59cc8f26bc90"
	if err := apply(types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, ChangeSet: []types.PropertyChange{{Name: "config.uuid", Val: uuid}}}); err != nil {
		t.Fatal(err)
	}
	if err := apply(types.ObjectUpdate{Kind: types.ObjectUpdateKindModify, MissingSet: missing(&types.NoPermission{})}); err != nil {
		t.Fatal(err)
	}
	if e := w.model.Entry("vm-1"); !e.Unreadable || len(w.model.Entries(identity(t, uuid).UUIDs[0])) != 1 {
		t.Errorf("a VM whose UUID may not be read any more: %+v", e)
	}
	if err := apply(types.ObjectUpdate{Kind: types.ObjectUpdateKindModify, MissingSet: missing(&types.NotAuthenticated{})}); !faults.SessionLost(err) {
		t.Errorf("a change with NotAuthenticated: %v", err)
	}
}

// Any number of rejected VMs causes a bounded number of requests, and the rest is tried later.
func TestRejectedRequestsAreHalved(t *testing.T) {
	var add []types.ManagedObjectReference
	for i := range 500 {
		add = append(add, model.VMRef(fmt.Sprintf("vm-%d", i)))
	}
	for name, bad := range map[string]int{"one": 1, "three": 3, "hundred": 100, "all": 500} {
		t.Run(name, func(t *testing.T) {
			list := &rejectingList{rejected: add[:bad]}
			w, _ := newWatch(list, nil)
			left := add
			for passes := 0; len(left) > 0; passes++ {
				list.requests = 0
				p := &progress{phase: ready}
				if _, err := w.details.tryAll(t.Context(), left, listRequestsMax, w.details.rejectsAll, p); err != nil {
					t.Fatal(err)
				}
				left = slices.DeleteFunc(slices.Clone(add), func(r types.ManagedObjectReference) bool { return w.details.isTried(r.Value) })
				if list.requests > listRequestsMax || passes == 100 || (len(left) > 0) != (p.timer != nil) {
					t.Fatalf("%d requests in pass %d, %d left, tried again: %v", list.requests, passes, len(left), p.timer != nil)
				}
			}
			if len(w.details.rejected) != bad || len(w.details.listed) != len(add)-bad || w.details.listed["vm-0"] != nil {
				t.Errorf("%d refused, %d listed", len(w.details.rejected), len(w.details.listed))
			}
		})
	}
}

// rejectingList is a list view that rejects whole requests because of some VMs.
type rejectingList struct {
	rejected []types.ManagedObjectReference
	requests int
}

func (r *rejectingList) RoundTrip(_ context.Context, req, res soap.HasFault) error {
	r.requests++
	for _, ref := range req.(*methods.ModifyListViewBody).Req.Add {
		if slices.Contains(r.rejected, ref) {
			return vcentertest.SOAPFault(types.NoPermission{})
		}
	}
	res.(*methods.ModifyListViewBody).Res = &types.ModifyListViewResponse{}
	return nil
}
