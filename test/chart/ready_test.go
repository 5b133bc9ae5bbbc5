package chart

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/provider/keys"
)

// TestNodesAreListedByTheirCondition: the commands of the pages list Nodes by the condition and wait
// for it, also where a Node does not have it.
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
		condition.Type = keys.TopologyReady
		n.Status.Conditions = append(n.Status.Conditions, condition)
		if _, err := c.Client().CoreV1().Nodes().UpdateStatus(t.Context(), n, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	const list = "kubectl get nodes -o custom-columns="
	for _, page := range []string{"keep-zones-true.md", "monitor.md", "../reference/node.md"} {
		out := strings.Join(strings.Fields(enter(t, c, t.TempDir(), commands(t, page, list)[0])), " ")
		for _, want := range []string{"n1 True TopologyCurrent", "n2 False TopologyDrift", "n3 <none> <none>"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: %q is not in %s", page, want, out)
			}
		}
	}
	lines := commands(t, "../reference/node.md", "kubectl wait")
	wait := lines[len(lines)-1] + " --timeout=1s"
	enter(t, c, t.TempDir(), strings.Replace(wait, "NODE", "n1", 1))
	for _, name := range []string{"n2", "n3"} {
		if out, err := shell(t, c, t.TempDir(), strings.Replace(wait, "NODE", name, 1)); err == nil {
			t.Errorf("%s is waited for: %s", name, out)
		}
	}
}
