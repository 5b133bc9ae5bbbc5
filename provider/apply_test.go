package provider

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"vzones/provider/nodeinfo"
	"vzones/provider/report"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// reconfigure gives the provider another configuration and lets the fleet announce
// it, as the daemon does.
func (c *cluster) reconfigure(selector string) {
	c.Helper()
	own, err := labels.Parse(selector)
	if err != nil {
		c.Fatal(err)
	}
	cfg := testConfig()
	cfg.NodeSelector = own
	c.provider.Apply(cfg)
	c.fleet.become(c.fleet.States()...)
	c.pass(2 * time.Second)
}

// TestASelectorThatChanges: Nodes become ours, and are let go, without a restart.
func TestASelectorThatChanges(t *testing.T) {
	withBoth(t, temptation(), "cloud=vsphere", func(c *cluster) {
		c.pass(time.Second)
		if !nodeinfo.IsUninitialized(c.node("waits")) {
			t.Fatal("it is not ours yet")
		}
		c.reconfigure("")
		if n := c.node("waits"); nodeinfo.IsUninitialized(n) || n.Labels[v1.LabelTopologyZone] != "a" {
			t.Errorf("it is ours, and is %+v", n)
		}
		c.reconfigure("cloud=vsphere")
		if got := c.outcomes(); got[report.Placed] != 0 || got[report.Foreign] == 0 {
			t.Errorf("counted as %v", got)
		}
	}, tempting()...)
}

// TestRulesThatChange: a Node that waits for a tag is initialized once none is
// asked for.
func TestRulesThatChange(t *testing.T) {
	untagged := machine(uuidA)
	untagged.Paths = pathOf("r", "")
	fleet := &fakeFleet{states: states{stateOf("east", untagged), stateOf("west")}}
	withFramework(t, fleet, func(c *cluster) {
		c.pass(time.Second)
		if !nodeinfo.IsUninitialized(c.node("node-1")) {
			t.Fatal("initialized without its zone")
		}
		cfg := testConfig()
		cfg.Topology.Policy.Rules = nil
		c.provider.Apply(cfg)
		fleet.become(fleet.States()...)
		c.pass(time.Second)
		if n := c.node("node-1"); nodeinfo.IsUninitialized(n) || n.Labels[v1.LabelTopologyZone] != "" {
			t.Errorf("it is %+v", n)
		}
	}, aNode("node-1", withSystemUUID(uuidA)))
}

// TestAddressesInAVCenterThatIsLeaving: the provider is told first.
func TestAddressesInAVCenterThatIsLeaving(t *testing.T) {
	p, _ := provide(states{stateOf("east", machine(uuidA))})
	n := aNode("n", withSystemUUID(uuidA))
	if m, err := p.InstanceMetadata(t.Context(), n); err != nil || m == nil {
		t.Fatalf("%v, %v", m, err)
	}
	cfg := testConfig()
	cfg.VCenters = cfg.VCenters[1:]
	p.Apply(cfg)
	if m, err := p.InstanceMetadata(t.Context(), n); m != nil {
		t.Errorf("initialized without an address: %+v, %v", m, err)
	}
}

// TestLabelsForEveryNode stand beside those of the levels, which count.
func TestLabelsForEveryNode(t *testing.T) {
	p, _ := provide(states{stateOf("east", machine(uuidA)), stateOf("west")})
	cfg := testConfig()
	cfg.NodeLabels = map[string]string{"example.com/site": "one", "example.com/zone": "none"}
	cfg.Topology.Policy.Levels = topology.Rules{{Label: "example.com/zone", Category: "k8s-zone"}}
	p.Apply(cfg)
	m, err := p.InstanceMetadata(t.Context(), aNode("n", withSystemUUID(uuidA)))
	if err != nil || m == nil {
		t.Fatalf("%v, %v", m, err)
	}
	if want := map[string]string{"example.com/site": "one", "example.com/zone": "a"}; !maps.Equal(m.AdditionalLabels, want) {
		t.Errorf("%v, want %v", m.AdditionalLabels, want)
	}
	if cfg.NodeLabels["example.com/zone"] != "none" {
		t.Error("the configuration has changed")
	}
}

// TestSkippedDeletion: an absence that is certain is an error, and nothing is asked.
func TestSkippedDeletion(t *testing.T) {
	p, f := provide(states{stateOf("east"), stateOf("west"), stateOf("dual"), stateOf("ipv6 first")})
	searches := 0
	f.confirm = func(context.Context, inventory.Identity) error { searches++; return nil }
	if exists, err := asked(t, p, f, running()); exists || err != nil || searches != 1 {
		t.Fatalf("%v, %v: the machine is not absent", exists, err)
	}
	cfg := testConfig()
	cfg.SkipNodeDeletion = true
	p.Apply(cfg)
	if exists, err := asked(t, p, f, running()); exists || !errors.Is(err, topology.ErrUnknown) || !strings.Contains(err.Error(), "skipDeletion") {
		t.Errorf("%v, %v", exists, err)
	}
	if searches != 1 {
		t.Error("vCenters were searched")
	}
}
