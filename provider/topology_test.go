package provider

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/config"
	"vzones/provider/nodeinfo"
	"vzones/topology"
)

// TestTopologyBesideTheFramework: the framework initializes a Node, the controller
// claims what came with that and follows the machine, and the framework's copying
// of beta labels does not undo it. Nodes of others are not touched.
func TestTopologyBesideTheFramework(t *testing.T) {
	const level = "example.com/zone"
	labeled := func(n *v1.Node) { n.Labels = map[string]string{v1.LabelTopologyZone: "x"} }
	fleet := &fakeFleet{answers: true, states: states{stateOf("east", machine(uuidA), machine(uuidB))}}
	withFramework(t, fleet, func(c *cluster) {
		cfg := testConfig().Topology
		cfg.Policy.Levels = topology.Rules{{Label: level, Category: "k8s-zone"}}
		cfg.Backfill, cfg.Drift, cfg.Settle = true, config.DriftUpdate, time.Minute
		c.provider.placer.Config().Topology = cfg
		defer c.keepLabels()()
		c.pass(time.Second)
		c.create(aNode("node-1", withSystemUUID(uuidA)))
		c.pass(5 * time.Second)
		n := c.node("node-1")
		if nodeinfo.IsUninitialized(n) || n.Labels[level] != "a" || n.Annotations["vzones/labels"] != level {
			t.Errorf("initialized as %v %v", n.Labels, n.Annotations)
		}
		fleet.become(stateOf("east", machine(uuidA, in("east", "b")), machine(uuidB)))
		c.pass(59 * time.Second)
		if zone := c.node("node-1").Labels[v1.LabelTopologyZone]; zone != "a" {
			t.Errorf("zone %s before it has settled", zone)
		}
		c.pass(2*statusEvery + time.Second)
		for _, key := range []string{v1.LabelTopologyZone, v1.LabelFailureDomainBetaZone, level} {
			if got := c.node("node-1").Labels[key]; got != "b" {
				t.Errorf("%s is %q", key, got)
			}
		}
		if n := c.node("foreign"); len(n.Labels) != 1 || len(n.Annotations) > 0 {
			t.Errorf("touched: %v %v", n.Labels, n.Annotations)
		}
	}, aNode("foreign", withProviderID("openstack:///"+uuidB), withSystemUUID(uuidB), untainted, labeled))
}

// TestNoConditionWithoutTheController: where the topology controller is off, no Node gets the
// condition, whatever is wrong with it, and what one has is left alone.
func TestNoConditionWithoutTheController(t *testing.T) {
	alone(t, &fakeFleet{states: states{stateOf("east", machine(uuidA))}}, func(c *cluster) {
		c.create(aNode("waits", withSystemUUID(uuidB)))
		c.pass(time.Hour)
		if got := c.writes(); len(got) > 0 {
			t.Errorf("writes %q", got)
		}
		if len(c.events()) == 0 {
			t.Error("nothing is wrong")
		}
	}, aNode("node-1", withProviderID("vsphere://"+uuidA), untainted))
}
