package chart

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/provider/nodeinfo"
	"vzones/test/cluster"
	"vzones/test/fixture"
	"vzones/topology"
)

// enter runs a command line in a folder as the administrator of a cluster, with the kubectl and Helm
// that make helm builds, and returns its output.
func enter(t *testing.T, c *cluster.Cluster, dir, line string) (string, error) {
	t.Helper()
	tools := filepath.Dir(helm.path)
	if _, err := os.Stat(filepath.Join(tools, "kubectl")); err != nil {
		t.Fatalf("make helm builds it: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
	cmd.Dir = dir
	cmd.Env = append(without(os.Environ(), "HELM_", "KUBECONFIG=", "PATH="), "HELM_CACHE_HOME="+t.TempDir(),
		"KUBECONFIG="+c.AdminKubeconfig(), "PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// mustEnter runs command lines that must succeed.
func mustEnter(t *testing.T, c *cluster.Cluster, dir string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if out, err := enter(t, c, dir, line); err != nil {
			t.Fatalf("entering %q: %v\n%s", line, err, out)
		}
	}
}

// shellLines returns the lines of the shell blocks of a page below docs, from a heading on or all for
// "". Continued lines are joined.
func shellLines(t *testing.T, path, heading string) []string {
	t.Helper()
	_, text, ok := strings.Cut(fixture.Page(t, filepath.Join("docs", path)), heading)
	if !ok {
		t.Fatalf("%s has no %q", path, heading)
	}
	var all []string
	for _, block := range fixture.Blocks(text) {
		if block.Kind != "sh" {
			continue
		}
		for line := range strings.Lines(regexp.MustCompile(`\\\n\s*`).ReplaceAllString(block.Text, "")) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				all = append(all, line)
			}
		}
	}
	return all
}

// fewValues are the fewest values of an installation that reads credentials from a Secret.
const fewValues = `
image: {repository: registry.example.com/vsphere-cloud-controller-manager}
config: {vcenter: {vc.example.com: {secretName: vsphere-cloud-secret, secretNamespace: kube-system}}}
`

var (
	// reads matches commands that read a cluster.
	reads = regexp.MustCompile(`^kubectl (-n \S+ )?(get|describe|logs) `)
	// toOthers matches the further processing of kubectl's output.
	toOthers = regexp.MustCompile(` (\| (grep|diff|jq|vzones|base64)|>>?) .*$`)
	// gone matches errors about objects that no test cluster has; the resource type is one of
	// the vSphere CSI driver.
	gone = regexp.MustCompile(`\(NotFound\)|doesn't have a resource type "csinodetopologies"`)
	// writes matches commands that write to a cluster and are not covered by TestInstallByThePages
	// and TestMigrateByThePages of test/demo.
	writes = regexp.MustCompile(`^(kubectl (-n \S+ )?(create|drain|uncordon)|helm template .* >) `)
)

// TestPagesReadTheCluster: kubectl and the API server accept every documented command that reads a
// cluster. Objects may be missing; options and kinds must be valid.
func TestPagesReadTheCluster(t *testing.T) {
	c := start(t)
	createNodes(t, c, "n1")
	count := 0
	err := fs.WalkDir(os.DirFS(filepath.Join(helm.Root(), "docs")), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		for _, line := range shellLines(t, path, "") {
			if !reads.MatchString(line) {
				continue
			}
			count++
			entered := toOthers.ReplaceAllString(line, "")
			if out, err := enter(t, c, t.TempDir(), entered); err != nil && !gone.MatchString(out) {
				t.Errorf("entering %q of %s: %v\n%s", entered, path, err, out)
			}
		}
		return nil
	})
	if err != nil || count == 0 {
		t.Errorf("%d commands, %v", count, err)
	}
}

// TestPagesWriteTheCluster: kubectl, Helm and the API server accept the how-tos' commands that write
// to a cluster.
func TestPagesWriteTheCluster(t *testing.T) {
	c := start(t)
	createNodes(t, c, "n1")
	for _, name := range []string{"clusters", "vmware-system-csi"} {
		if _, err := c.Client().CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	for name, content := range map[string]string{
		"values.yaml": fewValues,
		"vzones.crt":  "c", "vzones.key": "k",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Dir(helm.Chart()), filepath.Join(dir, "manifests")); err != nil {
		t.Fatal(err)
	}
	for path, least := range map[string]int{"how-to/csi-and-cluster-api.md": 4, "how-to/credentials.md": 1, "how-to/migrate.md": 2} {
		count := 0
		for _, line := range shellLines(t, path, "") {
			if writes.MatchString(line) {
				count++
				mustEnter(t, c, dir, strings.ReplaceAll(line, "NODE", "n1"))
			}
		}
		if count < least {
			t.Errorf("%s has %d commands, want %d", path, count, least)
		}
	}
}

// othersKey is an annotation, label, taint and condition of another component.
const othersKey = "example.com/other"

// cleanUp adds vzones' and another component's data to Nodes, runs the documented clean-up commands,
// and checks that exactly vzones' data is gone.
func cleanUp(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	nodes := c.Client().CoreV1().Nodes()
	all, err := nodes.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range all.Items[1:] { // the commands must also work for a Node without a taint
		n := &all.Items[1+i]
		for _, key := range []string{nodeinfo.DriftTaint, "node.cloudprovider.kubernetes.io/shutdown", othersKey} {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
		}
		for _, key := range []string{nodeinfo.KeyVM, nodeinfo.KeyVCenter, nodeinfo.KeyLabels, nodeinfo.KeyFormerAddresses, othersKey} {
			metav1.SetMetaDataAnnotation(&n.ObjectMeta, key, "test")
		}
		n.Labels[othersKey] = "test"
		if n, err = nodes.Update(t.Context(), n, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, condition := range []corev1.NodeConditionType{nodeinfo.TopologyReady, othersKey} {
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: condition, Status: corev1.ConditionFalse})
		}
		if _, err := nodes.UpdateStatus(t.Context(), n, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	mustEnter(t, c, t.TempDir(), shellLines(t, "how-to/change-upgrade-remove.md", "\n### Clean up the Nodes")...)
	if all, err = nodes.List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	for i, n := range all.Items {
		var keys []string
		for key := range n.Annotations {
			keys = append(keys, key)
		}
		for key := range n.Labels {
			keys = append(keys, key)
		}
		for _, taint := range n.Spec.Taints {
			keys = append(keys, taint.Key)
		}
		for _, condition := range n.Status.Conditions {
			keys = append(keys, string(condition.Type))
		}
		others := 0
		for _, key := range keys {
			if strings.HasPrefix(key, topology.OwnDomain) || strings.HasSuffix(key, "/shutdown") {
				t.Errorf("Node %s has %s", n.Name, key)
			}
			if key == othersKey {
				others++
			}
		}
		if want := min(4*i, 4); others != want || !slices.Contains(keys, string(corev1.NodeReady)) || n.Spec.ProviderID == "" {
			t.Errorf("what others have put on Node %s is %q, provider ID %q", n.Name, keys, n.Spec.ProviderID)
		}
	}
}

func createNodes(t *testing.T, c *cluster.Cluster, names ...string) {
	t.Helper()
	var nodes []cluster.NodeSpec
	for _, name := range names {
		nodes = append(nodes, cluster.NodeSpec{Name: name})
	}
	if err := c.CreateNodes(t.Context(), nodes); err != nil {
		t.Fatal(err)
	}
}
