package vcenter

import (
	"slices"
	"testing"

	"vzones/config"
	"vzones/vcenter/inventory"
)

// TestAPasswordWithOtherDatacenters: neither change hides the other.
func TestAPasswordWithOtherDatacenters(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, slow, nil)
	w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("n3")})
	w.found(w.id("n3"))
	east := w.sim.VCenter("east")
	east.SetPassword("second-example")
	cfgs := slices.Clone(w.cfgs)
	cfgs[0].Password = config.NewPassword("second-example")
	cfgs[0].Datacenters = []string{"dc1"}
	w.fleet.Apply(cfgs, slow.Requirements)
	w.until("logged in again", func([]inventory.State) bool { return logins(east) == 2 && east.SOAPSessions() == 1 })
	w.until("n3 not found", func(states []inventory.State) bool {
		_, err := w.find(states, w.id("n3"))
		return err != nil
	})
	w.found(w.id("n1"))
}
