package chart

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	// reads finds the commands that read a cluster.
	reads = regexp.MustCompile(`^kubectl (-n \S+ )?(get|describe|logs|auth can-i) `)
	// toOthers begins what a line does with what kubectl prints.
	toOthers = regexp.MustCompile(` (\| (grep|diff|vzones|base64)|>>?) .*$`)
	// gone are the objects that no cluster of a test has; the kinds are those of the vSphere CSI
	// driver and of Cluster API.
	gone = regexp.MustCompile(`\(NotFound\)|doesn't have a resource type "(machines|csinodetopologies)"`)
)

// TestPagesReadTheCluster: kubectl and the API server take each command of the documentation that
// reads a cluster. Objects may be missing, options and kinds not.
func TestPagesReadTheCluster(t *testing.T) {
	c := start(t)
	lookedAt(t, c)
	count := 0
	places := strings.NewReplacer("NODE:", "NODE:", "NODE", "n1", "POD", "pod", "NAMESPACE", "default", "NAME", "n1")
	err := fs.WalkDir(os.DirFS(filepath.Join(helm.Root(), "docs")), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		for _, line := range shellLines(t, path) {
			if !reads.MatchString(line) || strings.HasSuffix(line, "-o yaml > vsphere-cloud-secret.yaml") {
				continue
			}
			count++
			entered := toOthers.ReplaceAllString(line, "")
			if !strings.Contains(entered, "custom-columns") {
				entered = places.Replace(entered)
			}
			out, err := shell(t, c, t.TempDir(), entered)
			said := string(out)
			if err != nil && !gone.MatchString(said) && !strings.Contains(line, " auth can-i ") || strings.Contains(line, " auth can-i ") && said != "no\n" && said != "yes\n" {
				t.Errorf("%s: %s: %v\n%s", path, entered, err, said)
			}
		}
		return nil
	})
	if err != nil || count < 80 {
		t.Errorf("%d commands, %v", count, err)
	}
}

// shellLines returns the lines of the shell blocks of a page, whose path is that below docs. One that
// goes on in the next is one.
func shellLines(t *testing.T, path string) []string {
	t.Helper()
	var all []string
	for _, block := range blocks(t, path, "sh") {
		goesOn := false
		for line := range strings.Lines(block) {
			line = strings.TrimSpace(line)
			text := strings.TrimSuffix(line, `\`)
			if goesOn {
				all[len(all)-1] += " " + text
			} else if line != "" && line[0] != '#' {
				all = append(all, text)
			}
			goesOn = text != line
		}
	}
	return all
}

// written are lines of pages that write to a cluster, in the order in which they are entered, with
// what stands in for their capitals. Each is found by a part of it.
var written = []struct{ page, part, with string }{
	{"how-to/cluster-api.md", "helm template vzones", ""},
	{"how-to/cluster-api.md", "kubectl -n clusters create secret", ""},
	{"how-to/cluster-api.md", "rm vzones.yaml", ""},
	{"how-to/share-the-csi-drivers-configuration.md", "create role ", ""},
	{"how-to/share-the-csi-drivers-configuration.md", "create rolebinding ", ""},
	{"how-to/convert-a-configuration.md", "create secret generic vsphere-config-secret", ""},
	{"how-to/convert-a-configuration.md", "kubectl apply -f secret.yaml", ""},
	{"how-to/convert-a-configuration.md", "rm secret.yaml csi-vsphere.conf", ""},
	{"how-to/migrate-from-in-tree.md", "kubectl drain NODE --ignore-daemonsets", "n1"},
	{"how-to/migrate-from-in-tree.md", "kubectl uncordon NODE", "n1"},
	{"how-to/migrate-from-in-tree.md", "--delete-emptydir-data", "n1"},
	{"how-to/migrate-from-in-tree.md", "kubectl delete node NODE", "n1"},
	{"how-to/find-out-why-a-node-waits.md", "kubectl drain NAME", "n2"},
	{"how-to/find-out-why-a-node-waits.md", "kubectl delete node NAME", "n2"},
	{"how-to/find-out-why-a-node-waits.md", "kubectl delete node OLD-NAME", "n3"},
	{"how-to/keep-zones-true.md", "kubectl rollout restart", "web"},
	{"how-to/keep-zones-true.md", "kubectl annotate service", "web"},
	{"../README.md", "helm -n kube-system install vzones", ""},
	{"how-to/upgrade.md", "helm -n kube-system get values", ""},
	{"how-to/upgrade.md", "helm -n kube-system upgrade", ""},
	{"how-to/upgrade.md", "helm -n kube-system rollback", ""},
	{"how-to/migrate-from-the-cpi.md", "annotate secret vsphere-cloud-secret", ""},
	{"how-to/remove.md", "helm -n kube-system uninstall", ""},
	{"how-to/install.md", "kubectl apply -f vsphere-cloud-controller-manager.yaml", ""},
	{"how-to/install.md", "kubectl apply -f cpi.yaml", ""},
	{"how-to/install.md", "delete rolebinding system", ""},
	{"how-to/install.md", "delete role system", ""},
	{"how-to/install.md", "delete role,rolebinding", ""},
	{"how-to/install.md", "delete clusterrolebinding", ""},
	{"how-to/install.md", "kubectl apply -f vsphere-cloud-controller-manager.yaml", ""},
	{"how-to/remove.md", "kubectl delete -f", ""},
	{"how-to/convert-a-configuration.md", "create configmap", ""},
	{"how-to/credentials.md", "create secret generic vsphere-cloud-secret", ""},
}

// TestPagesWriteTheCluster: kubectl, Helm and the API server take commands of the documentation that
// write to a cluster, and that no other test enters.
func TestPagesWriteTheCluster(t *testing.T) {
	c := start(t)
	createNodes(t, c, "n1", "n2", "n3")
	for _, name := range []string{"clusters", "vmware-system-csi"} {
		if _, err := c.Client().CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	enter(t, c, t.TempDir(), "kubectl create deployment web --image=web", "kubectl create service clusterip web --tcp=80")
	dir := writtenFrom(t)
	for _, w := range written {
		line := ""
		for _, l := range shellLines(t, w.page) {
			if line == "" && strings.Contains(l, w.part) {
				line = l
			}
		}
		if line == "" {
			t.Fatalf("%s has no command with %s", w.page, w.part)
		}
		enter(t, c, dir, strings.NewReplacer("NAMESPACE", "default", "OLD-NAME", w.with, "NODE", w.with, "NAME", w.with).Replace(line))
	}
}

// writtenFrom returns a folder with the files that the lines read.
func writtenFrom(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	const secret = "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: kube-system}}\n"
	plain, err := os.ReadFile(filepath.Join(helm.Root(), "manifests", "vsphere-cloud-controller-manager.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"values.yaml": "config: {vcenter: {vc.example.com: {secretName: vsphere-cloud-secret, secretNamespace: kube-system}}}\n" +
			"credentials: {vsphere-cloud-secret: {vc.example.com: {username: u, password: p}}}\n",
		"secret.yaml": secret, "vsphere.yaml": "labels: {}\n", "csi-vsphere.conf": "[Global]\n", "vzones.crt": "c", "vzones.key": "k",
		"cpi.yaml":                              "{apiVersion: v1, kind: ServiceAccount, metadata: {name: cpi, namespace: kube-system}}\n",
		"vsphere-cloud-controller-manager.yaml": string(plain),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Dir(helm.Chart()), filepath.Join(dir, "manifests")); err != nil {
		t.Fatal(err)
	}
	return dir
}
