package chart

import (
	"cmp"
	"path/filepath"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/provider/keys"
	"vzones/test/cluster"
	"vzones/test/stack"
)

// looks returns the commands of blocks of a page, of the how-tos, that read the cluster.
func looks(t *testing.T, howTo string) []string {
	t.Helper()
	var all []string
	for _, block := range blocks(t, filepath.Join("how-to", howTo), "sh") {
		for line := range strings.Lines(block) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "kubectl ") {
				all = append(all, line)
			}
		}
	}
	return all
}

// lookedAt makes what the commands look for: a Node, a Pod, a Lease, a ConfigMap, and Events.
func lookedAt(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	createNodes(t, c, "n1")
	leftOn(t, c, "n1", "east/vm-1", keys.DriftTaint)
	client, lease := c.Client(), metav1.ObjectMeta{Name: "cloud-controller-manager", Namespace: "kube-system"}
	_, err := client.CoordinationV1().Leases(lease.Namespace).Create(t.Context(), &coordinationv1.Lease{ObjectMeta: lease}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod", Namespace: "default"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "image"}}},
	}
	if _, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	config := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "vsphere-cloud-config", Namespace: "kube-system"},
		Data:       map[string]string{"vsphere.conf": "labels: {}\n"},
	}
	if _, err := client.CoreV1().ConfigMaps("kube-system").Create(t.Context(), config, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for reason, about := range map[string]corev1.ObjectReference{
		"TopologyDrift":       {Kind: "Node", Name: "n1"},
		"CredentialsRejected": {Kind: "Pod", Name: stack.Pod().Name, Namespace: "kube-system"},
	} {
		e := &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{GenerateName: "e", Namespace: cmp.Or(about.Namespace, "default")},
			InvolvedObject: about, Reason: reason, Type: corev1.EventTypeWarning, Source: corev1.EventSource{Component: "vzones"},
		}
		if _, err := client.CoreV1().Events(e.Namespace).Create(t.Context(), e, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// shows are what commands print, by a part of each.
var shows = map[string]string{
	"involvedObject.name=NODE":                   "TopologyDrift",
	"involvedObject.kind=Pod":                    "CredentialsRejected",
	"jsonpath='{.spec.providerID}":               keys.Machine,
	"status.addresses":                           "Hostname\tn1",
	"-L topology.kubernetes.io/region":           "n1",
	"source=vzones":                              "reason: TopologyDrift",
	"get node NODE -o yaml":                      keys.DriftTaint,
	"configmap vsphere-cloud-config":             "labels",
	"get lease cloud-controller-manager -o yaml": "kind: Lease",
}

// TestTroubleshootingCommands: kubectl and the API server take each command about what is wrong and
// what to collect, and those about what is there show it.
func TestTroubleshootingCommands(t *testing.T) {
	c := start(t)
	lookedAt(t, c)
	found, dir := map[string]bool{}, t.TempDir()
	for _, page := range []string{"troubleshoot.md", "get-help.md"} {
		lines := looks(t, page)
		if len(lines) < 7 {
			t.Errorf("%s has these commands only: %q", page, lines)
		}
		for _, line := range lines {
			entered, _, _ := strings.Cut(line, " | ") // grep finds nothing where no Pod runs
			entered, _, _ = strings.Cut(entered, " > ")
			entered, _, _ = strings.Cut(entered, " >> ")
			out := enter(t, c, dir, strings.NewReplacer("NODE:", "NODE:", "NODE", "n1", "POD", "pod", "NAMESPACE", "default").Replace(entered))
			for part, want := range shows {
				if !strings.Contains(line, part) {
					continue
				}
				if found[part] = true; !strings.Contains(out, want) {
					t.Errorf("%s does not show %q:\n%s", line, want, out)
				}
			}
		}
	}
	if len(found) != len(shows) {
		t.Errorf("of %v the pages have only %v", shows, found)
	}
}
