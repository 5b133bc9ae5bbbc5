package vcenter

import (
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// TestFollowedThatNoListTakes: in whatever way the vCenter refuses a machine, the
// others are placed, and of that one nothing is known.
func TestFollowedThatNoListTakes(t *testing.T) {
	t.Parallel()
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
				if w.outcome(states, n2, topology.ErrAbsent) {
					t.Error("n2 is absent")
				}
				return w.zone(n1) == "east/a" && w.zone(n3) == "east/c" && states[0].Err == nil
			})
			if !w.outcome(w.fleet.States(), n2, topology.ErrUnknown) {
				t.Error("n2 is not unknown")
			}
		})
	}
}

// TestFollowedIsNotForgottenByAWatchThatFails: what was known of a machine whose
// configuration cannot be read outlives a watch whose searches fail.
func TestFollowedIsNotForgottenByAWatchThatFails(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, slow, followedOnly)
	east, n2 := w.sim.VCenter("east"), w.id("n2")
	w.fleet.Follow([]inventory.Identity{n2})
	w.found(n2)
	if err := east.SetConnection("n2", "inaccessible"); err != nil {
		t.Fatal(err)
	}
	unreadable := func(states []inventory.State) bool {
		if w.outcome(states, n2, topology.ErrAbsent) {
			t.Fatal("n2 is absent")
		}
		return states[0].Err == nil && w.outcome(states, n2, topology.ErrUnknown, inventory.ErrUnreadable)
	}
	w.until("n2 unreadable", unreadable)
	before := w.fleet.States()[0].Snapshot
	east.ResetRequests()
	east.Fault("FindAllByUuid", &types.RuntimeFault{})
	east.EndSessions()
	w.until("some watches that fail", func(states []inventory.State) bool {
		return states[0].Err != nil && east.Requests()["FindAllByUuid"] >= 3
	})
	if err := east.Recover(); err != nil {
		t.Fatal(err)
	}
	w.until("n2 unreadable again", func(states []inventory.State) bool {
		return states[0].Snapshot != before && unreadable(states)
	})
}
