package chart

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

const (
	controlPlaneKey = "node-role.kubernetes.io/control-plane"
	masterKey       = "node-role.kubernetes.io/master"
	etcdKey         = "node-role.kubernetes.io/etcd"
)

// newClusterTaints are the taints of every Node of a new cluster until the daemon initializes it.
var newClusterTaints = []corev1.Taint{
	{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute},
	{Key: corev1.TaintNodeNetworkUnavailable, Effect: corev1.TaintEffectNoSchedule},
}

// TestPodsRunOnNewControlPlanes: with the default values, with user tolerations, and with the distribution's example,
// the Pods run on control-plane Nodes with the labels and taints of each distribution, and on no worker.
func TestPodsRunOnNewControlPlanes(t *testing.T) {
	const ownToleration = "tolerations: [{key: example.com/dedicated, operator: Exists}]"
	for name, c := range map[string]struct {
		example string
		labels  map[string]string
		taints  []corev1.Taint
	}{
		"kubeadm":               {"kubeadm", map[string]string{controlPlaneKey: ""}, []corev1.Taint{{Key: controlPlaneKey, Effect: corev1.TaintEffectNoSchedule}}},
		"RKE2":                  {"rke2-k3s", map[string]string{controlPlaneKey: "true", masterKey: "true", etcdKey: "true"}, nil},
		"K3s":                   {"rke2-k3s", map[string]string{controlPlaneKey: "true", etcdKey: "true"}, nil},
		"Talos":                 {"talos", map[string]string{controlPlaneKey: ""}, []corev1.Taint{{Key: controlPlaneKey, Effect: corev1.TaintEffectNoSchedule}}},
		"OpenShift":             {"openshift", map[string]string{masterKey: "", controlPlaneKey: ""}, []corev1.Taint{{Key: masterKey, Effect: corev1.TaintEffectNoSchedule}}},
		"OpenShift before 4.12": {"openshift", map[string]string{masterKey: ""}, []corev1.Taint{{Key: masterKey, Effect: corev1.TaintEffectNoSchedule}}},
	} {
		t.Run(name, func(t *testing.T) {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "cp-1", Labels: c.labels}, Spec: corev1.NodeSpec{Taints: append(c.taints, newClusterTaints...)}}
			worker := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1", Labels: map[string]string{corev1.LabelHostname: "worker-1"}}}
			for values, rendered := range map[string][]byte{
				"default values":                render(t, "plain"),
				"a toleration":                  render(t, "plain", ownToleration),
				"the example":                   render(t, c.example),
				"the example with a toleration": render(t, c.example, ownToleration),
			} {
				p := &corev1.Pod{Spec: pod(t, rendered).Spec}
				if why := whyNot(t, p, node); why != "" {
					t.Errorf("with %s the Pod does not run on the control plane: %s", values, why)
				}
				if whyNot(t, p, worker) == "" {
					t.Errorf("with %s the Pod runs on a worker", values)
				}
			}
		})
	}
}

// TestDistributionTaints: the examples tolerate the additional taints of their distributions.
func TestDistributionTaints(t *testing.T) {
	for name, c := range map[string]struct {
		example string
		taints  []corev1.Taint
	}{
		"Rancher's RKE2 servers":                 {"rke2-k3s", []corev1.Taint{{Key: controlPlaneKey, Effect: corev1.TaintEffectNoSchedule}, {Key: etcdKey, Effect: corev1.TaintEffectNoExecute}}},
		"RKE2 and K3s servers without workloads": {"rke2-k3s", []corev1.Taint{{Key: "CriticalAddonsOnly", Value: "true", Effect: corev1.TaintEffectNoExecute}}},
	} {
		t.Run(name, func(t *testing.T) {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "cp-1", Labels: map[string]string{controlPlaneKey: "true"}}, Spec: corev1.NodeSpec{Taints: append(c.taints, newClusterTaints...)}}
			if why := whyNot(t, &corev1.Pod{Spec: pod(t, render(t, c.example)).Spec}, node); why != "" {
				t.Errorf("the Pod does not run there: %s", why)
			}
		})
	}
}

// TestExternalControlPlane: with a kubeconfig the Pods run on any Node of their own cluster, and leave a failed Node.
func TestExternalControlPlane(t *testing.T) {
	p := &corev1.Pod{Spec: pod(t, render(t, "gardener")).Spec}
	if why := whyNot(t, p, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "seed-1"}}); why != "" {
		t.Errorf("the Pod does not run on a Node of the seed: %s", why)
	}
	if len(p.Spec.Tolerations) > 0 {
		t.Errorf("the Pod tolerates %v, want no taint", p.Spec.Tolerations)
	}
}

// whyNot returns why the scheduler does not place a Pod on a Node, or "".
func whyNot(t *testing.T, p *corev1.Pod, n *corev1.Node) string {
	t.Helper()
	fits, err := nodeaffinity.GetRequiredNodeAffinity(p).Match(n)
	if err != nil {
		t.Fatal(err)
	}
	if !fits {
		return "its node selector or affinity does not match"
	}
	taint, untolerated := helpers.FindMatchingUntoleratedTaint(klog.Background(), n.Spec.Taints, p.Spec.Tolerations, func(t *corev1.Taint) bool {
		return t.Effect != corev1.TaintEffectPreferNoSchedule
	}, false)
	if untolerated {
		return "it does not tolerate " + taint.ToString()
	}
	return ""
}
