package provider

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"vzones/topology"
)

// TestMetadataHasFurtherLevels: what is decided besides region and zone is set
// too; what is not decided keeps no Node waiting unless it is required.
func TestMetadataHasFurtherLevels(t *testing.T) {
	for _, c := range []struct {
		name   string
		levels topology.Rules
		want   map[string]string
		waits  bool
	}{
		{"none", nil, nil, false},
		{"from a tag and the inventory", topology.Rules{
			{Label: "example.com/zone", Category: "k8s-zone"},
			{Label: "example.com/cluster", Inventory: topology.InventoryCluster},
		}, map[string]string{"example.com/zone": "a", "example.com/cluster": "c1"}, false},
		{"one that is not known", topology.Rules{
			{Label: "example.com/pool", Inventory: topology.InventoryPool},
			{Label: "example.com/datacenter", Inventory: topology.InventoryDatacenter},
		}, map[string]string{"example.com/datacenter": "dc1"}, false},
		{"one that is required", topology.Rules{
			{Label: "example.com/pool", Inventory: topology.InventoryPool, Required: true},
		}, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := machine(uuidA)
			m.Paths[0].Objects[1].Name, m.Paths[0].Objects[2].Name = "c1", "dc1"
			cfg := testConfig()
			cfg.Topology.Policy.Levels = c.levels
			p := New(&fakeFleet{states: states{stateOf("east", m), stateOf("west")}}, cfg, Options{})
			got, err := p.InstanceMetadata(t.Context(), aNode("node-1", withSystemUUID(uuidA)))
			if err != nil {
				t.Fatal(err)
			}
			if (got == nil) != c.waits {
				t.Fatalf("got %+v", got)
			}
			if got == nil {
				return
			}
			if d := cmp.Diff(c.want, got.AdditionalLabels); d != "" || got.Region != "east" || got.Zone != "a" {
				t.Errorf("got %+v (-want +got):\n%s", got, d)
			}
		})
	}
}

// TestRackIsOnTheNodeFirst: the framework writes no label of Kubernetes' own besides
// region and zone, so a Node is not initialized before it has the rack that it is in.
func TestRackIsOnTheNodeFirst(t *testing.T) {
	cfg := testConfig()
	cfg.Topology.Policy.Levels = topology.Rules{{Label: topology.LabelRack, Category: "k8s-zone"}}
	p := New(&fakeFleet{states: states{stateOf("east", machine(uuidA)), stateOf("west")}}, cfg, Options{})
	for _, c := range []struct {
		has, unwritten string
	}{{"", "a"}, {"b", "a"}, {"a", ""}} {
		n := aNode("node-1", withSystemUUID(uuidA))
		if c.has != "" {
			n.Labels = map[string]string{topology.LabelRack: c.has}
		}
		d, err := p.placer.Initial(n)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Unwritten[topology.LabelRack]; got != c.unwritten {
			t.Errorf("a Node with rack %q lacks %q", c.has, got)
		}
		got, err := p.InstanceMetadata(t.Context(), n)
		if err != nil || (got == nil) != (c.unwritten != "") || got != nil && got.AdditionalLabels != nil {
			t.Errorf("a Node with rack %q: got %+v, %v", c.has, got, err)
		}
	}
}
