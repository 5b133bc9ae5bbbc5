package watch

import (
	"context"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/inventory"
	"vzones/vcenter/vcentertest"
	"vzones/vcenter/watch/model"
)

// filtering makes and destroys filters.
type filtering struct {
	made, destroyed int
	// refuses is the fault to ending a filter, nil if that works.
	refuses error
}

func (f *filtering) RoundTrip(_ context.Context, _, res soap.HasFault) error {
	switch body := res.(type) {
	case *methods.CreateFilterBody:
		f.made++
		body.Res = &types.CreateFilterResponse{Returnval: types.ManagedObjectReference{Type: "PropertyFilter", Value: "names"}}
	case *methods.DestroyPropertyFilterBody:
		if f.refuses != nil {
			return f.refuses
		}
		f.destroyed++
		body.Res = &types.DestroyPropertyFilterResponse{}
	}
	return nil
}

// TestNamesAreWatched from the first Node without a UUID until a while after the last
// one. Nothing is said of names before all pages are there.
func TestNamesAreWatched(t *testing.T) {
	server := &filtering{}
	filter := types.ManagedObjectReference{Type: "PropertyFilter", Value: "names"}
	w, _ := newWatch(server, nil)
	w.views.containers = []types.ManagedObjectReference{{Type: "ContainerView", Value: "all"}}
	for _, id := range []string{"vm-1", "vm-2"} {
		w.model.ApplyIndex("index", &types.ObjectUpdate{Obj: model.MachineRef(id)})
	}
	page := func(more bool, updates ...types.ObjectUpdate) {
		t.Helper()
		if _, err := w.apply(&types.UpdateSet{Truncated: &more, FilterSet: []types.PropertyFilterUpdate{{Filter: filter, ObjectSet: updates}}}); err != nil {
			t.Fatal(err)
		}
	}
	named := func(id, name, host string) types.ObjectUpdate {
		u := types.ObjectUpdate{Kind: types.ObjectUpdateKindModify, Obj: model.MachineRef(id), ChangeSet: []types.PropertyChange{{Name: "name", Val: name}, {Name: "guest.hostName"}}}
		if host != "" {
			u.ChangeSet[1].Val = host
		}
		return u
	}
	looked := func(node, want string) {
		t.Helper()
		f := NewInterest(nil, nil)
		if node != "" {
			f = NewInterest([]inventory.Identity{{Name: node}}, nil)
		}
		if _, err := w.names.update(t.Context(), f.names, w.model); err != nil {
			t.Fatal(err)
		}
		got := "unknown"
		if entries, ok := w.names.machines[node]; ok {
			got = ""
			for _, e := range entries {
				got += e.ID
				if e.ByHostName {
					got += " by host name"
				}
			}
		}
		if got != want {
			t.Errorf("%s is %q, not %q", node, got, want)
		}
	}
	if looked("", "unknown"); server.made != 0 {
		t.Error("names are watched for nobody")
	}
	looked("Node-1", "unknown")
	page(true, named("vm-1", "NODE-1", ""))
	looked("Node-1", "unknown") // vm-2 may have it too
	page(false, named("vm-2", "other", "elsewhere"), named("vm-9", "node-1", ""))
	looked("Node-1", "vm-1") // vm-9 is not in the index
	looked("other", "vm-2")
	looked("elsewhere", "vm-2 by host name")
	page(false, named("vm-2", "other", ""))
	looked("elsewhere", "")
	page(false, types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: model.MachineRef("vm-2")})
	looked("other", "")
	looked("", "unknown")
	looked("other", "")
	if server.made != 1 || server.destroyed != 0 {
		t.Errorf("%d filters made, %d destroyed", server.made, server.destroyed)
	}
	looked("", "unknown")
	server.refuses = vcentertest.SOAPFault(types.NoPermission{})
	w.names.idleSince = time.Now().Add(-namesLinger)
	if looked("", "unknown"); w.names.byID == nil || time.Since(w.names.idleSince) >= namesLinger {
		t.Error("names are not watched on where the account may not end it")
	}
	server.refuses = nil
	w.names.idleSince = time.Now().Add(-namesLinger)
	if looked("", "unknown"); server.destroyed != 1 || w.names.byID != nil {
		t.Errorf("%d filters destroyed, %d names kept", server.destroyed, len(w.names.byID))
	}
	if looked("Node-1", "unknown"); server.made != 2 {
		t.Error("names are not watched again")
	}
	// A vCenter without any of the configured datacenters has no view.
	w.views.containers, w.names = nil, &nameLookup{views: w.views}
	looked("Node-1", "")
}

// TestNamesOfOthersAreNoNews: a guest that changes its host name all the time has no
// snapshot made, which everybody would look at all Nodes for.
func TestNamesOfOthersAreNoNews(t *testing.T) {
	filter := types.ManagedObjectReference{Type: "PropertyFilter", Value: "names"}
	w, _ := newWatch(&filtering{}, nil)
	w.views.containers = []types.ManagedObjectReference{{Type: "ContainerView", Value: "all"}}
	w.progress.indexed()
	f := NewInterest([]inventory.Identity{{Name: "node"}, {Name: "localhost"}}, nil)
	w.inbox.Follow(f)
	for _, id := range []string{"vm-1", "vm-2"} {
		w.model.ApplyIndex("index", &types.ObjectUpdate{Obj: model.MachineRef(id)})
	}
	if _, err := w.names.update(t.Context(), f.names, w.model); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		id, host string
		news     bool
	}{
		{"vm-1", "a", true}, // all names are there
		{"vm-1", "b", false},
		{"vm-2", "node", true},
		{"vm-2", "node", false},
		{"vm-1", "c", false},
		{"vm-2", "d", true},
		{"vm-2", "localhost", false}, // the name of every guest that starts finds no VM
	} {
		w.unpublished = false
		news, err := w.receive(t.Context(), &types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{Filter: filter, ObjectSet: []types.ObjectUpdate{
			{Kind: types.ObjectUpdateKindModify, Obj: model.MachineRef(c.id), ChangeSet: []types.PropertyChange{{Name: "guest.hostName", Val: c.host}}},
		}}}})
		if err != nil || news != c.news {
			t.Errorf("%d: %s is called %s: news %t, %v", i, c.id, c.host, news, err)
		}
	}
	if len(w.names.machines["node"]) != 0 {
		t.Errorf("names %v", w.names.machines)
	}
}
