package vcenter

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// failing are the failures of a vCenter and the resulting errors of the state.
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

// TestAFailureStaysItsOwn checks that the failing vCenter is unknown, no VM is absent, and the Nodes of the
// second vCenter are placed.
func TestAFailureStaysItsOwn(t *testing.T) {
	t.Parallel()
	for name, failure := range failing {
		opts := quick
		if name == "no password" {
			opts.TagRefresh = time.Minute // A rejected login to the tagging API would make tags unknown.
		}
		for _, later := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, later %t", name, later), func(t *testing.T) {
				w := run(t, twoVCenters, opts, func(sim *fleet.Fleet, _ []config.VCenter) {
					if !later {
						failure.begin(sim.VCenter("east"))
					}
				})
				n1 := w.id("n1")
				w.fleet.Follow([]inventory.Identity{n1, w.id("w1")})
				if later {
					w.in(n1, "east/a")
					failure.begin(w.sim.VCenter("east"))
				}
				w.until("east's error known", func(states []inventory.State) bool { return states[0].Err != nil })
				if err := w.east().Err; !later && !strings.Contains(err.Error(), failure.says) || !strings.Contains(err.Error(), `vCenter "east"`) {
					t.Errorf("error is %v", err)
				}
				w.in(w.id("w1"), "west/a")
				if later {
					w.in(n1, "east/a")
				}
				if states := w.fleet.States(); !w.outcome(states, w.id("tmpl"), topology.ErrUnknown) || !later && !w.outcome(states, n1, topology.ErrUnknown) {
					t.Error("absence is claimed")
				}
				if err := w.fleet.ConfirmAbsent(w.ctx, n1); !later && !errors.Is(err, topology.ErrUnknown) {
					t.Errorf("absence of n1: %v", err)
				}
				if name != "no password" { // The same password is not retried.
					w.do(w.sim.VCenter("east").Recover())
					w.until("recovery", func(states []inventory.State) bool { return states[0].Err == nil })
				}
			})
		}
	}
}
