package watch

import (
	"context"
	"errors"
	"fmt"
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

// VMs outside the datacenters remain in the list view while they are reported.
func TestVMsOutsideTheDatacenters(t *testing.T) {
	n1 := identity(t, stranger)
	w, _ := newWatch(nil, func(o *Options) { o.Datacenters = []string{"dc1"} })
	w.details.listed = map[string]*listing{"vm-1": {}, "vm-2": {}, "vm-3": {}}
	w.details.rejected["vm-5"] = time.Now()
	details := func(id, uuid string) {
		w.model.Tree.Apply(&types.ObjectUpdate{Obj: model.VMRef(id), ChangeSet: []types.PropertyChange{{Name: "config.uuid", Val: uuid}}})
	}
	for id, uuid := range map[string]string{"vm-1": stranger, "vm-2": "99999999-2222-3333-4444-555555555555", "vm-3": stranger} {
		details(id, uuid)
	}
	w.model.ApplyIndex("f", &types.ObjectUpdate{Obj: model.VMRef("vm-3"), ChangeSet: []types.PropertyChange{{Name: "config.uuid", Val: stranger}}})
	f := NewInterest([]inventory.Identity{
		n1, recorded(n1, "east", "vm-4"), recorded(n1, "east", "vm-5"), recorded(n1, "west", "vm-6"), recorded(n1, "east", "vm-3"),
	}, nil)
	check := func(when string, wantLeft, wantNamed []string) {
		t.Helper()
		if left, named := w.outsideVMs(f.uuids, f.annotatedIn("east", "")); !slices.Equal(left, wantLeft) || !slices.Equal(named, wantNamed) {
			t.Errorf("%s: left %v, named %v", when, left, named)
		}
	}
	check("all there", []string{"vm-1"}, []string{"vm-4"})
	w.model.Tree.Apply(&types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: model.VMRef("vm-1")})
	w.details.listed["vm-2"].annotatedOnly = true
	details("vm-2", stranger)
	check("one is gone", nil, []string{"vm-4"})
	w.opts.Datacenters = nil
	check("the whole vCenter", nil, nil)
}

// The vCenter is asked about an indexed VM that was rejected, and about a listed VM that was never
// reported. Only its reply removes them.
func TestDoubtfulVMs(t *testing.T) {
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
			w, _ := newWatch(&countingServer{}, nil)
			if c.indexed {
				u := update(types.ObjectUpdateKindEnter, "config.uuid", stranger)
				w.model.ApplyIndex("f", &u)
			}
			if w.details.rejected["vm-1"] = time.Now(); c.listed {
				w.details.listed["vm-1"] = &listing{reported: c.reported}
				delete(w.details.rejected, "vm-1")
			}
			asked := false
			w.details.checkDoubtful(func(string) { asked = true })
			if asked != c.asked {
				t.Errorf("asked about: %v", asked)
			}
			for _, reply := range []inventory.Reply{inventory.Hidden, inventory.Present} {
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

// The first snapshot does not wait for the details of a VM that is gone but named by a Node's record.
func TestNoWaitForAMissingVM(t *testing.T) {
	for name, datacenters := range map[string][]string{"all datacenters": nil, "one": {"dc1"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, r := newWatch(&rejectingList{rejected: []types.ManagedObjectReference{model.VMRef("vm-9")}}, func(o *Options) { o.Datacenters = datacenters })
				w.inbox.Follow(NewInterest([]inventory.Identity{recorded(identity(t, stranger), "east", "vm-9")}, nil))
				w.inbox.interestChanged.Clear() // It would be another occasion to publish.
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- w.runModel(ctx) }()
				w.poller.updates <- &types.UpdateSet{}
				synctest.Wait()
				if len(r.published) != 1 {
					t.Errorf("%d snapshots at once, want 1", len(r.published))
				}
				cancel()
				if err := <-ended; !errors.Is(err, context.Canceled) {
					t.Errorf("ended with %v", err)
				}
			})
		})
	}
}

