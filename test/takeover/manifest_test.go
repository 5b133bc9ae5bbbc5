package takeover

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/soap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"vzones/test/cluster"
	"vzones/test/fixture"
	"vzones/test/stack"
)

// cpiConfig is the configuration in the CPI's manifest.
const cpiConfig = `global:
  secretName: vsphere-cloud-secret
  secretNamespace: kube-system
vcenter:
  %[1]s: {server: %[1]s, port: %[2]s, datacenters: [dc], thumbprint: %[3]q}
labels: {region: k8s-region, zone: k8s-zone}
`

// planted are changes that an administrator made to the CPI's objects, as arguments of kubectl. None of them is in
// vzones' chart.
var planted = [][]string{
	{"set", "env", "daemonset/vsphere-cloud-controller-manager", "SKIP_NODE_DELETION=true"},
	{"patch", "daemonset/vsphere-cloud-controller-manager", `-p={"metadata": {"annotations": {"example.com/planted": "a"}}, "spec": {"template": {
		"metadata": {"annotations": {"example.com/planted": "a"}},
		"spec": {
			"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
				{"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"example.com/planted": "a"}}}]}},
			"hostAliases": [{"ip": "192.0.2.1", "hostnames": ["planted.example.com"]}],
			"volumes": [{"name": "planted", "emptyDir": {}}],
			"containers": [{"name": "vsphere-cloud-controller-manager", "volumeMounts": [{"name": "planted", "mountPath": "/planted"}]}]}}}}`},
	{"patch", "serviceaccount/cloud-controller-manager", `-p={"automountServiceAccountToken": false, "imagePullSecrets": [{"name": "planted"}],
		"metadata": {"annotations": {"example.com/planted": "a"}}}`},
	{"patch", "configmap/vsphere-cloud-config", `-p={"data": {"planted.pem": "a"}}`},
	{"patch", "secret/vsphere-cloud-secret", `-p={"stringData": {"planted.example.com.password": "a"}}`},
	{"label", "clusterrole/system:cloud-controller-manager", "example.com/planted=a"},
	{"label", "clusterrolebinding/system:cloud-controller-manager", "example.com/planted=a"},
	{"create", "role", "system:cloud-controller-manager", "--verb=get", "--resource=secrets"},
	{"label", "role/system:cloud-controller-manager", "example.com/planted=a"},
	{"create", "rolebinding", "system:cloud-controller-manager", "--role=system:cloud-controller-manager", "--user=planted"},
	{"label", "rolebinding/system:cloud-controller-manager", "example.com/planted=a"},
}

// plantedInRelease are such changes of objects that the CPI's chart created.
var plantedInRelease = [][]string{
	{"set", "env", "daemonset", "--all", "SKIP_NODE_DELETION=true"},
	{"patch", "serviceaccount/cloud-controller-manager", `-p={"imagePullSecrets": [{"name": "planted"}], "metadata": {"annotations": {"example.com/planted": "a"}}}`},
	{"patch", "secret/vsphere-cloud-secret", `-p={"stringData": {"planted.example.com.password": "a"}}`},
}

// foreignPod is a Pod of an old CPI, whose labels do not match the chart's selector.
const foreignPod = `apiVersion: v1
kind: Pod
metadata: {name: foreign, labels: {k8s-app: vsphere-cloud-controller-manager}}
spec: {containers: [{name: cpi, image: cpi}]}
`

