package chart

import (
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/provider/nodeinfo"
	"vzones/test/cluster"
	"vzones/test/stack"
)

// remove takes off what is left on Nodes, of which all but one have a taint, and checks that nothing is.
func remove(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	var others []string
	for _, n := range listNodes(t, c)[1:] {
		leftOn(t, c, n.Name, n.Annotations[nodeinfo.KeyMachine], nodeinfo.DriftTaint)
		others = append(others, n.Name)
	}
	takeOff(t, c)
	nothingLeft(t, c, others...)
	for _, n := range listNodes(t, c) {
		if n.Spec.ProviderID == "" {
			t.Errorf("Node %s has no provider ID", n.Name)
		}
	}
	enter(t, c, t.TempDir(), "kubectl -n kube-system delete lease cloud-controller-manager --ignore-not-found")
	if _, err := c.Client().CoordinationV1().Leases("kube-system").Get(t.Context(), "cloud-controller-manager", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Lease is still there: %v", err)
	}
}

// TestTakesOverWhatKubectlHasApplied: Helm refuses objects of the plain manifest, and takes
// them with two flags. What it then has is what an installation has.
func TestTakesOverWhatKubectlHasApplied(t *testing.T) {
	c := start(t)
	enter(t, c, filepath.Join(helm.Root(), "manifests"), "kubectl apply -f vsphere-cloud-controller-manager.yaml")
	before := daemonSet(t, c)
	args := []string{"--values", helm.Example("plain"), "--values", values(t, "image: {tag: v9}\n"), "--namespace", "kube-system", "--kubeconfig", c.AdminKubeconfig()}
	out, err := helm.Run(t.Context(), append([]string{"install", "vzones", helm.Chart()}, args...)...)
	if err == nil || !strings.Contains(err.Error()+string(out), "exists and cannot be imported into the current release") {
		t.Fatalf("Helm does not refuse: %v\n%s", err, out)
	}
	// One that has failed half-way goes on with the same command.
	out, err = helm.Run(t.Context(), append([]string{"install", "vzones", helm.Chart(), "--take-ownership"}, args...)...)
	if err == nil || !strings.Contains(err.Error()+string(out), "conflicts") {
		t.Fatalf("Helm does not stop: %v\n%s", err, out)
	}
	inCluster(t, c, append([]string{"upgrade", "--install", "vzones", helm.Chart(), "--take-ownership", "--force-conflicts"}, args[:4]...)...)
	after := daemonSet(t, c)
	if after.UID != before.UID || after.Labels["app.kubernetes.io/managed-by"] != "Helm" || !strings.HasSuffix(after.Spec.Template.Spec.Containers[0].Image, ":v9") {
		t.Errorf("the DaemonSet is %+v", after)
	}
	inCluster(t, c, "uninstall", "vzones")
	if _, err := c.Client().AppsV1().DaemonSets("kube-system").Get(t.Context(), after.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the DaemonSet is still there: %v", err)
	}
	if _, err := c.Client().CoreV1().Secrets("kube-system").Get(t.Context(), stack.TheSecret().Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Secret of the values is still there: %v", err)
	}
}
