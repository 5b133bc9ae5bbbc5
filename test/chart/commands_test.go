package chart

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/config/load"
	"vzones/test/cluster"
	"vzones/test/fleet/fleettest"
	"vzones/test/page"
)

// shell enters a line in a folder, as the administrator of a cluster, with the kubectl and the
// Helm that make helm builds.
func shell(t *testing.T, c *cluster.Cluster, dir, line string) ([]byte, error) {
	t.Helper()
	tools := filepath.Dir(helm.path)
	if _, err := os.Stat(filepath.Join(tools, "kubectl")); err != nil {
		t.Fatalf("make helm builds it: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
	cmd.Dir = dir
	cmd.Env = append(without(os.Environ(), "HELM_", "KUBECONFIG=", "PATH="), "HELM_CACHE_HOME="+t.TempDir(),
		"KUBECONFIG="+c.AdminKubeconfig(), "PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"))
	return cmd.CombinedOutput()
}

// enter enters lines that have to succeed, and returns what the last one prints.
func enter(t *testing.T, c *cluster.Cluster, dir string, lines ...string) string {
	t.Helper()
	var last []byte
	for _, line := range lines {
		out, err := shell(t, c, dir, line)
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		last = out
	}
	return string(last)
}

// blocks returns the texts of the blocks of a kind of a page, whose path is that below docs.
func blocks(t *testing.T, path, kind string) []string {
	t.Helper()
	var all []string
	for _, b := range page.Blocks(page.Read(t, filepath.Join("docs", path))) {
		if b.Kind == kind {
			all = append(all, b.Text)
		}
	}
	return all
}

// TestWhatIsSavedComesBack: what helm uninstall deletes is there again from a file to which kubectl has
// saved it, and the configuration of values can be piped to vzones check --offline.
func TestWhatIsSavedComesBack(t *testing.T) {
	c := start(t)
	data := func() map[string]string {
		configMap, err := c.Client().CoreV1().ConfigMaps("kube-system").Get(t.Context(), "vsphere-cloud-config", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		secret, err := c.Client().CoreV1().Secrets("kube-system").Get(t.Context(), "vsphere-cloud-secret", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		all := maps.Clone(configMap.Data)
		for key, value := range secret.Data {
			all[key] = string(value)
		}
		return all
	}
	dir := t.TempDir()
	for name, content := range map[string]string{
		"values.yaml": "config: {vcenter: {vc.example.com: {secretName: vsphere-cloud-secret, secretNamespace: kube-system}}}\n" +
			"credentials: {vsphere-cloud-secret: {vc.example.com: {username: u, password: p}}}\n",
		"cpi.yaml": "{apiVersion: v1, kind: ServiceAccount, metadata: {name: cpi, namespace: kube-system}}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Dir(helm.Chart()), filepath.Join(dir, "manifests")); err != nil {
		t.Fatal(err)
	}

	text := enter(t, c, dir, "helm template vzones manifests/chart --namespace kube-system --values values.yaml -s templates/configmap.yaml | "+
		`kubectl create --dry-run=client -f - -o jsonpath='{.data.vsphere\.conf}'`)
	parsed, err := (load.Options{SkipFiles: true}).Parse("-", []byte(text))
	if err != nil || len(parsed.VCenters) != 1 {
		t.Errorf("the configuration is %q: %v", text, err)
	}
	const install = "helm install vzones manifests/chart --namespace kube-system --values values.yaml"
	enter(t, c, dir, install)
	before := data()
	enter(t, c, dir,
		"kubectl -n kube-system get configmap/vsphere-cloud-config secret/vsphere-cloud-secret -o yaml > configuration.yaml",
		"helm -n kube-system uninstall vzones",
		"kubectl apply -f configuration.yaml",
		"kubectl apply -f cpi.yaml",
		"rm configuration.yaml",
	)
	if after := data(); !maps.Equal(before, after) {
		t.Errorf("%v has come back as %v", before, after)
	}
	// What was saved has Helm's labels, so it can be the release's again.
	enter(t, c, dir, strings.Replace(install, "helm install", "helm install --take-ownership --force-conflicts", 1))
	enter(t, c, dir,
		"kubectl -n kube-system get secret vsphere-cloud-secret -o yaml > vsphere-cloud-secret.yaml",
		"helm -n kube-system uninstall vzones",
		"kubectl apply -f vsphere-cloud-secret.yaml",
		"rm vsphere-cloud-secret.yaml",
	)
	if _, err := c.Client().CoreV1().Secrets("kube-system").Get(t.Context(), "vsphere-cloud-secret", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.yaml")); err != nil || len(left) != 2 {
		t.Errorf("there are the files %v, %v", left, err)
	}
}

// TestImageOfTheManifest: a DaemonSet that kubectl has applied gets another image, and the
// previous one again.
func TestImageOfTheManifest(t *testing.T) {
	f := fleettest.Start(t, theFleet)
	c := withControllers(t)
	node := cluster.NodeSpec{Name: "control-plane", Labels: map[string]string{"node-role.kubernetes.io/control-plane": ""}}
	if err := c.CreateNodes(t.Context(), []cluster.NodeSpec{node}); err != nil {
		t.Fatal(err)
	}
	said := runPods(t, c, static(t))

	dir := t.TempDir()
	with := strings.ReplaceAll(operatorValues(f, freePort(t), ""), "secretNamespace: vcenters", "secretNamespace: kube-system")
	rendered, err := helm.Template(t.Context(), values(t, with))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "vsphere-cloud-controller-manager.yaml"), rendered, 0o600); err != nil {
		t.Fatal(err)
	}
	image := func() string { return daemonSet(t, c).Spec.Template.Spec.Containers[0].Image }
	// A Pod that cannot be given another root here leaves the test out.
	pods := func(before string) string { return rolledOut(t, c, said, before) }

	const status = "kubectl -n kube-system rollout status daemonset/vsphere-cloud-controller-manager"
	enter(t, c, dir, "kubectl apply -f vsphere-cloud-controller-manager.yaml")
	first, was := pods(""), image()
	enter(t, c, dir, status)

	const another = "registry.example.com/vsphere-cloud-controller-manager:v1.37.0"
	enter(t, c, dir, "kubectl -n kube-system set image daemonset/vsphere-cloud-controller-manager '*="+another+"'")
	second := pods(first)
	enter(t, c, dir, status)
	if got := image(); got == was || got != another {
		t.Errorf("the image is %s, not %s", got, another)
	}

	enter(t, c, dir, "kubectl -n kube-system rollout undo daemonset/vsphere-cloud-controller-manager")
	pods(second)
	if got := image(); got != was {
		t.Errorf("the image is %s, and was %s", got, was)
	}
}
