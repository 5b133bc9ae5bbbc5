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
	if err != nil || count == 0 {
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

// written are commands of the how-tos that write to a cluster, in the order in which they are entered.
var written = []string{
	"helm template vzones manifests/chart --namespace kube-system --values values.yaml > vzones.yaml",
	"kubectl -n clusters create secret generic vzones --type=addons.cluster.x-k8s.io/resource-set --from-file=vzones.yaml --dry-run=client -o yaml | kubectl apply --server-side -f -",
	"rm vzones.yaml",
	"kubectl -n vmware-system-csi create role vzones-config --verb=list,watch --resource=secrets --resource-name=vsphere-config-secret",
	"kubectl -n vmware-system-csi create rolebinding vzones-config --role=vzones-config --serviceaccount=kube-system:cloud-controller-manager",
	"kubectl -n vmware-system-csi create secret generic vsphere-config-secret --from-file=csi-vsphere.conf",
	"kubectl apply -f secret.yaml",
	"rm secret.yaml csi-vsphere.conf",
	"kubectl drain n1 --ignore-daemonsets",
	"kubectl uncordon n1",
	"kubectl drain n1 --ignore-daemonsets --delete-emptydir-data",
	"kubectl delete node n1",
	"kubectl drain n2 --ignore-daemonsets",
	"kubectl delete node n2",
	"kubectl delete node n3",
	"kubectl rollout restart deployment/web -n default",
	`kubectl annotate service web -n default --overwrite example.com/zones-changed="$(date +%s)"`,
	"helm -n kube-system install vzones manifests/chart -f values.yaml",
	"helm -n kube-system get values vzones -o yaml > values.yaml",
	"helm -n kube-system upgrade vzones manifests/chart -f values.yaml",
	"helm -n kube-system rollback vzones",
	"kubectl -n kube-system annotate secret vsphere-cloud-secret helm.sh/resource-policy=keep",
	"helm -n kube-system uninstall vzones",
	"kubectl apply -f vsphere-cloud-controller-manager.yaml",
	"kubectl apply -f cpi.yaml",
	"kubectl -n kube-system delete rolebinding system:cloud-controller-manager system:cloud-controller-manager:authentication-reader",
	"kubectl -n kube-system delete role system:cloud-controller-manager",
	"kubectl -n default delete role,rolebinding system:cloud-controller-manager",
	"kubectl delete clusterrolebinding system:cloud-controller-manager:auth-delegator",
	"kubectl apply -f vsphere-cloud-controller-manager.yaml",
	"kubectl delete -f vsphere-cloud-controller-manager.yaml",
	"kubectl -n kube-system create configmap vsphere-cloud-config --from-file=vsphere.conf=vsphere.yaml --dry-run=client -o yaml | kubectl apply -f -",
	"kubectl -n kube-system create secret generic vsphere-cloud-secret --from-file=vc-east.example.com.username=vzones.crt --from-file=vc-east.example.com.password=vzones.key",
}

// TestCommandsWriteTheCluster: kubectl, Helm and the API server take commands that write to a cluster,
// and that no other test enters.
func TestCommandsWriteTheCluster(t *testing.T) {
	c := start(t)
	createNodes(t, c, "n1", "n2", "n3")
	for _, name := range []string{"clusters", "vmware-system-csi"} {
		if _, err := c.Client().CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	enter(t, c, t.TempDir(), "kubectl create deployment web --image=web", "kubectl create service clusterip web --tcp=80")
	enter(t, c, writtenFrom(t), written...)
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
