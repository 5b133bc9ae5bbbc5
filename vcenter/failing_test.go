package vcenter

import (
	"errors"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// failing are ways in which a vCenter can fail, and what the state says then.
var failing = map[string]struct {
	begin func(*fleet.VCenter)
	says  string
}{
	"hangs":       {func(v *fleet.VCenter) { v.Hang() }, "no answer within"},
	"refuses":     {func(v *fleet.VCenter) { v.Refuse() }, "connection refused"},
	"drops":       {func(v *fleet.VCenter) { v.Drop() }, ""},
	"faults":      {func(v *fleet.VCenter) { v.Fault("*", &types.RuntimeFault{}) }, ""},
	"no password": {func(v *fleet.VCenter) { v.RejectPassword(); v.EndSessions() }, "rejected"},
}

func TestFailureFromTheStartStaysItsOwn(t *testing.T) {
	t.Parallel()
	for name, failure := range failing {
		t.Run(name, func(t *testing.T) {
			opts := quick
			w := run(t, twoVCenters, opts, func(sim *fleet.Fleet, _ []config.VCenter) { failure.begin(sim.VCenter("east")) })
			w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("w1")})
			if got := w.zone(w.id("w1")); got != "west/a" {
				t.Errorf("w1 is in %s", got)
			}
			w.until("east's error known", func(states []inventory.State) bool { return states[0].Err != nil })
			east := w.fleet.States()[0]
			if !strings.Contains(east.Err.Error(), failure.says) || !strings.Contains(east.Err.Error(), `vCenter "east"`) {
				t.Errorf("error is %v", east.Err)
			}
			if _, err := w.find(w.fleet.States(), w.id("n1")); !errors.Is(err, topology.ErrUnknown) {
				t.Errorf("n1: %v", err)
			}
			if err := w.fleet.ConfirmAbsent(w.ctx, w.id("n1")); !errors.Is(err, topology.ErrUnknown) {
				t.Errorf("absence of n1: %v", err)
			}
		})
	}
}

func TestFailureLaterKeepsTheSnapshot(t *testing.T) {
	t.Parallel()
	for name, failure := range failing {
		t.Run(name, func(t *testing.T) {
			opts := quick
			w := run(t, twoVCenters, opts, nil)
			id := w.id("n1")
			w.fleet.Follow([]inventory.Identity{id})
			w.found(id)
			east := w.sim.VCenter("east")
			failure.begin(east)
			w.until("error known", func(states []inventory.State) bool { return states[0].Err != nil })
			if got := w.zone(id); got != "east/a" {
				t.Errorf("n1 is in %s", got)
			}
			if _, err := w.find(w.fleet.States(), w.id("tmpl")); !errors.Is(err, topology.ErrUnknown) {
				t.Errorf("absence is claimed: %v", err)
			}
			if name == "no password" {
				return // the same password is not tried again
			}
			if err := east.Recover(); err != nil {
				t.Fatal(err)
			}
			w.until("recovery", func(states []inventory.State) bool { return states[0].Err == nil })
		})
	}
}
