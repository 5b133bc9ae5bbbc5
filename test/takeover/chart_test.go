package takeover

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/soap"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/test/cluster"
	"vzones/test/stack"
)

// theChartsFleet has a single vCenter, as the vSphere CPI's chart requires.
const theChartsFleet = `
vcenters:
- name: east
  tags: {k8s-region: east}
  datacenters:
  - name: dc
    clusters: [{name: a, tags: {k8s-zone: east-a}, hosts: [a-1]}]
    vms: [{name: plain}, {name: three, nics: [{ips: [10.0.9.12, 10.0.9.7, 10.0.9.9]}]}, {name: joins-cpi}, {name: joins-vzones}]
`

// theValues are the values of a release of the CPI's chart.
const theValues = `config:
  enabled: true
  vcenter: %s
  username: %q
  password: %q
  datacenter: dc
  thumbprint: %s
daemonset:
  cmdline:
    logging: 3
  podLabels: {team: platform}
%s`

// ourValues are the equivalent values of vzones' chart, as in the how-to.
const ourValues = `%s
image: {repository: registry.example.com/vsphere-cloud-controller-manager}
config:
  global: {secretName: vsphere-cloud-secret, secretNamespace: kube-system}
  vcenter:
    %[2]s: {server: %[2]s, datacenters: [dc], thumbprint: %[3]q}
  labels: {region: k8s-region, zone: k8s-zone}
logging: {verbosity: 3}
workload:
  podLabels: {team: platform}
credentials:
  vsphere-cloud-secret:
    %[2]s: {username: %[4]q, password: %[5]q}
`

// TestReleaseTakenOver: helm upgrade converts a release of the vSphere CPI's chart to vzones' chart, and helm
// rollback converts it back. Nodes change only in vzones' annotations and condition, and no object of the former
// chart is left. The daemons run like the Pods: with the arguments of the DaemonSet, the content of the ConfigMap
// and a token of the release's ServiceAccount.
func TestReleaseTakenOver(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]struct{ cpi, ours string }{
		"as it is": {},
		// A DaemonSet's selector is immutable, so the two DaemonSets cannot have the same name.
		"the name of ours": {"nameOverride: vsphere-cloud-controller-manager\n", "fullnameOverride: vzones"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			takeReleaseOver(t, more.cpi, more.ours)
		})
	}
}

func takeReleaseOver(t *testing.T, more, oursMore string) {
	old, ours := programs(t)
	r := newRelease(t, cluster.Options{}, more, oursMore)
	cpiChart := filepath.Join(r.cpiModule, "charts", "vsphere-cpi")
	r.helm("install", "vsphere-cpi", cpiChart, "-f", r.file("cpi.yaml"))
	for _, args := range plantedInRelease {
		r.kubectl(args...)
	}
	before := r.manifest()
	if err := r.s.UseServiceAccount(t.Context()); err != nil {
		t.Fatal(err)
	}
	cpi := r.run(old)
	all := []bystander{{name: "plain"}, {name: "three", swapped: true}}
	for i := range all {
		r.register(&all[i])
	}
	r.until(cpi, "the CPI has initialized all Nodes", complete)
	r.join(cpi, &all, "joins-cpi")
	r.expectUnchanged(removeOurs)
	r.hold(cpi, "the CPI that has initialized them")

	r.helm("upgrade", "vsphere-cpi", r.chart, "-f", r.file("values.yaml"), "--force-replace", "--server-side=false")
	during := r.manifest()
	r.gone(before, during)
	d := r.run(ours)
	r.holdStandby(cpi, d)
	r.stopIncumbent(cpi)
	r.until(d, "vzones knows all VMs", known(all))
	r.hold(d, "vzones has taken over")
	r.join(d, &all, "joins-vzones")
	r.until(d, "vzones knows all VMs", known(all))

	r.expectUnchanged()
	r.helm("rollback", "vsphere-cpi", "1")
	r.gone(during, r.manifest())
	cpi = r.run(old)
	r.stop(d)
	r.hold(cpi, "the CPI has the cluster again")
	r.helm("upgrade", "vsphere-cpi", r.chart, "-f", r.file("values.yaml"), "--force-replace", "--server-side=false")
	d = r.run(ours)
	r.stopIncumbent(cpi)
	r.hold(d, "vzones has the cluster again")
	r.stop(d)

	takenOver := r.objects("vsphere-cpi")
	r.helm("uninstall", "vsphere-cpi")
	r.helm("install", "vsphere-cpi", r.chart, "-f", r.file("values.yaml"))
	if diff := cmp.Diff(r.objects("vsphere-cpi"), takenOver); diff != "" {
		t.Errorf("the objects differ from those of a fresh installation (-fresh +taken over):\n%s", diff)
	}
}

// A release is a world with objects created by Helm.
type release struct {
	*world
	cpiModule, chart, dir, port string
	runs                        int
}

