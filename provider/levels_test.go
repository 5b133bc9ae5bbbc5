package provider

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"vzones/provider/nodeinfo"
	"vzones/provider/report"
	"vzones/topology"
)

// joins returns what a Node is written while it joins, in order. It is initialized when its machine
// comes, after the function meanwhile is called with it, and with a level below Kubernetes' own domain
// and one of the operator's own.
func joins(t *testing.T, n *v1.Node, meanwhile func(*cluster)) (writes []string, joined *v1.Node) {
	t.Helper()
	withFramework(t, &fakeFleet{answers: true, states: states{stateOf("east"), stateOf("west")}}, func(c *cluster) {
		c.provider.placer.Config().Topology.Policy.Levels = topology.Rules{
			{Label: topology.LabelRack, Category: "k8s-zone"}, {Label: "example.com/zone", Category: "k8s-zone"},
		}
		defer c.keepLabels()()
		c.create(n)
		c.pass(time.Second)
		c.client.ClearActions()
		c.asked.after("InstanceMetadata", func(*v1.Node) { meanwhile(c) })
		c.fleet.become(stateOf("east", machine(uuidA)), stateOf("west"))
		c.pass(20 * time.Second)
		writes, joined = c.writes(), c.node(n.Name)
	})
	return writes, joined
}

// TestANodeJoinsComplete: a Node loses the framework's taint in the write that has all its labels,
// those too that the framework leaves out, and nothing is written besides the framework's writes.
func TestANodeJoinsComplete(t *testing.T) {
	for name, labels := range map[string]map[string]string{
		"a new Node": nil, "it has another rack": {topology.LabelRack: "b"},
	} {
		t.Run(name, func(t *testing.T) {
			n := aNode("node-1", withSystemUUID(uuidA))
			n.Labels = labels
			writes, n := joins(t, n, func(*cluster) {})
			if d := cmp.Diff([]string{"update", "patch status"}, writes); d != "" {
				t.Errorf("writes (-want +got):\n%s", d)
			}
			if n.Labels[topology.LabelRack] != "a" || n.Labels["example.com/zone"] != "a" || n.Annotations[nodeinfo.KeyLabels] != "example.com/zone" || n.Annotations[nodeinfo.KeyMachine] != "east/vm-1" {
				t.Errorf("labels %v, annotations %v", n.Labels, n.Annotations)
			}
			if is := report.TopologyReadyOf(n); is.Status != v1.ConditionTrue || is.Reason != report.ConditionCurrent || is.LastTransitionTime.IsZero() {
				t.Errorf("the condition is %+v", is)
			}
		})
	}
}

// TestNoConditionBesideAnotherValue: what initializing a Node leaves is not as its place says.
func TestNoConditionBesideAnotherValue(t *testing.T) {
	for _, c := range []struct {
		label   string
		current bool
	}{
		{v1.LabelTopologyZone, true},            // which is overwritten
		{v1.LabelFailureDomainBetaRegion, true}, // likewise
		{topology.LabelRack, true},              // likewise
		{"example.com/row", false},              // a level without a value
		{"example.com/zone", false},             // one with another
		{"example.com/what-nobody-configured", true},
	} {
		cfg := testConfig()
		cfg.Topology.Policy.Levels = topology.Rules{
			{Label: topology.LabelRack, Category: "k8s-zone"}, {Label: "example.com/zone", Category: "k8s-zone"}, {Label: "example.com/row", Category: "row"},
		}
		p := New(&fakeFleet{states: states{stateOf("east", machine(uuidA)), stateOf("west")}}, cfg, Options{})
		n := aNode("node-1", withSystemUUID(uuidA))
		n.Labels = map[string]string{c.label: "x"}
		d, err := p.placer.Join(n)
		if err != nil {
			t.Fatal(err)
		}
		if p.besides(n, d).Condition != nil {
			t.Error("nobody keeps the labels")
		}
		p.KeepLabels()
		if got := p.besides(n, d).Condition; (got != nil) != c.current {
			t.Errorf("%s=x: %+v", c.label, got)
		}
		if d.Shared = true; p.besides(n, d).Condition != nil {
			t.Error("another Node has the machine too")
		}
	}
}

// TestALabelOfOthersIsNotOurs: the framework leaves a label that the Node has, so it is not listed as
// one of ours, and the condition says what is wrong.
func TestALabelOfOthersIsNotOurs(t *testing.T) {
	for value, want := range map[string]v1.ConditionStatus{"a": v1.ConditionTrue, "b": v1.ConditionFalse} {
		n := aNode("node-1", withSystemUUID(uuidA))
		n.Labels = map[string]string{"example.com/zone": value}
		_, n = joins(t, n, func(*cluster) {})
		if n.Labels["example.com/zone"] != value || n.Annotations[nodeinfo.KeyLabels] != "" || report.TopologyReadyOf(n).Status != want {
			t.Errorf("labels %v, annotations %v, conditions %v", n.Labels, n.Annotations, n.Status.Conditions)
		}
	}
}

// TestALevelThatLeavesAsANodeJoins: its label comes with the Node, and goes.
func TestALevelThatLeavesAsANodeJoins(t *testing.T) {
	_, n := joins(t, aNode("node-1", withSystemUUID(uuidA)), func(c *cluster) {
		c.provider.Apply(testConfig())
		c.fleet.become(stateOf("east", machine(uuidA)), stateOf("west"))
	})
	if nodeinfo.IsUninitialized(n) || n.Labels["example.com/zone"] != "" || n.Annotations[nodeinfo.KeyLabels] != "" {
		t.Errorf("labels %v, annotations %v", n.Labels, n.Annotations)
	}
}
