package chart

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/test/cluster"
	"vzones/test/fleet"
	"vzones/test/fleet/fleettest"
	"vzones/test/process"
	"vzones/test/stack"
)

// theFleet has two vCenters. The certificate of east is verified with a file of the chart, that of
// west with a CA in the configuration.
const theFleet = `vcenters:
- name: east
  address: 127.0.0.2
  tags: {k8s-region: east}
  datacenters:
  - {name: dc, tags: {k8s-zone: east-a}, clusters: [{name: c, hosts: 1}], vms: [{name: east, count: 2}]}
- name: west
  address: 127.0.0.3
  tags: {k8s-region: west}
  datacenters:
  - {name: dc, tags: {k8s-zone: west-a}, clusters: [{name: c, hosts: 1}], vms: [{name: west, count: 2}]}
`

// operatorValues returns values for the fleet, with further lines under config.
func operatorValues(f *fleet.Fleet, port int, more string) string {
	east := f.VCenter("east")
	west := f.VCenter("west")
	indented := func(v *fleet.VCenter, by string) string {
		return by + strings.ReplaceAll(strings.TrimSpace(string(v.Certificate())), "\n", "\n"+by)
	}
	return fmt.Sprintf(`port: %d
image: {repository: registry.example.com/vsphere-cloud-controller-manager}
config:
  global: {secretName: vsphere-cloud-secret, secretNamespace: kube-system}
  vcenter:
    east: {server: %s, port: %d, caFile: /etc/cloud/east.pem}
    west:
      server: %s
      port: %d
      secretName: west
      secretNamespace: vcenters
      caData: |
%s
  labels: {region: k8s-region, zone: k8s-zone}
%s
certificateAuthorities:
  east.pem: |
%s
credentials:
  vsphere-cloud-secret:
    %s: {username: %q, password: %q}
  west:
    %s: {username: %q, password: %q}
`, port, east.Host(), east.Port(), west.Host(), west.Port(), indented(west, "        "), more, indented(east, "    "),
		east.Host(), east.User(), east.Password(), west.Host(), west.User(), west.Password())
}

