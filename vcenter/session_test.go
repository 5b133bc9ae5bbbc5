package vcenter

import (
	"testing"
	"time"

	"vzones/vcenter/inventory"
)

func TestRunEndsWhileAVCenterHangs(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, Options{Requirements: Requirements{Tags: true}}, nil)
	w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("w1")})
	w.found(w.id("n1"))
	w.found(w.id("w1"))
	w.sim.VCenter("east").Hang()
	started := time.Now()
	w.stop()
	// The bound is ten times the logout's deadline.
	if took := time.Since(started); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	if n := w.sim.VCenter("west").Sessions(); n != 0 {
		t.Errorf("west has %d sessions left", n)
	}
}

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