// A retry follows after some minutes, when the VM enters the index again, or when the vCenter
// confirms that it exists.
func TestRejectedVMsAreRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		vm := model.VMRef("vm-1")
		list := &rejectingList{rejected: []types.ManagedObjectReference{vm}}
		w, _ := newWatch(list, nil)
		filter := indexFilter(w)
		enter := &types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{Filter: filter, ObjectSet: []types.ObjectUpdate{update(types.ObjectUpdateKindEnter, "config.uuid", stranger)}}}}
		for i, c := range []struct {
			after  time.Duration
			enter  bool
			exists bool
			want   int
		}{
			{want: 1}, {after: rejectedFor - time.Nanosecond, want: 1}, {after: time.Nanosecond, want: 2},
			{enter: true, want: 3}, {want: 3}, {exists: true, want: 4}, {exists: true, want: 4},
		} {
			time.Sleep(c.after)
			if c.enter {
				if _, err := w.apply(enter); err != nil {
					t.Fatal(err)
				}
			}
			if c.exists {
				w.details.takeReply(t.Context(), "vm-1", inventory.Present, w.homeReplies.add("vm-1", inventory.Present))
			}
			w.details.expireRejections()
			if _, err := w.details.set(t.Context(), []string{"vm-1"}, nil, &progress{phase: ready}); err != nil || list.requests != c.want || len(w.details.listed) > 0 {
				t.Errorf("%d: %d requests, on the list %v, %v", i, list.requests, w.details.listed, err)
			}
		}
	})
}

// templateServer is a vCenter whose VMs are all templates.
type templateServer struct{}

func (templateServer) RoundTrip(_ context.Context, req, res soap.HasFault) error {
	of := req.(*methods.RetrievePropertiesExBody).Req.SpecSet[0].ObjectSet[0].Obj
	res.(*methods.RetrievePropertiesExBody).Res = &types.RetrievePropertiesExResponse{Returnval: &types.RetrieveResult{
		Objects: []types.ObjectContent{{Obj: of, PropSet: []types.DynamicProperty{{Name: "config.template", Val: true}}}},
	}}
	return nil
}

// A rejected VM that is now a template remains in the index, and has its UUID if it is converted back.
func TestTemplatesAreNotForgotten(t *testing.T) {
	for name, isReported := range map[string]bool{"reported before": true, "reported later": false} {
		t.Run(name, func(t *testing.T) {
			w, _ := newWatch(templateServer{}, nil)
			filter := indexFilter(w)
			report := func(u types.ObjectUpdate) {
				if _, err := w.apply(&types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{Filter: filter, ObjectSet: []types.ObjectUpdate{u}}}}); err != nil {
					t.Fatal(err)
				}
			}
			report(update(types.ObjectUpdateKindEnter, "config.uuid", stranger, "config.template", isReported))
			w.details.rejected["vm-1"] = time.Now()
			reply, err := AskAbout(t.Context(), w.session, "vm-1")
			if err != nil || w.details.takeReply(t.Context(), "vm-1", reply, true) {
				t.Errorf("forgotten, %v", err)
			}
			report(update(types.ObjectUpdateKindModify, "config.template", true))
			report(update(types.ObjectUpdateKindModify, "config.template", false))
			if s := w.model.Snapshot(model.View{}); len(s.Entries(identity(t, stranger).UUIDs[0])) != 1 || len(s.Unreadable) > 0 {
				t.Errorf("a VM again, it is unreadable %v and in %v", s.Unreadable, s.Index)
			}
		})
	}
}

// The VM is still indexed, or enters the index again on the same page.
func TestVMThatLeftTheListIsAddedAgain(t *testing.T) {
	list := &rejectingList{}
	w, _ := newWatch(list, nil)
	index, details := indexFilter(w), types.ManagedObjectReference{Type: "PropertyFilter", Value: "details"}
	w.views.details[details] = true
	report := func(filter types.ManagedObjectReference, updates ...types.ObjectUpdate) {
		if _, err := w.apply(&types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{Filter: filter, ObjectSet: updates}}}); err != nil {
			t.Fatal(err)
		}
	}
	// In this phase new VMs are not read at once.
	w.progress.startSyncing()
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

