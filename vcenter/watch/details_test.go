package watch

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/inventory"
	"vzones/vcenter/watch/model"
)

// TestFollowedMachinesThatLeaveTheIndex stay on the list while they are reported,
// also without a record.
func TestFollowedMachinesThatLeaveTheIndex(t *testing.T) {
	n1 := identity(t, stranger)
	w, _ := newWatch(nil, func(o *Options) { o.Datacenters = []string{"dc1"} })
	w.details.listed = map[string]*listing{"vm-1": {}, "vm-2": {}, "vm-3": {}}
	w.details.refused["vm-5"] = time.Now()
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
	check := func(when string, wantLeft, wantNamed []string) {
		t.Helper()
		if left, named := w.outside(f.uuids, f.annotatedIn("east", "")); !slices.Equal(left, wantLeft) || !slices.Equal(named, wantNamed) {
			t.Errorf("%s: left %v, named %v", when, left, named)
		}
	}
	check("all there", []string{"vm-1"}, []string{"vm-4"})
	w.model.Tree.Apply(&types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: model.MachineRef("vm-1")})
	w.details.listed["vm-2"].annotatedOnly = true
	details("vm-2", stranger)
	check("one is gone", nil, []string{"vm-4"})
	w.opts.Datacenters = nil
	check("the whole vCenter", nil, nil)
}

// TestMachinesThatMayBeGone: the vCenter is asked about a machine that the list refuses although the
// index has it, and about one on the list that was never reported. Only its answer removes them.
func TestMachinesThatMayBeGone(t *testing.T) {
	for name, c := range map[string]struct {
		indexed, reported, listed, asked bool
	}{
		"refused":                      {},
		"refused, in the index":        {indexed: true, asked: true},
		"listed":                       {listed: true, asked: true},
		"listed, reported":             {listed: true, reported: true},
		"listed, in the index":         {listed: true, indexed: true},
		"listed, in both, as it seems": {listed: true, indexed: true, reported: true},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := newWatch(&counting{}, nil)
			if c.indexed {
				u := update(types.ObjectUpdateKindEnter, "config.uuid", stranger)
				w.model.ApplyIndex("f", &u)
			}
			if w.details.refused["vm-1"] = time.Now(); c.listed {
				w.details.listed["vm-1"] = &listing{reported: c.reported}
				delete(w.details.refused, "vm-1")
			}
			asked := false
			w.details.checkDoubtful(func(string) { asked = true })
			if asked != c.asked {
				t.Errorf("asked about: %v", asked)
			}
			for _, reply := range []inventory.Reply{inventory.Hidden, inventory.There} {
				if w.details.takeReply(t.Context(), "vm-1", reply, false) || w.model.Has("vm-1") != c.indexed {
					t.Errorf("reply %v removes it", reply)
				}
			}
			gone := w.details.takeReply(t.Context(), "vm-1", inventory.Gone, true)
			if gone != c.asked || w.model.Has("vm-1") != (c.indexed && !c.asked) {
				t.Errorf("gone: %v, in the index: %v", gone, w.model.Has("vm-1"))
			}
			if _, named := w.details.outside(nil, map[string]bool{"vm-1": true}); gone && len(named) > 0 {
				t.Error("it is gone and wanted")
			}
		})
	}
}

// TestRefusedMachinesAreTriedAgain after some minutes, when the index has them anew, or once the vCenter has
// said that they exist.
func TestRefusedMachinesAreTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		vm := model.MachineRef("vm-1")
		list := &refusing{refuse: []types.ManagedObjectReference{vm}}
		w, _ := newWatch(list, nil)
		filter := indexFilter(w)
		enter := &types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{Filter: filter, ObjectSet: []types.ObjectUpdate{update(types.ObjectUpdateKindEnter, "config.uuid", stranger)}}}}
		for i, c := range []struct {
			after time.Duration
			enter bool
			there bool
			want  int
		}{
			{want: 1}, {after: refusedFor - time.Nanosecond, want: 1}, {after: time.Nanosecond, want: 2},
			{enter: true, want: 3}, {want: 3}, {there: true, want: 4}, {there: true, want: 4},
		} {
			time.Sleep(c.after)
			if c.enter {
				if _, err := w.apply(enter); err != nil {
					t.Fatal(err)
				}
			}
			if c.there {
				w.details.takeReply(t.Context(), "vm-1", inventory.There, w.homeReplies.add("vm-1", inventory.There))
			}
			w.details.retryRefused()
			if _, err := w.details.set(t.Context(), []string{"vm-1"}, nil, &progress{phase: ready}); err != nil || list.requests != c.want || len(w.details.listed) > 0 {
				t.Errorf("%d: %d requests, on the list %v, %v", i, list.requests, w.details.listed, err)
			}
		}
	})
}

