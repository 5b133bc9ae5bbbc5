package vcenter

import (
	"context"
	"fmt"
	"testing"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/topology"
	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
	"vzones/vcenter/vcentertest"
)

// TestFollowedThatNoListTakes: in whatever way the vCenter refuses a machine, the
// others are placed, and of that one nothing is known.
func TestFollowedThatNoListTakes(t *testing.T) {
	for name, whole := range map[string]types.BaseMethodFault{
		"as a whole": &types.NoPermission{}, "as a whole, not found": &types.ManagedObjectNotFound{},
		"as a whole, invalid": &types.InvalidArgument{}, "as unresolved": nil,
	} {
		t.Run(name, func(t *testing.T) {
			w := run(t, twoVCenters, quick, func(sim *fleet.Fleet, cfgs []config.VCenter) {
				followedOnly(sim, cfgs)
				if err := sim.VCenter("east").RefuseListing("n2"); err != nil {
					t.Fatal(err)
				}
				sim.VCenter("east").FaultListing(whole)
			})
			n1, n2, n3 := w.id("n1"), w.id("n2"), w.id("n3")
			w.fleet.Follow([]inventory.Identity{n1, n2, n3})
			w.until("n1 and n3 placed", func(states []inventory.State) bool {
				if outcome(states, n2, topology.ErrAbsent) {
					t.Error("n2 is absent")
				}
				return w.zone(n1) == "east/a" && w.zone(n3) == "east/c" && states[0].Trouble == nil
			})
			if !outcome(w.fleet.States(), n2, topology.ErrUnknown) {
				t.Error("n2 is not unknown")
			}
		})
	}
}

// TestFollowedInASessionThatIsLostWithoutAWord: a list view that the vCenter has
// forgotten is a lost session, and not a refusal of each machine.
func TestFollowedInASessionThatIsLostWithoutAWord(t *testing.T) {
	w := followsCluster()
	w.seek = newSeeker(w.model, newFollowed(nil))
	w.seek.list = types.ManagedObjectReference{Type: "ListView", Value: "session-view"}
	w.s = newReader(session.FromClient(&vim25.Client{RoundTripper: forgetful{w.seek.list}}))
	w.s.Track(w.seek.list, session.DestroyView)
	w.seek.refs[sought{name: "n"}] = []string{"vm-1", "vm-2"}
	err := w.follows(t.Context(), newFollowed(nil))
	if !faults.SessionLost(w.s.Classify(err)) {
		t.Errorf("error %v", err)
	}
	if len(w.seek.untaken) > 0 {
		t.Errorf("machines that are held to be refused: %v", w.seek.untaken)
	}
}

// forgetful answers every request as if an object were not there.
type forgetful struct{ ref types.ManagedObjectReference }

func (f forgetful) RoundTrip(context.Context, soap.HasFault, soap.HasFault) error {
	return vcentertest.SOAPFault(types.ManagedObjectNotFound{Obj: f.ref})
}

// TestFollowedIsNotForgottenByAWatchThatFails: what was known of a machine whose
// configuration cannot be read outlives a watch whose searches fail.
func TestFollowedIsNotForgottenByAWatchThatFails(t *testing.T) {
	w := run(t, twoVCenters, slow, followedOnly)
	east, n2 := w.sim.VCenter("east"), w.id("n2")
	w.fleet.Follow([]inventory.Identity{n2})
	w.found(n2)
	if err := east.SetConnection("n2", "inaccessible"); err != nil {
		t.Fatal(err)
	}
	unreadable := func(states []inventory.State) bool {
		if outcome(states, n2, topology.ErrAbsent) {
			t.Fatal("n2 is absent")
		}
		return states[0].Trouble == nil && outcome(states, n2, topology.ErrUnknown, inventory.ErrUnreadable)
	}
	w.until("n2 unreadable", unreadable)
	before := w.fleet.States()[0].Snapshot
	east.ResetRequests()
	east.Fault("FindAllByUuid", &types.RuntimeFault{})
	east.EndSessions()
	w.until("some watches that fail", func(states []inventory.State) bool {
		return states[0].Trouble != nil && east.Requests()["FindAllByUuid"] >= 3
	})
	if err := east.Recover(); err != nil {
		t.Fatal(err)
	}
	w.until("n2 unreadable again", func(states []inventory.State) bool {
		return states[0].Snapshot != before && unreadable(states)
	})
}