// countingServer accepts every VM in a list view and counts the VMs whose properties are read.
type countingServer struct{ read int }

func (c *countingServer) RoundTrip(_ context.Context, req, res soap.HasFault) error {
	switch res := res.(type) {
	case *methods.ModifyListViewBody:
		res.Res = &types.ModifyListViewResponse{}
	case *methods.RetrievePropertiesExBody:
		c.read += len(req.(*methods.RetrievePropertiesExBody).Req.SpecSet[0].ObjectSet)
		res.Res = &types.RetrievePropertiesExResponse{}
	}
	return nil
}

// While the vCenter is loaded, the filter reports all details; the rest is read after syncTimeout.
// Later a few new VMs are read at once, but many are not.
func TestDetailsAreTransferredOnce(t *testing.T) {
	const other = "99999999-2222-3333-4444-555555555555"
	indexed := types.ManagedObjectReference{Type: "PropertyFilter", Value: "index"}
	details := types.ManagedObjectReference{Type: "PropertyFilter", Value: "details"}
	reported := &types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{Filter: details, ObjectSet: []types.ObjectUpdate{
		update(types.ObjectUpdateKindEnter, "config.uuid", stranger, "name", "n1"),
	}}}}
	entered := func(moid, uuid string) types.ObjectUpdate {
		return types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: model.VMRef(moid), ChangeSet: []types.PropertyChange{{Name: "config.uuid", Val: uuid}}}
	}
	index := func(moid, uuid string) *types.UpdateSet {
		return &types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{Filter: indexed, ObjectSet: []types.ObjectUpdate{entered(moid, uuid)}}}}
	}
	many := &types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{Filter: indexed}}}
	followed := []string{stranger}
	for i := range maxImmediateReads + 1 {
		uuid := fmt.Sprintf("99999999-2222-3333-4444-%012d", i)
		followed = append(followed, uuid)
		many.FilterSet[0].ObjectSet = append(many.FilterSet[0].ObjectSet, entered(fmt.Sprintf("vm-%d", 10+i), uuid))
	}
	followMany := func(w *Watch, follow func(...string)) {
		w.poller.updates <- reported
		time.Sleep(2 * syncTimeout)
		w.poller.updates <- many
		follow(followed...)
		synctest.Wait()
	}
	for name, c := range map[string]struct {
		do   func(w *Watch, follow func(...string))
		want int
	}{
		"reported": {func(w *Watch, _ func(...string)) {
			w.poller.updates <- reported
			time.Sleep(time.Minute)
		}, 0},
		"not yet":      {func(*Watch, func(...string)) { time.Sleep(syncTimeout - time.Nanosecond) }, 0},
		"not reported": {func(*Watch, func(...string)) { time.Sleep(syncTimeout) }, 1},
		"another one, later": {func(w *Watch, follow func(...string)) {
			w.poller.updates <- reported
			w.poller.updates <- index("vm-2", other)
			follow(stranger, other)
		}, 1},
		"many, later": {func(w *Watch, follow func(...string)) {
			followMany(w, follow)
			time.Sleep(syncTimeout - time.Nanosecond)
		}, 0},
		"many, not reported": {func(w *Watch, follow func(...string)) {
			followMany(w, follow)
			time.Sleep(syncTimeout)
		}, maxImmediateReads + 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				server := &countingServer{}
				w, _ := newWatch(server, nil)
				w.views.details[details], w.views.index[indexed] = true, true
				follow := func(uuids ...string) {
					var ids []inventory.Identity
					for _, u := range uuids {
						ids = append(ids, identity(t, u))
					}
					w.inbox.Follow(NewInterest(ids, nil))
				}
				follow(stranger)
				ended := make(chan error, 1)
				go func() { ended <- w.runModel(ctx) }()
				w.poller.updates <- index("vm-1", stranger)
				synctest.Wait()
				c.do(w, follow)
				synctest.Wait()
				if server.read != c.want {
					t.Errorf("%d VMs were read, not %d", server.read, c.want)
				}
				cancel()
				if err := <-ended; !errors.Is(err, context.Canceled) {
					t.Errorf("ended with %v", err)
				}
			})
		})
	}
}