func newRelease(t *testing.T, options cluster.Options, more, oursMore string) *release {
	t.Helper()
	r := &release{
		world: newWorld(t, stack.Options{Fleet: theChartsFleet, Cluster: options, Bare: true}),
		dir:   t.TempDir(),
		chart: filepath.Join("..", "..", "manifests", "chart"),
	}
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-C", filepath.Join("..", "incumbent"), "-m", "-f", "{{.Dir}}", "k8s.io/cloud-provider-vsphere").Output()
	if err != nil {
		t.Fatal(err)
	}
	r.cpiModule = strings.TrimSpace(string(dir))
	vc := r.s.Fleet.VCenter("east")
	r.port = fmt.Sprint(vc.Port())
	thumbprint := soap.ThumbprintSHA1(vc.Leaf()) // the only type that the vSphere CPI accepts
	r.write("cpi.yaml", fmt.Sprintf(theValues, vc.Host(), vc.User(), vc.Password(), thumbprint, more))
	r.write("values.yaml", fmt.Sprintf(ourValues, oursMore, vc.Host(), thumbprint, vc.User(), vc.Password()))
	return r
}

func (r *release) file(name string) string { return filepath.Join(r.dir, name) }

func (r *release) write(name, content string) {
	r.t.Helper()
	if err := os.WriteFile(r.file(name), []byte(content), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// helm runs Helm in the release's namespace and returns its output.
func (r *release) helm(args ...string) string {
	r.t.Helper()
	return r.tool("helm", "", append(args, "--namespace=kube-system")...)
}

func (r *release) tool(name, stdin string, args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), filepath.Join("..", "..", "bin", "tools", name), append(args, "--kubeconfig="+r.s.Cluster.AdminKubeconfig())...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+r.dir, "HELM_CONFIG_HOME="+r.dir, "HELM_DATA_HOME="+r.dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("running %s %s: %v\n%s", name, strings.Join(args, " "), err, &stderr)
	}
	return string(out)
}

// holdStandby checks that only the CPI is active while vzones runs, too.
func (r *release) holdStandby(cpi, d *stack.Daemon) {
	r.t.Helper()
	r.hold(cpi, "both Pods are there, and the CPI leads")
	if strings.Contains(d.Log(), roundMessage) {
		r.t.Errorf("vzones is active while the CPI leads:\n%s", tail(d.Log()))
	}
}

// run starts the daemon like a Pod of the release's DaemonSet. It replaces port 443 in the configuration of both
// charts with the test vCenter's port.
func (r *release) run(binary string) *stack.Daemon {
	r.t.Helper()
	sets, err := r.s.Client.AppsV1().DaemonSets("kube-system").List(r.t.Context(), metav1.ListOptions{})
	if err != nil || len(sets.Items) != 1 {
		r.t.Fatalf("got %d DaemonSets, want 1, error %v", len(sets.Items), err)
	}
	pod := sets.Items[0].Spec.Template.Spec
	var config *v1.ConfigMap
	for _, volume := range pod.Volumes {
		if volume.ConfigMap == nil {
			continue
		}
		if config, err = r.s.Client.CoreV1().ConfigMaps("kube-system").Get(r.t.Context(), volume.ConfigMap.Name, metav1.GetOptions{}); err != nil {
			r.t.Fatal(err)
		}
	}
	content := strings.ReplaceAll(config.Data["vsphere.conf"], "port: 443", "port: "+r.port)
	if !strings.Contains(content, "port: ") {
		content = strings.Replace(content, "global:\n", "global:\n  port: "+r.port+"\n", 1)
	}
	r.runs++
	r.config = r.file(fmt.Sprintf("run-%d.conf", r.runs))
	if err := os.WriteFile(r.config, []byte(content), 0o600); err != nil {
		r.t.Fatal(err)
	}
	args := slices.DeleteFunc(slices.Clone(pod.Containers[0].Args), func(arg string) bool { return strings.HasPrefix(arg, "--cloud-config=") })
	d, err := r.s.StartDaemon(binary, r.config, append(args, flags()...)...)
	if err != nil {
		r.t.Fatal(err)
	}
	return d
}

func (r *release) manifest() string {
	r.t.Helper()
	return r.helm("get", "manifest", "vsphere-cpi")
}

// gone checks that the objects of the current manifest exist and the other objects of the former one do not.
func (r *release) gone(had, has string) {
	r.t.Helper()
	there := strings.Fields(r.tool("kubectl", has, "get", "-o=name", "-f=-"))
	if len(there) < 6 {
		r.t.Fatalf("the release has only these objects: %v", there)
	}
	for _, object := range strings.Fields(r.tool("kubectl", had, "get", "-o=name", "--ignore-not-found", "-f=-")) {
		if !slices.Contains(there, object) {
			r.t.Errorf("%s still exists", object)
		}
	}
}
