package chart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/provider/keys"
	"vzones/test/cluster"
	"vzones/test/stack"
)

// remove enters what docs/how-to/remove.md says to take off what is left on Nodes, of which all but
// one have a taint, and checks that nothing is.
func remove(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	var others []string
	for _, n := range listNodes(t, c)[1:] {
		leftOn(t, c, n.Name, n.Annotations[keys.Machine], keys.DriftTaint)
		others = append(others, n.Name)
	}
	takeOff(t, c, aboutNodes(t, "remove.md"))
	nothingLeft(t, c, others...)
	for _, n := range listNodes(t, c) {
		if n.Spec.ProviderID == "" {
			t.Errorf("Node %s has no provider ID", n.Name)
		}
	}
	enter(t, c, t.TempDir(), commands(t, "remove.md", "delete lease")...)
	if _, err := c.Client().CoordinationV1().Leases("kube-system").Get(t.Context(), "cloud-controller-manager", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Lease is still there: %v", err)
	}
}

// TestTakesOverWhatKubectlHasApplied: Helm refuses objects of the plain manifest, and takes
// them with the flags that the how-to names. What it then has is what an installation has.
func TestTakesOverWhatKubectlHasApplied(t *testing.T) {
	c := start(t)
	enter(t, c, filepath.Join(helm.Root(), "manifests"), "kubectl apply -f vsphere-cloud-controller-manager.yaml")
	before := daemonSet(t, c)
	args := []string{"--values", helm.Example("plain"), "--values", values(t, "image: {tag: v9}\n"), "--namespace", "kube-system", "--kubeconfig", c.AdminKubeconfig()}
	out, err := helm.Run(t.Context(), append([]string{"install", "vzones", helm.Chart()}, args...)...)
	if err == nil || !strings.Contains(err.Error()+string(out), "exists and cannot be imported into the current release") {
		t.Fatalf("Helm does not refuse as the how-to says: %v\n%s", err, out)
	}
	page, err := os.ReadFile(filepath.Join(helm.Root(), "docs", "how-to", "install.md"))
	if err != nil {
		t.Fatal(err)
	}
	const command = "helm upgrade --install vzones manifests/chart --namespace kube-system --values values.yaml --take-ownership --force-conflicts"
	if !strings.Contains(string(page), "\n"+command+"\n") {
		t.Fatalf("the how-to does not have %s", command)
	}
	// One that has failed half-way goes on with the same command.
	out, err = helm.Run(t.Context(), append([]string{"install", "vzones", helm.Chart(), "--take-ownership"}, args...)...)
	if err == nil || !strings.Contains(err.Error()+string(out), "conflicts") {
		t.Fatalf("Helm does not stop as the how-to says: %v\n%s", err, out)
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