// TestManifestTakenOver: the commands of the how-to install the chart over the CPI's own manifest. Each object is equal
// to that of a fresh installation, whatever was changed in the CPI's objects before. The new DaemonSet replaces the
// CPI's Pods, and the commands list the Pods that it does not replace. The CPI leads until its Pod ends, and the
// documented rollback gives the cluster back.
func TestManifestTakenOver(t *testing.T) {
	t.Parallel()
	old, ours := programs(t)
	if err := cluster.Wanted(cluster.ControllerManager); err != nil {
		t.Skip(err)
	}
	r := newRelease(t, cluster.Options{Controllers: []string{"daemonset-controller", "garbage-collector-controller"}}, "", "")
	if err := r.s.Cluster.StartControllerManager(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.applyCPI()
	for _, args := range planted {
		r.kubectl(args...)
	}
	if err := r.s.UseServiceAccount(t.Context()); err != nil {
		t.Fatal(err)
	}
	cpi := r.run(old)
	all := []bystander{{name: "plain"}, {name: "three", swapped: true}}
	for i := range all {
		r.register(&all[i])
	}
	r.until(cpi, "the CPI has initialized all Nodes", complete)
	r.kubectl("label", "node", "plain", "node-role.kubernetes.io/control-plane=")
	r.awaitPod(cpi, "cloud-provider-vsphere")
	r.tool("kubectl", foreignPod, "create", "-f=-", "--namespace=kube-system")
	r.expectUnchanged(removeOurs)

	printed := r.enter("docs/how-to/install.md", "### If the chart's objects already exist")
	if !regexp.MustCompile(`(?m)^foreign +<none>$`).MatchString(printed) {
		t.Errorf("the commands do not show that the Pod foreign has no owner:\n%s", printed)
	}
	r.kubectl("delete", "pod", "foreign")
	r.awaitPod(cpi, "vsphere-cloud-controller-manager")
	d := r.run(ours)
	r.holdStandby(cpi, d)
	r.stopIncumbent(cpi)
	r.until(d, "vzones knows all VMs", known(all))
	r.hold(d, "vzones has taken over")
	takenOver := r.objects("vzones")

	r.expectUnchanged()
	r.helm("uninstall", "vzones") // the ServiceAccount and its tokens too
	r.stop(d)
	r.applyCPI()
	if err := r.s.UseServiceAccount(t.Context()); err != nil {
		t.Fatal(err)
	}
	cpi = r.run(old)
	r.hold(cpi, "the CPI has the cluster again")
	r.stopIncumbent(cpi)

	r.kubectl("delete", "-f="+r.file("cpi-manifest.yaml"))
	r.helm("install", "vzones", r.chart, "-f", r.file("values.yaml"))
	if diff := cmp.Diff(r.objects("vzones"), takenOver); diff != "" {
		t.Errorf("the objects differ from those of a fresh installation (-fresh +taken over):\n%s", diff)
	}
}

// applyCPI applies the CPI's own manifest with the configuration and the credentials of the fleet.
func (r *release) applyCPI() {
	r.t.Helper()
	_, version, _ := strings.Cut(r.cpiModule, "@") // such as v1.36.0
	minor := version[:strings.LastIndex(version, ".")]
	manifest, err := os.ReadFile(filepath.Join(r.cpiModule, "releases", minor, "vsphere-cloud-controller-manager.yaml"))
	if err != nil {
		r.t.Fatal(err)
	}
	vc := r.s.Fleet.VCenter("east")
	config := fmt.Sprintf(cpiConfig, vc.Host(), r.port, soap.ThumbprintSHA1(vc.Leaf()))
	var kept []string
	for document := range strings.SplitSeq(string(manifest), "\n---\n") {
		if !strings.Contains(document, "kind: ConfigMap\n") && !strings.Contains(document, "kind: Secret\n") {
			kept = append(kept, strings.TrimPrefix(document, "---\n"))
		}
	}
	const object = "apiVersion: v1\nkind: %s\nmetadata: {name: %s, namespace: kube-system}\n%s\n"
	kept = append(kept,
		fmt.Sprintf(object, "ConfigMap", "vsphere-cloud-config", fmt.Sprintf("data: {vsphere.conf: %q}", config)),
		fmt.Sprintf(object, "Secret", "vsphere-cloud-secret", fmt.Sprintf("stringData: {%[1]s.username: %[2]q, %[1]s.password: %[3]q}", vc.Host(), vc.User(), vc.Password())))
	r.write("cpi-manifest.yaml", strings.Join(kept, "\n---\n"))
	r.kubectl("apply", "-f="+r.file("cpi-manifest.yaml"))
}

func (r *release) kubectl(args ...string) {
	r.t.Helper()
	r.tool("kubectl", "", append(args, "--namespace=kube-system")...)
}

// awaitPod waits until the only Pod on the control plane is one of the DaemonSet and runs an image.
func (r *release) awaitPod(d *stack.Daemon, image string) {
	r.t.Helper()
	r.poll(d, "a Pod of the image "+image, func() bool {
		set, err := r.s.Client.AppsV1().DaemonSets("kube-system").Get(r.t.Context(), "vsphere-cloud-controller-manager", metav1.GetOptions{})
		if err != nil {
			return false
		}
		pods, err := r.s.Client.CoreV1().Pods("kube-system").List(r.t.Context(), metav1.ListOptions{})
		return err == nil && len(pods.Items) == 1 && metav1.IsControlledBy(&pods.Items[0], set) &&
			strings.Contains(pods.Items[0].Spec.Containers[0].Image, "/"+image+":")
	})
}

// enter runs the shell blocks of a page's section with the values of the release, as an administrator does, and returns
// their output.
func (r *release) enter(page, heading string) string {
	r.t.Helper()
	_, section, found := strings.Cut(fixture.Page(r.t, page), "\n"+heading+"\n")
	if !found {
		r.t.Fatalf("%s has no section %q", page, heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	section, _, _ = strings.Cut(section, "\n### ")
	tools, err := filepath.Abs(filepath.Join("..", "..", "bin", "tools"))
	if err != nil {
		r.t.Fatal(err)
	}
	manifests, err := filepath.Abs(filepath.Dir(r.chart))
	if err != nil {
		r.t.Fatal(err)
	}
	if err := os.Symlink(manifests, r.file("manifests")); err != nil {
		r.t.Fatal(err)
	}
	var printed strings.Builder
	for _, block := range fixture.Blocks(section) {
		if block.Kind != "sh" {
			continue
		}
		cmd := exec.CommandContext(r.t.Context(), "sh", "-ec", block.Text)
		cmd.Dir = r.dir
		cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+r.dir, "HELM_CONFIG_HOME="+r.dir, "HELM_DATA_HOME="+r.dir,
			"KUBECONFIG="+r.s.Cluster.AdminKubeconfig(), "PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			r.t.Fatalf("entering this block: %v\n%s\nit printed:\n%s", err, block.Text, out)
		}
		printed.Write(out)
	}
	return printed.String()
}

// objects returns the objects of a release by kind, namespace and name, without the fields that the API server sets.
func (r *release) objects(name string) map[string]map[string]any {
	r.t.Helper()
	var list unstructured.UnstructuredList
	text := r.tool("kubectl", r.helm("get", "manifest", name), "get", "-o=json", "-f=-")
	if err := list.UnmarshalJSON([]byte(text)); err != nil {
		r.t.Fatal(err)
	}
	byName := map[string]map[string]any{}
	for _, object := range list.Items {
		for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"} {
			unstructured.RemoveNestedField(object.Object, "metadata", field)
		}
		unstructured.RemoveNestedField(object.Object, "metadata", "annotations", "deprecated.daemonset.template.generation")
		unstructured.RemoveNestedField(object.Object, "status")
		byName[object.GetKind()+" "+object.GetNamespace()+"/"+object.GetName()] = object.Object
	}
	if len(byName) < 6 {
		r.t.Fatalf("the release %s has only these objects: %v", name, byName)
	}
	return byName
}