// A templates is a vCenter that says of each machine that it is a template.
type templates struct{}

func (templates) RoundTrip(_ context.Context, req, res soap.HasFault) error {
	of := req.(*methods.RetrievePropertiesExBody).Req.SpecSet[0].ObjectSet[0].Obj
	res.(*methods.RetrievePropertiesExBody).Res = &types.RetrievePropertiesExResponse{Returnval: &types.RetrieveResult{
		Objects: []types.ObjectContent{{Obj: of, PropSet: []types.DynamicProperty{{Name: "config.template", Val: true}}}},
	}}
	return nil
}

// TestATemplateIsNotForgotten: a machine that the list has refused and that is a template by now stays in the
// index, whichever of the two is known first. What becomes a machine again has its UUID.
func TestATemplateIsNotForgotten(t *testing.T) {
	for name, known := range map[string]bool{"reported before": true, "reported later": false} {
		t.Run(name, func(t *testing.T) {
			w, _ := newWatch(templates{}, nil)
			filter := indexFilter(w)
			report := func(u types.ObjectUpdate) {
				if _, err := w.apply(&types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{Filter: filter, ObjectSet: []types.ObjectUpdate{u}}}}); err != nil {
					t.Fatal(err)
				}
			}
			report(update(types.ObjectUpdateKindEnter, "config.uuid", stranger, "config.template", known))
			w.details.refused["vm-1"] = time.Now()
			reply, err := AskAbout(t.Context(), w.session, "vm-1")
			if err != nil || w.details.takeReply(t.Context(), "vm-1", reply, true) {
				t.Errorf("forgotten, %v", err)
			}
			report(update(types.ObjectUpdateKindModify, "config.template", true))
			report(update(types.ObjectUpdateKindModify, "config.template", false))
			if s := w.model.Snapshot(model.View{}); len(s.Entries(identity(t, stranger).UUIDs[0])) != 1 || len(s.Unreadable) > 0 {
				t.Errorf("a machine again, it is unreadable %v and in %v", s.Unreadable, s.Index)
			}
		})
	}
}

// TestAMachineThatTheListHasLostIsPutOnItAgain if the index still has it, or has it again on the same page.
func TestAMachineThatTheListHasLostIsPutOnItAgain(t *testing.T) {
	list := &refusing{}
	w, _ := newWatch(list, nil)
	index, details := indexFilter(w), types.ManagedObjectReference{Type: "PropertyFilter", Value: "details"}
	w.views.details[details] = true
	report := func(filter types.ManagedObjectReference, updates ...types.ObjectUpdate) {
		if _, err := w.apply(&types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{Filter: filter, ObjectSet: updates}}}); err != nil {
			t.Fatal(err)
		}
	}
	w.progress.indexed() // what comes onto the list is not read at once
	enter, leave := update(types.ObjectUpdateKindEnter, "config.uuid", stranger), update(types.ObjectUpdateKindLeave)
	report(index, enter)
	for range 2 {
		before := list.requests
		if _, err := w.details.set(t.Context(), []string{"vm-1"}, nil, &w.progress); err != nil || list.requests != before+1 {
			t.Errorf("%d requests, %v", list.requests-before, err)
		}
		report(details, enter)
		report(details, leave)
		report(index, leave, enter)
	}
}
