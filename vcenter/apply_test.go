package vcenter

import (
	"testing"
	"time"

	"vzones/vcenter/inventory"
)

// TestARemovedVCenterThatHangs holds nobody up.
func TestARemovedVCenterThatHangs(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, slow, nil)
	n1, w1 := w.id("n1"), w.id("w1")
	w.fleet.Follow([]inventory.Identity{n1, w1})
	w.found(n1)
	w.found(w1)
	w.sim.VCenter("east").Hang()
	began := time.Now()
	w.fleet.Apply(w.cfgs[1:], slow.Requirements)
	w.fleet.Apply(w.cfgs, slow.Requirements)
	w.fleet.Apply(w.cfgs[1:], slow.Requirements)
	if err := w.sim.VCenter("east").Recover(); err != nil {
		t.Fatal(err)
	}
	w.fleet.Apply(w.cfgs, slow.Requirements)
	w.found(n1)
	t.Logf("took %v", time.Since(began))
}
