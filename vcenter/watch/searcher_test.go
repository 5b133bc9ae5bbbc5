package watch

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/topology"
	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
	"vzones/vcenter/vcentertest"
	"vzones/vcenter/watch/model"
	"vzones/vcenter/watch/search"
)

// TestFollowedInASessionThatIsLostWithoutAWord: a list view that the vCenter has
// forgotten is a lost session, and not a refusal of each machine.
func TestFollowedInASessionThatIsLostWithoutAWord(t *testing.T) {
	list := types.ManagedObjectReference{Type: "ListView", Value: "session-view"}
	w, _ := newWatch(forgetful{list}, followed)
	w.searcher.list.ref = list
	w.session.Track(list, session.DestroyView)
	w.searcher.refs[search.Key{Name: "n"}] = []string{"vm-1", "vm-2"}
	_, err := w.searcher.setList(t.Context(), NewInterest(nil))
	if !faults.SessionLost(w.session.Classify(err)) {
		t.Errorf("error %v", err)
	}
	if len(w.searcher.untaken) > 0 {
		t.Errorf("machines that are held to be refused: %v", w.searcher.untaken)
	}
}

// forgetful answers every request as if an object were not there.
type forgetful struct{ ref types.ManagedObjectReference }

func (f forgetful) RoundTrip(context.Context, soap.HasFault, soap.HasFault) error {
	return vcentertest.SOAPFault(types.ManagedObjectNotFound{Obj: f.ref})
}

// TestFollowedAgainBeforeItIsToldToHaveLeft: a Node is deleted and registers again at
// once, so its machine is taken off the list and put on it again. That it left is told
// after that, and that it came back before it is listed once more, or not at all.
func TestFollowedAgainBeforeItIsToldToHaveLeft(t *testing.T) {
	u := inventory.UUID{1}
	key := search.Key{UUID: u}
	f := NewInterest([]inventory.Identity{{UUIDs: []inventory.UUID{u}}})
	enters := update(types.ObjectUpdateKindEnter, "config.uuid", u.String(), "runtime.powerState", types.VirtualMachinePowerStatePoweredOn)
	runs := update(types.ObjectUpdateKindModify, "runtime.powerState", types.VirtualMachinePowerStatePoweredOn)
	leaves := update(types.ObjectUpdateKindLeave)
	for name, reports := range map[string][]types.ObjectUpdate{
		"it left and is back":             {leaves, enters},
		"it left, and something of it":    {leaves, runs},
		"nothing, since it never was off": nil,
		"something of it":                 {runs},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := newWatch(machine(enters.ChangeSet), followed)
			w.searcher.filter = "index"
			filter := indexFilter(w)
			report := func(updates ...types.ObjectUpdate) {
				t.Helper()
				if _, err := w.apply(&types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{Filter: filter, ObjectSet: updates}}}); err != nil {
					t.Fatal(err)
				}
			}
			find := func(by *Interest) {
				t.Helper()
				if by == f {
					w.searcher.take(map[search.Key][]string{key: {"vm-1"}}, nil)
				}
				if _, err := w.find(t.Context(), by); err != nil {
					t.Fatal(err)
				}
			}
			find(f)
			report(enters)
			find(NewInterest(nil))
			find(f)
			report(reports...)
			for range 2 {
				find(f)
			}
			if entries := w.model.ByUUID()[u]; len(entries) != 1 || entries[0].Unreadable || !entries[0].PoweredOn {
				t.Errorf("in the index: %+v", entries)
			}
			if !w.searcher.done().UUIDs[u] {
				t.Error("it is still searched for")
			}
		})
	}
}

// machine is a vCenter whose machines have these properties.
type machine []types.PropertyChange

func (m machine) RoundTrip(_ context.Context, req, res soap.HasFault) error {
	switch res := res.(type) {
	case *methods.ModifyListViewBody:
		res.Res = &types.ModifyListViewResponse{}
	case *methods.RetrievePropertiesExBody:
		res.Res = &types.RetrievePropertiesExResponse{Returnval: &types.RetrieveResult{}}
		for _, o := range req.(*methods.RetrievePropertiesExBody).Req.SpecSet[0].ObjectSet {
			content := types.ObjectContent{Obj: o.Obj}
			for _, p := range m {
				content.PropSet = append(content.PropSet, types.DynamicProperty{Name: p.Name, Val: p.Val})
			}
			res.Res.Returnval.Objects = append(res.Res.Returnval.Objects, content)
		}
	}
	return nil
}

// TestRecordedMachinesThatAreNotTriedYet: with so many Nodes that name what no list takes that others
// have to wait, a Node whose machine is among those is not told that it is absent.
func TestRecordedMachinesThatAreNotTriedYet(t *testing.T) {
	honest := recorded(identity(t, stranger), "east", "vm-z")
	ids := []inventory.Identity{honest}
	var lies []types.ManagedObjectReference
	for i := range 40 {
		moid := fmt.Sprintf("vm-a%d", i)
		lies = append(lies, model.MachineRef(moid))
		ids = append(ids, recorded(identity(t, stranger), "east", moid))
	}
	f := NewInterest(ids)
	for _, mode := range []string{"all", "followed"} {
		t.Run(mode, func(t *testing.T) {
			w, _ := newWatch(reading{&refusing{refuse: lies}}, func(o *Options) {
				o.Datacenters, o.Followed = []string{"dc1"}, mode == "followed"
			})
			try := func() {
				t.Helper()
				var err error
				if w.searcher == nil {
					_, err = w.details.set(t.Context(), nil, w.outside(f).recorded, &progress{phase: ready})
				} else {
					_, err = w.searcher.setList(t.Context(), f)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if mode == "followed" {
				w.searcher.refs[search.Key{UUID: honest.UUIDs[0]}] = nil
			}
			absent := func() bool {
				s := w.model.Snapshot(model.View{})
				if s.Pending = w.pending(f); w.searcher != nil {
					s.Searched = w.searcher.done()
				}
				_, err := inventory.Find([]inventory.State{{VCenter: "east", Snapshot: s}}, honest)
				return errors.Is(err, topology.ErrAbsent)
			}
			tries := 0
			for tried := false; !tried; tries++ {
				if tries > 100 {
					t.Fatal("it is never tried")
				}
				try()
				if tried = w.details.listed["vm-z"] || w.searcher != nil && w.searcher.listed["vm-z"]; !tried && absent() {
					t.Fatal("it is absent before the vCenter was asked for it")
				}
			}
			if tries < 2 {
				t.Errorf("it is tried at once")
			}
		})
	}
}

// reading is a vCenter that shows nothing, with a list view.
type reading struct{ list *refusing }

func (r reading) RoundTrip(ctx context.Context, req, res soap.HasFault) error {
	if body, ok := res.(*methods.RetrievePropertiesExBody); ok {
		body.Res = &types.RetrievePropertiesExResponse{}
		return nil
	}
	return r.list.RoundTrip(ctx, req, res)
}

func followed(o *Options) { o.Followed = true }
