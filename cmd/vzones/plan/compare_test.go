package plan

import (
	"cmp"
	"errors"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/cmd/vzones/world"
	"vzones/config"
	"vzones/provider/nodeinfo"
	"vzones/provider/plan"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// A configuration without a Node's vCenter may lead to its deletion.
func TestDeletion(t *testing.T) {
	absent, unknown := topology.Errorf(topology.ErrAbsent, "no vCenter has it"), topology.Errorf(topology.ErrUnknown, "not read")
	found := topology.Ref{VCenter: "east", Type: "VirtualMachine", ID: "vm-1"}
	for name, c := range map[string]struct {
		err        error
		found      topology.Ref
		ready      bool
		keep       bool
		says, does string
	}{
		"absent":          {err: absent, found: found, says: "deletes the Node", does: "delete"},
		"ready":           {err: absent, found: found, ready: true, says: "is deleted when it becomes not ready"},
		"deletion is off": {err: absent, found: found, keep: true, says: "the Node keeps its labels"},
		"never found":     {err: absent, says: "the Node keeps its labels"},
		"not known":       {err: unknown, found: found, says: "the Node keeps its labels"},
		"another problem": {err: errors.New("no zone"), found: found, says: "the Node keeps its labels"},
	} {
		n := &v1.Node{Spec: v1.NodeSpec{ProviderID: "vsphere://1"}}
		if c.ready {
			n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
		}
		after := &world.Look{Node: n, Err: c.err, Identity: inventory.Identity{Recorded: c.found}}
		got := compare(&world.Look{Node: n}, after, &config.Config{}, &config.Config{SkipNodeDeletion: c.keep})
		if len(got.Changes) != 1 || got.Changes[0].Kind != "problem" || got.Changes[0].Action != c.does || !strings.Contains(got.Changes[0].Text, c.says) {
			t.Errorf("%s: got the changes %+v, want one problem with the action %q and %q", name, got.Changes, c.does, c.says)
		}
	}
}

// The key nodes.outOfService adds a taint to the Nodes that are deleted.
func TestOutOfService(t *testing.T) {
	gone := &config.Config{OutOfService: config.OutOfServiceGone}
	ours := v1.Taint{Key: v1.TaintNodeOutOfService, Value: nodeinfo.VMGone, Effect: v1.TaintEffectNoExecute}
	anothers := v1.Taint{Key: v1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: v1.TaintEffectNoExecute}
	absent := topology.Errorf(topology.ErrAbsent, "no vCenter has it")
	for name, c := range map[string]struct {
		before, after *config.Config
		err           error
		ready         v1.ConditionStatus
		taints        []v1.Taint
		action        string
	}{
		"on":               {before: &config.Config{}, after: gone, err: absent, action: "taint"},
		"off":              {before: gone, after: &config.Config{}, err: absent, taints: []v1.Taint{ours}, action: "untaint"},
		"stays on":         {before: gone, after: gone, err: absent},
		"ready":            {before: &config.Config{}, after: gone, err: absent, ready: v1.ConditionTrue},
		"not ready":        {before: &config.Config{}, after: gone, err: absent, ready: v1.ConditionFalse},
		"the VM exists":    {before: &config.Config{}, after: gone},
		"no deletion":      {before: &config.Config{}, after: &config.Config{OutOfService: config.OutOfServiceGone, SkipNodeDeletion: true}, err: absent},
		"another client's": {before: &config.Config{}, after: gone, err: absent, taints: []v1.Taint{anothers}},
	} {
		n := &v1.Node{Spec: v1.NodeSpec{ProviderID: "vsphere://1", Taints: c.taints}}
		n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: cmp.Or(c.ready, v1.ConditionUnknown)}}
		l := &world.Look{Node: n, Err: c.err, Plan: &plan.Plan{}, Identity: inventory.Identity{Recorded: topology.Ref{VCenter: "east", ID: "vm-1"}}}
		var actions []string
		for _, change := range compare(l, l, c.before, c.after).Changes {
			if change.Kind != "taint" || change.Label != v1.TaintNodeOutOfService {
				t.Errorf("%s: got the change %+v", name, change)
			}
			actions = append(actions, change.Action)
		}
		if got := strings.Join(actions, " "); got != c.action {
			t.Errorf("%s: got the actions %q, want %q", name, got, c.action)
		}
	}
}

// lookWith returns the Look of an initialized Node that has zone a, whose place is in zone, and whose
// addresses have an error.
func lookWith(zone string, err error) *world.Look {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{topology.LabelZone: "a", v1.LabelFailureDomainBetaZone: "a"}}}
	l := &world.Look{Node: n, Err: err, Plan: &plan.Plan{}}
	l.Place.AddressErr = err
	l.Place.Topology = &config.Topology{Drift: config.DriftReport}
	l.Place.Placement.Decisions = []topology.Decision{{Label: topology.LabelZone, Value: zone, Category: "zone", By: &topology.Object{Path: "/dc1"}}}
	if zone != "a" {
		l.Differences = []plan.Difference{{Label: topology.LabelZone, Have: "a", Want: zone}}
	}
	return l
}

// A problem of the addresses must not hide changes of labels.
func TestOtherProblem(t *testing.T) {
	cfg := &config.Config{Topology: config.Topology{Drift: config.DriftReport}}
	cfg.Topology.Policy.Rules = topology.Rules{{Label: topology.LabelZone, Category: "zone"}}
	wrong := errors.New("another Node has the address")
	got := compare(lookWith("a", wrong), lookWith("b", wrong), cfg, cfg).Changes
	if len(got) != 1 || got[0].Label != topology.LabelZone || got[0].Then != "b" || got[0].Text != "the label stays (topology.drift: report)" {
		t.Errorf("a label that differs: %+v", got)
	}
	got = compare(lookWith("b", nil), lookWith("b", wrong), cfg, cfg).Changes
	if len(got) != 1 || got[0].Kind != "problem" || got[0].Text != "the Node keeps its addresses" {
		t.Errorf("the problem: %+v", got)
	}
}
