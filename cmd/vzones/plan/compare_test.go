package plan

import (
	"errors"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/cmd/vzones/world"
	"vzones/config"
	"vzones/provider/plan"
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

// lookWith is an initialized Node with zone a in a place, whose addresses are in error.
func lookWith(zone string, err error) *world.Look {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{topology.LabelZone: "a", v1.LabelFailureDomainBetaZone: "a"}}}
	l := &world.Look{Node: n, Err: err, AddressesErr: err, Plan: &plan.Plan{}}
	l.Place.Topology = &config.Topology{Drift: config.DriftReport}
	l.Place.Placement.Decisions = []topology.Decision{{Label: topology.LabelZone, Value: zone, Category: "zone", By: &topology.Object{Path: "/dc1"}}}
	if zone != "a" {
		l.Differences = []plan.Difference{{Label: topology.LabelZone, Have: "a", Want: zone}}
	}
	return l
}

// TestOtherProblem: what is wrong with the addresses of a Node hides no label, and keeps none.
func TestOtherProblem(t *testing.T) {
	cfg := &config.Config{Topology: config.Topology{Drift: config.DriftReport}}
	cfg.Topology.Policy.Rules = topology.Rules{{Label: topology.LabelZone, Category: "zone"}}
	wrong := errors.New("another Node has the address")
	got := compare(lookWith("a", wrong), lookWith("b", wrong), cfg, cfg).Changes
	if len(got) != 1 || got[0].Label != topology.LabelZone || got[0].Then != "b" || got[0].Text != "the label stays (drift: report)" {
		t.Errorf("a label that differs: %+v", got)
	}
	got = compare(lookWith("b", nil), lookWith("b", wrong), cfg, cfg).Changes
	if len(got) != 1 || got[0].Kind != "problem" || got[0].Text != "the Node keeps its addresses" {
		t.Errorf("the problem: %+v", got)
	}
}
