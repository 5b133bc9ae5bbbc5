package chart

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/provider/keys"
	"vzones/test/cluster"
)

const (
	// othersKey is what somebody else has on Nodes: an annotation, a label, a taint and a condition.
	othersKey     = "example.com/other"
	shutdownTaint = "node.cloudprovider.kubernetes.io/shutdown"
)

// writesNodes finds the commands of a page that write to Nodes or delete them.
var writesNodes = regexp.MustCompile(`^kubectl (taint|annotate|label|patch|delete) (nodes?\b|\$\(kubectl get nodes)`)

// aboutNodes returns the commands of blocks of a page, of the how-tos, that write to Nodes.
func aboutNodes(t *testing.T, howTo string) []string {
	t.Helper()
	var all []string
	for _, block := range blocks(t, filepath.Join("how-to", howTo), "sh") {
		for line := range strings.Lines(block) {
			if line = strings.TrimSpace(line); writesNodes.MatchString(line) {
				all = append(all, line)
			}
		}
	}
	return all
}

// leftOn adds to a Node what vzones leaves there with drift: taint, and what is somebody else's.
func leftOn(t *testing.T, c *cluster.Cluster, name, machine string, taints ...string) {
	t.Helper()
	nodes := c.Client().CoreV1().Nodes()
	n, err := nodes.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range append(taints, othersKey) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	}
	if n.Annotations == nil {
		n.Annotations = map[string]string{}
	}
	maps.Copy(n.Annotations, map[string]string{keys.Machine: machine, keys.VCenter: "uuid", keys.Labels: "example.com/rack", othersKey: "kept"})
	n.Labels[othersKey] = "kept"
	if n, err = nodes.Update(t.Context(), n, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, condition := range []corev1.NodeConditionType{keys.TopologyReady, othersKey} {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: condition, Status: corev1.ConditionFalse, Reason: "Test", Message: "of a test"})
	}
	if _, err := nodes.UpdateStatus(t.Context(), n, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// listNodes returns all Nodes.
func listNodes(t *testing.T, c *cluster.Cluster) []corev1.Node {
	t.Helper()
	all, err := c.Client().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return all.Items
}

// isTainted reports whether a Node has a taint.
func isTainted(n *corev1.Node, key string) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == key })
}

// hasCondition reports whether a Node has a condition.
func hasCondition(n *corev1.Node, kind corev1.NodeConditionType) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == kind })
}

