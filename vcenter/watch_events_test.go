package vcenter

import (
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/vcenter/inventory"
)

// TestTaggingEventsReadTags through the simulated vCenter: nothing else would for an
// hour.
func TestTaggingEventsReadTags(t *testing.T) {
	t.Parallel()
	opts := slow
	opts.TagRefresh = time.Hour
	w := run(t, twoVCenters, opts, nil)
	east := w.sim.VCenter("east")
	east.LogTagEvents()
	id := w.id("n1")
	w.fleet.Follow([]inventory.Identity{id})
	w.until("n1 placed", func([]inventory.State) bool { return w.zone(id) == "east/a" })
	w.until("a collector", func([]inventory.State) bool { return east.EventCollectors() == 1 })
	w.quiet()
	if err := east.Retag("c1", "zone", "z"); err != nil {
		t.Fatal(err)
	}
	w.until("n1 placed by the new tag", func([]inventory.State) bool { return w.zone(id) == "east/z" })
}

// TestCollectorsOfEventsThatFail: whatever the vCenter answers, the watch goes on, with
// tags at intervals, and nothing is left behind.
func TestCollectorsOfEventsThatFail(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		break_   func(*fleet.VCenter)
		requests int
	}{
		"too many":             {func(v *fleet.VCenter) { v.Fault("CreateCollectorForEvents", &types.InvalidState{}) }, 1},
		"not permitted":        {func(v *fleet.VCenter) { v.Fault("CreateCollectorForEvents", &types.NoPermission{}) }, 1},
		"the filter":           {func(v *fleet.VCenter) { v.Fault("CreateCollectorForEvents", &types.InvalidArgument{}) }, 2},
		"the filter's syntax":  {func(v *fleet.VCenter) { v.Fault("CreateCollectorForEvents", &types.InvalidRequest{}) }, 2},
		"anything else":        {func(v *fleet.VCenter) { v.Fault("CreateCollectorForEvents", &types.RuntimeFault{}) }, 1},
		"an empty answer":      {func(v *fleet.VCenter) { _ = v.AnswerOddly("CreateCollectorForEvents", fleet.OddEmpty) }, 1},
		"the vCenter's time":   {func(v *fleet.VCenter) { v.Fault("CurrentTime", &types.RuntimeFault{}) }, 0},
		"a proxy's bare error": {func(v *fleet.VCenter) { v.FaultREST("CreateCollectorForEvents", 503) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := run(t, twoVCenters, quick, func(sim *fleet.Fleet, _ []config.VCenter) { c.break_(sim.VCenter("east")) })
			east := w.sim.VCenter("east")
			id := w.id("n1")
			w.fleet.Follow([]inventory.Identity{id})
			w.until("n1 placed", func([]inventory.State) bool { return w.zone(id) == "east/a" })
			w.until("asked", func([]inventory.State) bool { return east.Requests()["CreateCollectorForEvents"] >= c.requests })
			if err := east.Retag("c1", "zone", "z"); err != nil {
				t.Fatal(err)
			}
			w.until("n1 placed by the new tag", func([]inventory.State) bool { return w.zone(id) == "east/z" })
			r := east.Requests()
			if r["Login"] != 1 || r["CreatePropertyCollector"] != 1 || r["CreateCollectorForEvents"] != c.requests {
				t.Errorf("requests %v", r)
			}
			if err := w.fleet.States()[0].Err; err != nil {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestAPageSizeThatIsRefused: the plainer collector is of no use then, and destroyed.
func TestAPageSizeThatIsRefused(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, quick, func(sim *fleet.Fleet, _ []config.VCenter) {
		sim.VCenter("east").RefuseEventPages()
		sim.VCenter("west").RefuseEventPages()
		sim.VCenter("east").Fault("SetCollectorPageSize", &types.InvalidArgument{})
	})
	east, west := w.sim.VCenter("east"), w.sim.VCenter("west")
	w.until("asked", func([]inventory.State) bool {
		return east.Requests()["DestroyCollector"] == 1 && east.EventCollectors() == 0 && west.EventCollectors() == 1
	})
}
