package chart

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/provider/nodeinfo"
)

// TestNodesAreListedByTheirCondition: kubectl lists Nodes by the condition and waits for it, also where a
// Node does not have it.
func TestNodesAreListedByTheirCondition(t *testing.T) {
	c := start(t)
	createNodes(t, c, "n1", "n2", "n3")
	for name, condition := range map[string]corev1.NodeCondition{
		"n1": {Status: corev1.ConditionTrue, Reason: "TopologyCurrent", Message: "right"},
		"n2": {Status: corev1.ConditionFalse, Reason: "TopologyDrift", Message: "label a is b"},
	} {
		n, err := c.Client().CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		condition.Type = nodeinfo.TopologyReady
		n.Status.Conditions = append(n.Status.Conditions, condition)
		if _, err := c.Client().CoreV1().Nodes().UpdateStatus(t.Context(), n, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	const list = `kubectl get nodes -o custom-columns='NODE:.metadata.name,READY:.status.conditions[?(@.type=="vzones/TopologyReady")].status,` +
		`REASON:.status.conditions[?(@.type=="vzones/TopologyReady")].reason,MESSAGE:.status.conditions[?(@.type=="vzones/TopologyReady")].message'`
	out := strings.Join(strings.Fields(enter(t, c, t.TempDir(), list)), " ")
	for _, want := range []string{"n1 True TopologyCurrent right", "n2 False TopologyDrift label a is b", "n3 <none> <none> <none>"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in %s", want, out)
		}
	}
	const wait = "kubectl wait --for=condition=vzones/TopologyReady --timeout=1s node/"
	enter(t, c, t.TempDir(), wait+"n1")
	for _, name := range []string{"n2", "n3"} {
		if out, err := shell(t, c, t.TempDir(), wait+name); err == nil {
			t.Errorf("%s is waited for: %s", name, out)
		}
	}
}
