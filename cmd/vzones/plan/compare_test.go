package plan

import (
	"errors"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"vzones/cmd/vzones/world"
	"vzones/config"
	"vzones/topology"
)

// TestDeletion: a plan says that Nodes lose what keeps them, such as with a configuration that lacks
// their vCenter.
func TestDeletion(t *testing.T) {
	absent, unknown := topology.Errorf(topology.ErrAbsent, "no vCenter has it"), topology.Errorf(topology.ErrUnknown, "not read")
	for name, c := range map[string]struct {
		err        error
		providerID string
		keep       bool
		deleted    bool
	}{
		"absent":          {err: absent, providerID: "vsphere://1", deleted: true},
		"deletion is off": {err: absent, providerID: "vsphere://1", keep: true},
		"never found":     {err: absent},
		"not known":       {err: unknown, providerID: "vsphere://1"},
		"another problem": {err: errors.New("no zone"), providerID: "vsphere://1"},
	} {
		n := &v1.Node{Spec: v1.NodeSpec{ProviderID: c.providerID}}
		got := compare(&world.Look{Node: n}, &world.Look{Node: n, Err: c.err}, &config.Config{}, &config.Config{SkipNodeDeletion: c.keep})
		if len(got.Changes) != 1 || got.Changes[0].Kind != "problem" || strings.Contains(got.Changes[0].Text, "is deleted") != c.deleted {
			t.Errorf("%s: %+v", name, got.Changes)
		}
	}
}