func freePort(t *testing.T) int {
	t.Helper()
	port, err := process.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// start starts a control plane that ends with the test.
func start(t *testing.T) *cluster.Cluster {
	t.Helper()
	return startWith(t, cluster.Options{})
}

func startWith(t *testing.T, options cluster.Options) *cluster.Cluster {
	t.Helper()
	if err := cluster.Wanted(); err != nil {
		t.Skipf("left out: %v", err)
	}
	c, err := cluster.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// inCluster runs Helm as the administrator of a cluster.
func inCluster(t *testing.T, c *cluster.Cluster, args ...string) {
	t.Helper()
	args = append(args, "--kubeconfig", c.AdminKubeconfig(), "--namespace", "kube-system")
	if out, err := helm.Run(t.Context(), args...); err != nil {
		t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// push pushes the chart to a local registry that ends with the test, and returns the chart's URL.
func push(t *testing.T) string {
	t.Helper()
	registry := exec.CommandContext(t.Context(), filepath.Join(filepath.Dir(helm.path), "registry"), "-port", "0")
	log, err := registry.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := registry.Start(); err != nil {
		t.Fatalf("make helm builds it: %v", err)
	}
	t.Cleanup(func() { _ = registry.Wait() })
	line, err := bufio.NewReader(log).ReadString('\n')
	_, port, ok := strings.Cut(strings.TrimSpace(line), "serving on port ")
	if err != nil || !ok {
		t.Fatalf("the registry printed %q: %v", line, err)
	}
	dir := t.TempDir()
	charts := "oci://localhost:" + port + "/charts"
	for _, args := range [][]string{
		{"package", helm.Chart(), "--version", "1.37.5", "--app-version", "v1.37.5", "--destination", dir},
		{"push", filepath.Join(dir, "vzones-1.37.5.tgz"), charts, "--plain-http"},
	} {
		if out, err := helm.Run(t.Context(), args...); err != nil {
			t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	return charts + "/vzones"
}

func daemonSet(t *testing.T, c *cluster.Cluster) *appsv1.DaemonSet {
	t.Helper()
	d, err := c.Client().AppsV1().DaemonSets("kube-system").Get(t.Context(), "vsphere-cloud-controller-manager", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// labeled returns an error for the first Node without the wanted label and provider ID.
func labeled(c *cluster.Cluster, vms []fleet.VM, key string, want func(m fleet.VM) string) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		for _, m := range vms {
			n, err := c.Client().CoreV1().Nodes().Get(ctx, m.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if !stack.Initialized(n) || n.Spec.ProviderID != m.ProviderID() || n.Labels[key] != want(m) {
				return fmt.Errorf("the Node %s has %s=%q and %q, want %q and %q; taints %v", m.Name, key, n.Labels[key], n.Spec.ProviderID, want(m), m.ProviderID(), n.Spec.Taints)
			}
		}
		return nil
	}
}

// TestFromChartToLabeledNode covers a new operator's installation: a values file, helm install from an
// OCI registry, and labeled Nodes. The daemon has exactly the arguments, variables, files and
// ServiceAccount of its Pod. A helm upgrade with another configuration changes no Pod, and the daemon
// applies it.
func TestFromChartToLabeledNode(t *testing.T) {
	c := start(t)
	f := fleettest.Start(t, theFleet)
	vms := f.VMs()
	var nodes []cluster.NodeSpec
	for _, m := range vms {
		nodes = append(nodes, cluster.NodeSpec{Name: m.Name, SystemUUID: m.UUID})
	}
	if err := c.CreateNodes(t.Context(), nodes); err != nil {
		t.Fatal(err)
	}
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "vcenters"}}
	if _, err := c.Client().CoreV1().Namespaces().Create(t.Context(), space, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	chart := push(t)
	port := freePort(t)
	inCluster(t, c, "install", "vzones", chart, "--plain-http", "--values", values(t, operatorValues(f, port, "")))
	before := daemonSet(t, c)
	k := runPod(t, c, "kube-system", &before.Spec.Template.Spec)
	eventually(t, k, "the zones", labeled(c, vms, corev1.LabelTopologyZone, func(m fleet.VM) string { return m.VCenter + "-a" }))
	container := before.Spec.Template.Spec.Containers[0]
	if !strings.HasSuffix(container.Image, ":v1.37.5") {
		t.Errorf("the chart's version is v1.37.5, the image %s", container.Image)
	}
	eventually(t, k, "readiness", func(ctx context.Context) error { return k.Probe(ctx, container.ReadinessProbe) })
	eventually(t, k, "liveness", func(ctx context.Context) error { return k.Probe(ctx, container.LivenessProbe) })

	more := "  topology: {levels: [{label: example.com/vcenter, inventory: vcenter}]}\n  nodes: {skipDeletion: true}"
	inCluster(t, c, "upgrade", "vzones", chart, "--plain-http", "--values", values(t, operatorValues(f, port, more)))
	after := daemonSet(t, c)
	if diff := cmp.Diff(before.Spec, after.Spec); diff != "" || after.Generation != before.Generation {
		t.Errorf("the upgrade has changed the DaemonSet from generation %d to %d (-before +after):\n%s", before.Generation, after.Generation, diff)
	}
	if err := k.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, k, "the further label", labeled(c, vms, "example.com/vcenter", func(m fleet.VM) string { return m.VCenter }))

	if err := k.Stop(); err != nil {
		t.Error(err)
	}
	if err := k.Err(); err != nil {
		t.Errorf("it has ended with %v", err)
	}
	for line := range strings.Lines(k.Log()) {
		if strings.Contains(strings.ToLower(line), "forbidden") {
			t.Errorf("the roles are too small: %s", line)
		}
	}
	inCluster(t, c, "uninstall", "vzones")
	if _, err := c.Client().RbacV1().ClusterRoles().Get(t.Context(), "system:cloud-controller-manager", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the ClusterRole is still there: %v", err)
	}
	cleanUp(t, c)
}

// TestUpgradeTakesCredentialsAway: credentials removed from the values are removed from the Secret.
func TestUpgradeTakesCredentialsAway(t *testing.T) {
	c := start(t)
	const two = `
config: {vcenter: {vcenter-2: {server: "fd00::2"}}}
credentials:
  vsphere-cloud-secret:
    vcenter-1.example.com: {username: u, password: "p: 'q'"}
    "fd00::2": {username: second, password: other}
`
	keys := func() map[string]string {
		secret, err := c.Client().CoreV1().Secrets("kube-system").Get(t.Context(), "vsphere-cloud-secret", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]string{}
		for k, v := range secret.Data {
			all[k] = string(v)
		}
		return all
	}
	one := map[string]string{"vcenter-1.example.com.username": "u", "vcenter-1.example.com.password": "p: 'q'"}
	both := map[string]string{"server_0": "fd00::2", "username_0": "second", "password_0": "other"}
	maps.Copy(both, one)
	inCluster(t, c, "install", "vzones", helm.Chart(), "--values", helm.Example("plain"), "--values", values(t, two))
	if got := keys(); !maps.Equal(got, both) {
		t.Errorf("the Secret has %q, want %q", got, both)
	}
	inCluster(t, c, "upgrade", "vzones", helm.Chart(), "--values", helm.Example("plain"), "--values", values(t, `
credentials: {vsphere-cloud-secret: {vcenter-1.example.com: {username: u, password: "p: 'q'"}}}`))
	if got := keys(); !maps.Equal(got, one) {
		t.Errorf("the Secret has %q, want %q", got, one)
	}
}
