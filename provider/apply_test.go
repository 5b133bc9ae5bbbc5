package provider

import (
	"maps"
	"testing"

	"vzones/topology"
)

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
