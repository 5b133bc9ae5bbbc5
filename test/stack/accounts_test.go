package stack

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"vzones/test/fleet"
)

// rolesOf takes the manifest's roles and bindings away and applies those of others, from
// testdata/rbac.
func rolesOf(t *testing.T, s *Stack, file string) {
	t.Helper()
	rbac, ctx := s.Client.RbacV1(), t.Context()
	all, now := metav1.ListOptions{}, metav1.DeleteOptions{}
	type object struct{ namespace, name string }
	gone := map[object]func(object) error{}
	crs, err := rbac.ClusterRoles().List(ctx, all)
	if err != nil {
		t.Fatal(err)
	}
	for i := range crs.Items {
		gone[object{"ClusterRole", crs.Items[i].Name}] = func(o object) error { return rbac.ClusterRoles().Delete(ctx, o.name, now) }
	}
	crbs, err := rbac.ClusterRoleBindings().List(ctx, all)
	if err != nil {
		t.Fatal(err)
	}
	for i := range crbs.Items {
		gone[object{"ClusterRoleBinding", crbs.Items[i].Name}] = func(o object) error { return rbac.ClusterRoleBindings().Delete(ctx, o.name, now) }
	}
	bindings, err := rbac.RoleBindings("").List(ctx, all)
	if err != nil {
		t.Fatal(err)
	}
	for i := range bindings.Items {
		b := &bindings.Items[i]
		gone[object{b.Namespace, b.Name}] = func(o object) error { return rbac.RoleBindings(o.namespace).Delete(ctx, o.name, now) }
	}
	count := 0
	for o, remove := range gone {
		if strings.HasPrefix(o.name, "system:cloud-controller-manager") {
			count++
			if err := remove(o); err != nil {
				t.Fatal(err)
			}
		}
	}
	if count != 6 {
		t.Fatalf("%d roles and bindings of the manifest are found", count)
	}
	manifest, err := os.ReadFile(filepath.Join("testdata/rbac", file))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Cluster.Apply(ctx, manifest, nil); err != nil {
		t.Fatal(err)
	}
}

// TestRolesOfTheIncumbent: with the roles of the CPI's manifest and with OpenShift's the
// daemon does all that it does with its own, also with the flag that has no effect.
func TestRolesOfTheIncumbent(t *testing.T) {
	const openshift = "openshift-cloud-controller-manager"
	for name, c := range map[string]struct {
		roles, namespace string
		flags            []string
	}{
		"CPI": {roles: "cpi.yaml", namespace: namespace, flags: []string{"--use-service-account-credentials=true"}},
		"OpenShift": {
			roles: "openshift.yaml", namespace: openshift,
			flags: []string{"--use-service-account-credentials=true", "--leader-elect-resource-namespace=" + openshift, "--controllers=*"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := startOwn(t, Options{Fleet: pair})
			if c.roles != "" {
				rolesOf(t, s, c.roles)
			}
			config, err := s.WriteConfig(labels)
			if err != nil {
				t.Fatal(err)
			}
			secretIn(t, s, config, c.namespace)
			kubeconfig, err := s.Cluster.ServiceAccountKubeconfig(t.Context(), c.namespace, serviceAccount)
			if err != nil {
				t.Fatal(err)
			}
			d, err := s.StartDaemon(binary, config, append([]string{
				"--leader-elect=true", "--node-monitor-period=1s", "--kubeconfig=" + kubeconfig,
				"--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
			}, c.flags...)...)
			if err != nil {
				t.Fatal(err)
			}
			wholeLife(t, s, d)
			if err := d.Healthy(t.Context()); err != nil {
				t.Error(err)
			}
			accountsAre(t, s, []string{serviceAccount})
			if _, err := d.Stop(); err != nil {
				t.Error(err)
			}
			for line := range strings.Lines(d.Log()) {
				if strings.Contains(line, "orbidden") {
					t.Errorf("refused: %.500s", line)
				}
			}
			if t.Failed() {
				t.Log(d.Log())
			}
		})
	}
}

// accountsAre says which ServiceAccounts kube-system has.
func accountsAre(t *testing.T, s *Stack, want []string) {
	t.Helper()
	list, err := s.Client.CoreV1().ServiceAccounts(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range list.Items {
		if name := list.Items[i].Name; name != "default" { // which the API server makes when it gets to it
			got = append(got, name)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("kube-system has the accounts %q, want %q", got, want)
	}
}

// secretIn moves the Secret and what the configuration says of it into a namespace.
func secretIn(t *testing.T, s *Stack, config, space string) {
	t.Helper()
	if space == namespace {
		return
	}
	data, err := s.Secret(t.Context(), TheSecret())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteSecret(t.Context(), TheSecret()); err != nil {
		t.Fatal(err)
	}
	moved := types.NamespacedName{Namespace: space, Name: secretName}
	if _, err := s.Client.CoreV1().Secrets(space).Create(t.Context(), &v1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: moved.Namespace, Name: moved.Name}, Data: data,
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte("secretNamespace: "+namespace), []byte("secretNamespace: "+space))
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// wholeLife takes Nodes through all that the daemon writes: initialized, a label given
// back, marked as shut down, deleted, and Events about a Node and about the Lease.
func wholeLife(t *testing.T, s *Stack, d *Daemon) {
	t.Helper()
	ctx, east := t.Context(), s.Fleet.VCenter("east")
	var machines []fleet.Machine
	for _, name := range []string{"off", "gone", "stays", "other"} {
		m, err := s.Fleet.Machine(name)
		if err != nil {
			t.Fatal(err)
		}
		machines = append(machines, m)
	}
	if err := s.Register(ctx, machines...); err != nil {
		t.Fatal(err)
	}
	initialized(t, s, d, machines)
	if err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		n, err := s.Client.CoreV1().Nodes().Get(ctx, "stays", metav1.GetOptions{})
		if err != nil {
			return err
		}
		delete(n.Labels, v1.LabelTopologyZone)
		delete(n.Labels, v1.LabelFailureDomainBetaZone)
		_, err = s.Client.CoreV1().Nodes().Update(ctx, n, metav1.UpdateOptions{})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	s.node(t, d, "stays", "has its zone again", func(n *v1.Node) bool { return n != nil && n.Labels[v1.LabelTopologyZone] == "a" })
	awaitEvent(t, s, v1.NamespaceDefault, "Node", "TopologyBackfilled")
	if err := east.Destroy("gone"); err != nil {
		t.Fatal(err)
	}
	if err := east.PowerOff("off"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"off", "gone"} {
		if err := s.Cluster.SetNodeReady(ctx, name, v1.ConditionUnknown); err != nil {
			t.Fatal(err)
		}
	}
	s.node(t, d, "off", "is marked as shut down", func(n *v1.Node) bool {
		return n != nil && slices.ContainsFunc(n.Spec.Taints, func(taint v1.Taint) bool { return taint.Key == shutdownTaint })
	})
	s.node(t, d, "gone", "is deleted", func(n *v1.Node) bool { return n == nil })
}
