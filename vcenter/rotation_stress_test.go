package vcenter

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"vzones/config"
	"vzones/vcenter/inventory"
)

// TestChangesOfAllKindsAtOnce: whatever comes between what, in the end the vCenters
// are as configured last, with one session each, and with none after the end.
func TestChangesOfAllKindsAtOnce(t *testing.T) {
	t.Parallel()
	w, a := renewingWith(t, often(quick))
	east, west := w.sim.VCenter("east"), w.sim.VCenter("west")
	good := east.Password()
	swapped := []config.VCenter{w.cfgs[1], w.cfgs[0]}
	swapped[0].Name, swapped[1].Name = "east", "west"
	narrow := slices.Clone(w.cfgs)
	narrow[0].Datacenters, narrow[0].RoundTrips = []string{"dc1"}, 1
	tagless := quick.Requirements
	tagless.Tags = false
	changes := []func(){
		func() { w.fleet.Apply(w.cfgs, quick.Requirements) },
		func() { w.fleet.Apply(w.cfgs[1:], quick.Requirements) },
		func() { w.fleet.Apply(narrow, quick.Requirements) },
		func() { w.fleet.Apply(swapped, quick.Requirements) },
		func() { w.fleet.Apply(w.cfgs, tagless) },
		func() { a.set(east.User(), "wrong-example"); w.fleet.CredentialsChanged() },
		func() { a.set(east.User(), good); w.fleet.CredentialsChanged() },
		func() { east.EndSessions() },
		func() { west.EndSessions() },
		func() { w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("n3")}) },
		func() { w.fleet.Probe("east") },
	}
	var g sync.WaitGroup
	for range 3 {
		g.Go(func() {
			for range 25 {
				changes[rand.N(len(changes))]()
				time.Sleep(rand.N(40 * time.Millisecond))
			}
		})
	}
	g.Wait()
	a.set(east.User(), good)
	w.fleet.Apply(w.cfgs, quick.Requirements)
	w.fleet.CredentialsChanged()
	w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("w1")})
	// The tags may be read after the machines are found.
	w.until("n1 and w1 placed", func([]inventory.State) bool {
		return w.zone(w.id("n1")) == "east/a" && w.zone(w.id("w1")) == "west/a"
	})
	w.until("one session each", func([]inventory.State) bool { return east.SOAPSessions() == 1 && west.SOAPSessions() == 1 })
	w.stop()
	if n := east.Sessions() + west.Sessions(); n > 0 {
		t.Errorf("%d sessions are left", n)
	}
}
