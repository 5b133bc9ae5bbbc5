package provider

import (
	"testing"
	"time"

	"vzones/topology"
)

// TestEventForALabelThatNobodyWrites: where the controller that writes the rack is
// switched off, an Event says so, although the framework is told to ask again and again
// and the names of tags are old now and then.
func TestEventForALabelThatNobodyWrites(t *testing.T) {
	withFramework(t, &fakeFleet{states: states{stateOf("east", machine(uuidA))}}, func(c *cluster) {
		c.provider.placer.Config().Topology.Policy.Levels = topology.Rules{{Label: topology.LabelRack, Category: "k8s-zone"}}
		c.create(aNode("node-1", withSystemUUID(uuidA)))
		for i := range 5 { // something changes all the time
			c.pass(delay / 3)
			c.fleet.become(named(stateOf("east", machine(uuidA)), time.Duration(i%2)*time.Minute, append([]string{"rack"}, needed...)...))
		}
		c.wantEvents("node-1 LabelUnwritten")
		c.pass(45 * time.Minute)
		c.wantEvents("node-1 LabelUnwritten")
		if got, _ := c.asked.seen(); got > 100 {
			t.Errorf("the framework asked %d times", got)
		}
	})
}
