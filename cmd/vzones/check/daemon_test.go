package check

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/cmd/vzones/world"
	"vzones/provider/nodeinfo"
)

// An image and a command of different releases differ. Builds without a release are not compared.
func TestVersions(t *testing.T) {
	for name, c := range map[string]struct {
		image, tool string
		want        bool
	}{
		"same":             {"registry:5000/ccm:v1.37.0", "v1.37.0", false},
		"same with digest": {"registry:5000/ccm:v1.37.0@sha256:00", "v1.37.0", false},
		"older daemon":     {"registry:5000/ccm:v1.36.2", "v1.37.0", true},
		"no tag":           {"registry:5000/ccm", "v1.37.0", false},
		"other tag":        {"ccm:latest", "v1.37.0", false},
		"development tool": {"ccm:v1.37.0", "v0.0.0-master+abc", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := imageDiffers(c.image, c.tool) != ""; got != c.want {
				t.Errorf("image %s, tool %s: differs is %t, want %t", c.image, c.tool, got, c.want)
			}
		})
	}
}

// The reason that a DaemonSet has no Pod names the labels and taints of Nodes.
func TestWhyNoNode(t *testing.T) {
	const key = "node-role.kubernetes.io/control-plane"
	in := func(values ...string) *v1.PodSpec {
		term := v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: v1.NodeSelectorOpIn, Values: values}}}
		return &v1.PodSpec{Affinity: &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term}},
		}}}
	}
	for name, c := range map[string]struct {
		spec   *v1.PodSpec
		labels map[string]string
		taints []v1.Taint
		want   string
	}{
		"RKE2's label": {spec: in(""), labels: map[string]string{key: "true"},
			want: `no Node has the labels that its Pods require: 1 Node has ` + key + `="true"; the Pods require ` + key + `="": correct the node selector or affinity, or label the control-plane Nodes`},
		"no label": {spec: in(""),
			want: `no Node has the labels that its Pods require: no Node has ` + key + `; the Pods require ` + key + `="": correct the node selector or affinity, or label the control-plane Nodes`},
		"a node selector": {spec: &v1.PodSpec{NodeSelector: map[string]string{"a": "b"}}, labels: map[string]string{"a": "c"},
			want: `no Node has the labels that its Pods require: 1 Node has a="c"; the Pods require a="b": correct the node selector or affinity, or label the control-plane Nodes`},
		"a taint": {spec: in(""), labels: map[string]string{key: ""}, taints: []v1.Taint{{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoSchedule}, {Key: "x", Effect: v1.TaintEffectNoSchedule}},
			want: "its Pods do not tolerate the taints of the 1 Node with its labels: x:NoSchedule: add tolerations"},
		"suitable": {spec: in(""), labels: map[string]string{key: ""},
			want: "no Pod was created, although 1 Node is suitable: check that kube-controller-manager runs"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(&world.Look{Node: &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "cp-1", Labels: c.labels}, Spec: v1.NodeSpec{Taints: c.taints}}})
			if got := whyNoNode(c.spec, nodeList{n}); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// The daemon's condition or Warning about a Node is reported unless another finding is about the Node.
func TestReported(t *testing.T) {
	condition := func(status v1.ConditionStatus) []v1.NodeCondition {
		return []v1.NodeCondition{{Type: nodeinfo.TopologyReady, Status: status, Reason: "CredentialsMissing", Message: "secrets is forbidden"}}
	}
	warning := v1.Event{Reason: "CredentialsMissing", Message: "secrets is forbidden"}
	f := of(nil)
	n := f.nodes[0]
	for name, c := range map[string]struct {
		conditions    []v1.NodeCondition
		uninitialized bool
		event         bool
		others        []Finding
		want          []string
	}{
		"nothing":                         {want: []string{}},
		"unknown":                         {conditions: condition(v1.ConditionUnknown), want: []string{"VZ186 Node node-1"}},
		"false":                           {conditions: condition(v1.ConditionFalse), want: []string{"VZ186 Node node-1"}},
		"false, found":                    {conditions: condition(v1.ConditionFalse), others: []Finding{{ID: "VZ150", Nodes: []string{"node-1"}}}, want: []string{}},
		"false, only info":                {conditions: condition(v1.ConditionFalse), others: []Finding{{ID: "VZ163", Nodes: []string{"node-1"}}}, want: []string{"VZ186 Node node-1"}},
		"true after a Warning":            {conditions: condition(v1.ConditionTrue), event: true, want: []string{}},
		"a Warning":                       {uninitialized: true, event: true, want: []string{"VZ186 Node node-1"}},
		"a Warning before initialization": {event: true, want: []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			n.Node.Status.Conditions = c.conditions
			n.Uninitialized = c.uninitialized
			check := &daemonCheck{state: &world.DaemonState{NodeEvents: map[string]v1.Event{}}}
			if c.event {
				check.state.NodeEvents["node-1"] = warning
			}
			if diff := cmp.Diff(c.want, ids(check.reported(f.nodes, c.others))); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
