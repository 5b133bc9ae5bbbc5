package chart

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/provider/nodeinfo"
	"vzones/test/cluster"
)

const (
	// othersKey is what somebody else has on Nodes: an annotation, a label, a taint and a condition.
	othersKey     = "example.com/other"
	shutdownTaint = "node.cloudprovider.kubernetes.io/shutdown"
)

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
	maps.Copy(n.Annotations, map[string]string{nodeinfo.KeyMachine: machine, nodeinfo.KeyVCenter: "uuid", nodeinfo.KeyLabels: "example.com/rack", othersKey: "kept"})
	n.Labels[othersKey] = "kept"
	if n, err = nodes.Update(t.Context(), n, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, condition := range []corev1.NodeConditionType{nodeinfo.TopologyReady, othersKey} {
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

// offNodes are the commands that take everything of vzones off the Nodes.
var offNodes = []string{
	"kubectl taint nodes --all vzones/topology-drift-",
	"kubectl taint nodes --all node.cloudprovider.kubernetes.io/shutdown-",
	`kubectl patch $(kubectl get nodes -o name) --subresource=status -p '{"status": {"conditions": [{"type": "vzones/TopologyReady", "$patch": "delete"}]}}'`,
	"kubectl annotate nodes --all vzones/machine- vzones/vcenter- vzones/labels-",
	"kubectl label nodes --all topology.kubernetes.io/region- topology.kubernetes.io/zone- failure-domain.beta.kubernetes.io/region- " +
		"failure-domain.beta.kubernetes.io/zone- node.kubernetes.io/instance-type- beta.kubernetes.io/instance-type-",
}

// takeOff enters offNodes, twice: kubectl taint alone fails, where a Node does not have the taint.
func takeOff(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	for _, line := range slices.Concat(offNodes, offNodes) {
		if out, err := shell(t, c, t.TempDir(), line); err != nil && !strings.HasPrefix(line, "kubectl taint ") {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
}

// nothingLeft checks that Nodes have nothing of vzones that takeOff takes off, and have what somebody else has
// put on some.
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
		if isTainted(&n, nodeinfo.DriftTaint) || isTainted(&n, shutdownTaint) || hasCondition(&n, nodeinfo.TopologyReady) {
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

// TestWhatIsLeftOnNodesIsTakenOff: commands of kubectl take everything off all Nodes, whichever have it, and
// touch nothing of anybody else's.
func TestWhatIsLeftOnNodesIsTakenOff(t *testing.T) {
	c := start(t)
	createNodes(t, c, "n1", "n2", "n3", "n4", "n5")
	leftOn(t, c, "n1", "east/vm-1", nodeinfo.DriftTaint)
	leftOn(t, c, "n3", "east/vm-3", nodeinfo.DriftTaint, shutdownTaint)
	leftOn(t, c, "n4", "west/vm-4")
	leftOn(t, c, "n5", "west/vm-5", nodeinfo.DriftTaint)
	takeOff(t, c)
	nothingLeft(t, c, "n1", "n3", "n4", "n5")
}

// TestNodesOfARemovedVCenter: kubectl and jq find the Nodes of a vCenter by an annotation, and take the taint
// off these alone.
func TestNodesOfARemovedVCenter(t *testing.T) {
	c := start(t)
	createNodes(t, c, "n1", "n2", "n3", "n4", "n5")
	leftOn(t, c, "n1", "east/vm-1", nodeinfo.DriftTaint)
	leftOn(t, c, "n2", "east/vm-2")
	leftOn(t, c, "n3", "west/vm-1", nodeinfo.DriftTaint)
	leftOn(t, c, "n4", "east/vm-4", nodeinfo.DriftTaint)
	dir := t.TempDir()
	enter(t, c, dir, `kubectl get nodes -o json | jq -r '.items[] | select(.metadata.annotations["vzones/machine"] // "" | test("(^|\\s)east/")) | .metadata.name' > nodes-of-east`)
	if found, err := os.ReadFile(filepath.Join(dir, "nodes-of-east")); err != nil || string(found) != "n1\nn2\nn4\n" {
		t.Fatalf("the Nodes of east are %q, %v", found, err)
	}
	if out, err := shell(t, c, dir, "kubectl taint nodes $(cat nodes-of-east) vzones/topology-drift-"); err == nil {
		t.Errorf("kubectl does not report that n2 has no taint: %s", out)
	}
	for _, n := range listNodes(t, c) {
		if want := n.Name == "n3"; isTainted(&n, nodeinfo.DriftTaint) != want || isTainted(&n, othersKey) != (n.Name != "n5") {
			t.Errorf("Node %s has the taints %v", n.Name, n.Spec.Taints)
		}
	}
	const excluded = "kubectl taint nodes n3 vzones/topology-drift-" // of a Node that nodes.selector leaves out
	enter(t, c, dir, excluded)
	if all := listNodes(t, c); slices.ContainsFunc(all, func(n corev1.Node) bool { return isTainted(&n, nodeinfo.DriftTaint) }) {
		t.Errorf("after %s a Node still has the taint", excluded)
	}
	enter(t, c, dir, "kubectl delete node n2")
	if left := listNodes(t, c); len(left) != 4 {
		t.Errorf("%d Nodes are left", len(left))
	}
}
