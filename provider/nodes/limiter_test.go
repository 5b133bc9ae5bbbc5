package nodes

import (
	"slices"
	"testing"
	"time"

	"vzones/config"
	"vzones/topology"
)

// TestAnOutageLeavesNoQueue: Nodes whose problem ends before its Event leave the limiter's queue, so that a short outage
// of many Nodes does not delay a later Event.
func TestAnOutageLeavesNoQueue(t *testing.T) {
	nodes, names := fleetOf(2500, zoned("r", "a")...)
	nodes = append(nodes, named("west-1", zoned("r", "b")...))
	inWorld(t, topologyOf(config.DriftReport), func(w *world) {
		w.source.place(at("r", "a", ""), nil, names...)
		w.source.place(at("r", "b", ""), nil, "west-1")
		w.pass(time.Minute)
		w.source.lose(names...)
		w.pass(initializedEventDelay + 5*time.Second)
		w.source.place(at("r", "a", ""), nil, names...)
		w.source.place(topology.Placement{}, topology.ErrMissing, "west-1")
		// Five seconds of Events about the outage, and as many about its end.
		w.pass(unplacedEventDelay + 15*time.Second)
		if !slices.Contains(w.events(), "west-1 TopologyMissing") {
			t.Errorf("%d Events, and none about west-1, whose tag was taken %v ago", len(w.events()), unplacedEventDelay+15*time.Second)
		}
	}, nodes...)
}
