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

// filterServer creates and destroys filters.
type filterServer struct {
	made, destroyed int
	// destroyErr is the fault for DestroyPropertyFilter, nil if it succeeds.
	destroyErr error
}

func (f *filterServer) RoundTrip(_ context.Context, _, res soap.HasFault) error {
	switch body := res.(type) {
	case *methods.CreateFilterBody:
		f.made++
		body.Res = &types.CreateFilterResponse{Returnval: types.ManagedObjectReference{Type: "PropertyFilter", Value: "names"}}
	case *methods.DestroyPropertyFilterBody:
		if f.destroyErr != nil {
			return f.destroyErr
		}
		f.destroyed++
		body.Res = &types.DestroyPropertyFilterResponse{}
	}
	return nil
}

// Names are watched from the first Node without a UUID until namesLinger after the last, and unknown
// until all pages have arrived.
func TestNamesAreWatched(t *testing.T) {
	server := &filterServer{}
	filter := types.ManagedObjectReference{Type: "PropertyFilter", Value: "names"}
	w, _ := newWatch(server, nil)
	w.views.containers = []types.ManagedObjectReference{{Type: "ContainerView", Value: "all"}}
	for _, id := range []string{"vm-1", "vm-2"} {
		w.model.ApplyIndex("index", &types.ObjectUpdate{Obj: model.VMRef(id)})
	}
	page := func(more bool, updates ...types.ObjectUpdate) {
		t.Helper()
		if _, err := w.apply(&types.UpdateSet{Truncated: &more, FilterSet: []types.PropertyFilterUpdate{{Filter: filter, ObjectSet: updates}}}); err != nil {
			t.Fatal(err)
		}
	}
	named := func(id, name, host string) types.ObjectUpdate {
		u := types.ObjectUpdate{Kind: types.ObjectUpdateKindModify, Obj: model.VMRef(id), ChangeSet: []types.PropertyChange{{Name: "name", Val: name}, {Name: "guest.hostName"}}}
		if host != "" {
			u.ChangeSet[1].Val = host
		}
		return u
	}
	expect := func(node, want string) {
		t.Helper()
		f := NewInterest(nil, nil)
		if node != "" {
			f = NewInterest([]inventory.Identity{{Name: node}}, nil)
		}
		if _, err := w.names.update(t.Context(), f.names, w.model); err != nil {
			t.Fatal(err)
		}
		got := "unknown"
		if entries, ok := w.names.vms[node]; ok {
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
	if expect("", "unknown"); server.made != 0 {
		t.Error("names are watched for nobody")
	}
	expect("Node-1", "unknown")
	page(true, named("vm-1", "NODE-1", ""))
	// vm-2 may have the same name.
	expect("Node-1", "unknown")
	page(false, named("vm-2", "other", "elsewhere"), named("vm-9", "node-1", ""))
	// vm-9 is not in the index.
	expect("Node-1", "vm-1")
	expect("other", "vm-2")
	expect("elsewhere", "vm-2 by host name")
	page(false, named("vm-2", "other", ""))
	expect("elsewhere", "")
	page(false, types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: model.VMRef("vm-2")})
	expect("other", "")
	expect("", "unknown")
	expect("other", "")
	if server.made != 1 || server.destroyed != 0 {
		t.Errorf("%d filters made, %d destroyed", server.made, server.destroyed)
	}
	expect("", "unknown")
	server.destroyErr = vcentertest.SOAPFault(types.NoPermission{})
	w.names.idleSince = time.Now().Add(-namesLinger)
	if expect("", "unknown"); w.names.byID == nil || time.Since(w.names.idleSince) >= namesLinger {
		t.Error("names are not watched on where the account may not end it")
	}
	server.destroyErr = nil
	w.names.idleSince = time.Now().Add(-namesLinger)
	if expect("", "unknown"); server.destroyed != 1 || w.names.byID != nil {
		t.Errorf("%d filters destroyed, %d names kept", server.destroyed, len(w.names.byID))
	}
	if expect("Node-1", "unknown"); server.made != 2 {
		t.Error("names are not watched again")
	}
	// Without any configured datacenter there is no view.
	w.views.containers, w.names = nil, &nameLookup{views: w.views}
	expect("Node-1", "")
}

// A guest that keeps changing its host name causes no snapshots, which would be compared with all
// Nodes.
func TestNamesOfNoNodeAreIgnored(t *testing.T) {
	filter := types.ManagedObjectReference{Type: "PropertyFilter", Value: "names"}
	w, _ := newWatch(&filterServer{}, nil)
	w.views.containers = []types.ManagedObjectReference{{Type: "ContainerView", Value: "all"}}
	w.progress.startSyncing()
	f := NewInterest([]inventory.Identity{{Name: "node"}, {Name: "localhost"}}, nil)
	w.inbox.Follow(f)
	for _, id := range []string{"vm-1", "vm-2"} {
		w.model.ApplyIndex("index", &types.ObjectUpdate{Obj: model.VMRef(id)})
	}
	if _, err := w.names.update(t.Context(), f.names, w.model); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		id, host string
		changed  bool
	}{
		// The first change completes the names.
		{"vm-1", "a", true},
		{"vm-1", "b", false},
		{"vm-2", "node", true},
		{"vm-2", "node", false},
		{"vm-1", "c", false},
		{"vm-2", "d", true},
		// Many guests report this name while they boot. It matches no VM.
		{"vm-2", "localhost", false},
	} {
		w.unpublished = false
		changed, err := w.receive(t.Context(), &types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{Filter: filter, ObjectSet: []types.ObjectUpdate{
			{Kind: types.ObjectUpdateKindModify, Obj: model.VMRef(c.id), ChangeSet: []types.PropertyChange{{Name: "guest.hostName", Val: c.host}}},
		}}}})
		if err != nil || changed != c.changed {
			t.Errorf("%d: %s is called %s: news %t, %v", i, c.id, c.host, changed, err)
		}
	}
	if len(w.names.vms["node"]) != 0 {
		t.Errorf("names %v", w.names.vms)
	}
}