// TestFollowedAgainBeforeItIsToldToHaveLeft: a Node is deleted and registers again at
// once, so its machine is taken off the list and put on it again. That it left is told
// after that, and that it came back before it is listed once more, or not at all.
func TestFollowedAgainBeforeItIsToldToHaveLeft(t *testing.T) {
	u := inventory.UUID{1}
	key := sought{uuid: u}
	f := newFollowed([]inventory.Identity{{UUIDs: []inventory.UUID{u}}})
	enters := update(types.ObjectUpdateKindEnter, "config.uuid", u.String(), "runtime.powerState", types.VirtualMachinePowerStatePoweredOn)
	runs := update(types.ObjectUpdateKindModify, "runtime.powerState", types.VirtualMachinePowerStatePoweredOn)
	leaves := update(types.ObjectUpdateKindLeave)
	for name, told := range map[string][]types.ObjectUpdate{
		"it left and is back":             {leaves, enters},
		"it left, and something of it":    {leaves, runs},
		"nothing, since it never was off": nil,
		"something of it":                 {runs},
	} {
		t.Run(name, func(t *testing.T) {
			w := followsCluster()
			w.c.follow(f)
			w.seek = newSeeker(w.model, f)
			w.seek.filter = "index"
			filter := types.ManagedObjectReference{Type: "PropertyFilter", Value: "index"}
			w.index[filter] = true
			w.s = newReader(session.FromClient(&vim25.Client{RoundTripper: machine(enters.ChangeSet)}))
			tell := func(updates ...types.ObjectUpdate) {
				t.Helper()
				if _, err := w.apply(&types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{Filter: filter, ObjectSet: updates}}}); err != nil {
					t.Fatal(err)
				}
			}
			search := func(by *followed) {
				t.Helper()
				if by == f {
					w.take(map[sought][]string{key: {"vm-1"}})
				}
				w.c.follow(by)
				if err := w.choose(t.Context(), by); err != nil {
					t.Fatal(err)
				}
			}
			search(f)
			tell(enters)
			search(newFollowed(nil))
			search(f)
			tell(told...)
			for range 2 {
				search(f)
			}
			if e := w.model.index["vm-1"]; e.uuid != u || !e.readable || e.power != inventory.PowerOn {
				t.Errorf("in the index: %+v", e)
			}
			if !w.searched().UUIDs[u] {
				t.Error("it is still searched for")
			}
		})
	}
}

// update is a change of vm-1, with names and values of properties.
func update(kind types.ObjectUpdateKind, properties ...any) types.ObjectUpdate {
	u := types.ObjectUpdate{Kind: kind, Obj: machineRef("vm-1")}
	for i := 0; i < len(properties); i += 2 {
		u.ChangeSet = append(u.ChangeSet, types.PropertyChange{Name: properties[i].(string), Op: types.PropertyChangeOpAssign, Val: properties[i+1]})
	}
	return u
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

// TestClaimsThatAreNotTriedYet: with so many Nodes that name what no list takes that others
// have to wait, a Node whose machine is among those is not told that it is absent.
func TestClaimsThatAreNotTriedYet(t *testing.T) {
	honest := known(identity(t, stranger), "east", "vm-z")
	ids := []inventory.Identity{honest}
	var lies []types.ManagedObjectReference
	for i := range 40 {
		moid := fmt.Sprintf("vm-a%d", i)
		lies = append(lies, machineRef(moid))
		ids = append(ids, known(identity(t, stranger), "east", moid))
	}
	f := newFollowed(ids)
	for _, mode := range []string{"all", "followed"} {
		t.Run(mode, func(t *testing.T) {
			w := followsCluster()
			w.c.cfg = &config.VCenter{Name: "east", Datacenters: []string{"dc1"}}
			w.s = newReader(session.FromClient(&vim25.Client{RoundTripper: reading{&refusing{refuse: lies}}}))
			try := func() {
				t.Helper()
				var err error
				if w.seek == nil {
					err = w.enlist(t.Context(), nil, w.outside(f).told)
				} else {
					err = w.follows(t.Context(), f)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if mode == "followed" {
				w.seek = newSeeker(w.model, f)
				w.seek.refs[sought{uuid: honest.UUIDs[0]}] = nil
			}
			absent := func() bool {
				s := w.model.snapshot(nil, outside{}, nil, nil, nil)
				s.Searched, s.Coming = w.searched(), w.awaited(f)
				return outcome([]inventory.State{{VCenter: "east", Snapshot: s}}, honest, topology.ErrAbsent)
			}
			tries := 0
			for tried := false; !tried; tries++ {
				if tries > 100 {
					t.Fatal("it is never tried")
				}
				try()
				if tried = w.listed["vm-z"] || w.seek != nil && w.seek.listed["vm-z"]; !tried && absent() {
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
