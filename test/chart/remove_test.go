package chart

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/provider/keys"
	"vzones/test/cluster"
	"vzones/test/stack"
)

// removalLine is a command of the page about the removal.
var removalLine = regexp.MustCompile(`(?m)^kubectl (taint|annotate|label|-n kube-system delete lease) .*$`)

// remove enters what docs/how-to/remove.md says to take off what is left on Nodes, of which one
// has a taint, and checks that nothing is.
func remove(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(helm.Root(), "docs", "how-to", "remove.md"))
	if err != nil {
		t.Fatal(err)
	}
	lines := removalLine.FindAllString(string(page), -1)
	if len(lines) != 5 {
		t.Fatalf("the page has these commands: %q", lines)
	}
	nodes := c.Client().CoreV1().Nodes()
	all, err := nodes.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n := &all.Items[0]
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: keys.DriftTaint, Effect: corev1.TaintEffectNoSchedule})
	if _, err := nodes.Update(t.Context(), n, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if out, err := shell(t, c, t.TempDir(), line); err != nil && !strings.HasPrefix(line, "kubectl taint ") { // most have none
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
	if all, err = nodes.List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	for i := range all.Items {
		n := &all.Items[i]
		for _, of := range []map[string]string{n.Annotations, n.Labels} {
			for key := range of {
				if strings.HasPrefix(key, "vzones/") || strings.Contains(key, "topology") || strings.Contains(key, "failure-domain") || strings.Contains(key, "instance-type") {
					t.Errorf("Node %s has %s", n.Name, key)
				}
			}
		}
		if len(n.Spec.Taints) > 0 || n.Spec.ProviderID == "" {
			t.Errorf("Node %s has the taints %v and the provider ID %q", n.Name, n.Spec.Taints, n.Spec.ProviderID)
		}
	}
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