// takeOff enters the commands of a page that write to Nodes, twice: kubectl taint alone fails, where
// a Node does not have the taint.
func takeOff(t *testing.T, c *cluster.Cluster, lines []string) {
	t.Helper()
	for _, line := range slices.Concat(lines, lines) {
		if out, err := shell(t, c, t.TempDir(), line); err != nil && !strings.HasPrefix(line, "kubectl taint ") {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
}

// nothingLeft checks that Nodes have nothing of vzones that the pages say to take off, and have
// what somebody else has put on some.
func nothingLeft(t *testing.T, c *cluster.Cluster, others ...string) {
	t.Helper()
	for _, n := range listNodes(t, c) {
		for _, of := range []map[string]string{n.Annotations, n.Labels} {
			for key := range of {
				if strings.HasPrefix(key, "vzones/") || strings.Contains(key, "topology") || strings.Contains(key, "failure-domain") || strings.Contains(key, "instance-type") {
					t.Errorf("Node %s has %s", n.Name, key)
				}
			}
		}
		if isTainted(&n, keys.DriftTaint) || isTainted(&n, shutdownTaint) || hasCondition(&n, keys.TopologyReady) {
			t.Errorf("Node %s has the taints %v and the conditions %v", n.Name, n.Spec.Taints, n.Status.Conditions)
		}
		kept := isTainted(&n, othersKey) && n.Annotations[othersKey] != "" && n.Labels[othersKey] != "" && hasCondition(&n, othersKey)
		if slices.Contains(others, n.Name) != kept || !hasCondition(&n, corev1.NodeReady) {
			t.Errorf("Node %s: what others have put there is %v, %v, %v, %v", n.Name, n.Spec.Taints, n.Annotations, n.Labels, n.Status.Conditions)
		}
	}
}

// createNodes makes Nodes, with the labels of vzones.
func createNodes(t *testing.T, c *cluster.Cluster, names ...string) {
	t.Helper()
	var nodes []cluster.NodeSpec
	for _, name := range names {
		nodes = append(nodes, cluster.NodeSpec{Name: name, Labels: map[string]string{
			corev1.LabelTopologyZone: "a", corev1.LabelFailureDomainBetaZone: "a", corev1.LabelInstanceTypeStable: "t",
		}})
	}
	if err := c.CreateNodes(t.Context(), nodes); err != nil {
		t.Fatal(err)
	}
}

// TestWhatIsLeftOnNodesIsTakenOff: the commands of the page about the removal, to which the ways back
// lead, take everything off all Nodes, whichever have it, and touch nothing of anybody else's.
func TestWhatIsLeftOnNodesIsTakenOff(t *testing.T) {
	c := start(t)
	createNodes(t, c, "n1", "n2", "n3", "n4", "n5")
	leftOn(t, c, "n1", "east/vm-1", keys.DriftTaint)
	leftOn(t, c, "n3", "east/vm-3", keys.DriftTaint, shutdownTaint)
	leftOn(t, c, "n4", "west/vm-4")
	leftOn(t, c, "n5", "west/vm-5", keys.DriftTaint)
	lines := aboutNodes(t, "remove.md")
	if len(lines) != 5 {
		t.Fatalf("the page has these commands: %q", lines)
	}
	takeOff(t, c, lines)
	nothingLeft(t, c, "n1", "n3", "n4", "n5")
}

// TestWaysBackLeadToTheRemoval: the pages about going back, or switching off, say nothing of their own
// about what is left on Nodes, so that the commands which a test enters are all there are.
func TestWaysBackLeadToTheRemoval(t *testing.T) {
	for _, page := range []string{"migrate-from-the-cpi.md", "migrate-from-in-tree.md", "install.md", "keep-zones-true.md", "upgrade.md"} {
		content, err := os.ReadFile(filepath.Join(helm.Root(), "docs", "how-to", page))
		if err != nil {
			t.Fatal(err)
		}
		if page != "upgrade.md" && !strings.Contains(string(content), "(remove.md#clean-up-the-nodes)") {
			t.Errorf("%s does not say what stays on the Nodes", page)
		}
		for _, line := range aboutNodes(t, page) {
			if !strings.HasPrefix(line, "kubectl delete node ") {
				t.Errorf("%s: no test enters %s", page, line)
			}
		}
	}
}

// TestNodesOfARemovedVCenter: the commands of the page find the Nodes of a vCenter and take the
// taint off these alone.
func TestNodesOfARemovedVCenter(t *testing.T) {
	c := start(t)
	createNodes(t, c, "n1", "n2", "n3", "n4", "n5")
	leftOn(t, c, "n1", "east/vm-1", keys.DriftTaint)
	leftOn(t, c, "n2", "east/vm-2")
	leftOn(t, c, "n3", "west/vm-1", keys.DriftTaint)
	leftOn(t, c, "n4", "east/vm-4", keys.DriftTaint)
	lines, dir := commands(t, "change-the-configuration.md", "nodes-of-east"), t.TempDir()
	if len(lines) != 2 {
		t.Fatalf("the page has these commands: %q", lines)
	}
	enter(t, c, dir, lines[0])
	if found, err := os.ReadFile(filepath.Join(dir, "nodes-of-east")); err != nil || string(found) != "n1\nn2\nn4\n" {
		t.Fatalf("the Nodes of east are %q, %v", found, err)
	}
	if out, err := shell(t, c, dir, lines[1]); err == nil {
		t.Errorf("kubectl does not report that n2 has no taint, as the page says: %s", out)
	}
	for _, n := range listNodes(t, c) {
		if want := n.Name == "n3"; isTainted(&n, keys.DriftTaint) != want || isTainted(&n, othersKey) != (n.Name != "n5") {
			t.Errorf("Node %s has the taints %v", n.Name, n.Spec.Taints)
		}
	}
	excluded := "kubectl taint nodes NAME " + keys.DriftTaint + "-" // of a Node that nodes.selector leaves out
	if page, err := os.ReadFile(filepath.Join(helm.Root(), "docs", "how-to", "change-the-configuration.md")); err != nil || !strings.Contains(string(page), "`"+excluded+"`") {
		t.Errorf("the page does not have %s: %v", excluded, err)
	}
	enter(t, c, dir, strings.Replace(excluded, "NAME", "n3", 1))
	if all := listNodes(t, c); slices.ContainsFunc(all, func(n corev1.Node) bool { return isTainted(&n, keys.DriftTaint) }) {
		t.Errorf("after %s a Node still has the taint", excluded)
	}
	deletion := aboutNodes(t, "change-the-configuration.md")
	if len(deletion) != 2 || deletion[0] != lines[1] {
		t.Fatalf("the page has these commands: %q", deletion)
	}
	enter(t, c, dir, strings.Replace(deletion[1], "NAME", "n2", 1))
	if left := listNodes(t, c); len(left) != 4 {
		t.Errorf("%d Nodes are left", len(left))
	}
}
