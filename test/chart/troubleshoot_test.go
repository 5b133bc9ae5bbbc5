package chart

import (
	"cmp"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/provider/nodeinfo"
	"vzones/test/cluster"
	"vzones/test/stack"
)

// lookedAt makes what the commands look for: a Node, a Pod, a Lease, a ConfigMap, and Events.
func lookedAt(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	createNodes(t, c, "n1")
	leftOn(t, c, "n1", "east/vm-1", nodeinfo.DriftTaint)
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

// shows are commands about what is wrong and what to collect, with what each prints.
var shows = map[string]string{
	"kubectl -n default get events --field-selector involvedObject.kind=Node,involvedObject.name=n1":   "TopologyDrift",
	"kubectl -n kube-system get events --field-selector involvedObject.kind=Pod,type=Warning":          "CredentialsRejected",
	`kubectl get node n1 -o jsonpath='{.spec.providerID}{"\n"}{.metadata.annotations}{"\n"}'`:          nodeinfo.KeyMachine,
	`kubectl get node n1 -o jsonpath='{range .status.addresses[*]}{.type}{"\t"}{.address}{"\n"}{end}'`: "Hostname\tn1",
	"kubectl get nodes -L topology.kubernetes.io/region,topology.kubernetes.io/zone":                   "n1",
	"kubectl get events -A --field-selector source=vzones -o yaml":                                     "reason: TopologyDrift",
	"kubectl get node n1 -o yaml": nodeinfo.DriftTaint,
	`kubectl -n kube-system get configmap vsphere-cloud-config -o jsonpath='{.data.vsphere\.conf}'`: "labels",
	"kubectl -n kube-system get lease cloud-controller-manager -o yaml":                             "kind: Lease",
}

// TestTroubleshootingCommands: the commands show what is there.
func TestTroubleshootingCommands(t *testing.T) {
	c := start(t)
	lookedAt(t, c)
	for line, want := range shows {
		if out := enter(t, c, t.TempDir(), line); !strings.Contains(out, want) {
			t.Errorf("%s does not show %q:\n%s", line, want, out)
		}
	}
}
