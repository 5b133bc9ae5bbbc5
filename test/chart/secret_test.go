package chart

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/test/cluster"
	"vzones/test/fleet"
	"vzones/test/fleet/fleettest"
)

// withoutConfig takes the configuration of the example plain away.
const withoutConfig = "config: null\ncredentials: {vsphere-cloud-secret: null}\n"

// TestConfigSecret: the flag takes the place of the file, with nothing mounted, and the Role
// has the Secret, in its namespace.
func TestConfigSecret(t *testing.T) {
	for key, flag := range map[string]string{
		"":      "--cloud-config-secret=vmware-system-csi/vsphere-config-secret",
		"other": "--cloud-config-secret=vmware-system-csi/vsphere-config-secret:other",
	} {
		rendered := render(t, "plain", withoutConfig+fmt.Sprintf("configSecret: {name: vsphere-config-secret, namespace: vmware-system-csi, key: %q}\n", key))
		spec := pod(t, rendered).Spec
		container := spec.Containers[0]
		if !slices.Contains(container.Args, flag) || slices.ContainsFunc(container.Args, func(a string) bool { return strings.HasPrefix(a, "--cloud-config=") }) {
			t.Errorf("the flags are %q", container.Args)
		}
		if len(spec.Volumes) > 0 || len(container.VolumeMounts) > 0 || configuration(t, rendered) != "" {
			t.Errorf("mounted are %v at %v", spec.Volumes, container.VolumeMounts)
		}
		roles := as[rbacv1.Role](t, rendered, "Role")
		i := slices.IndexFunc(roles, func(r rbacv1.Role) bool { return r.Namespace == "vmware-system-csi" })
		if i < 0 || len(roles[i].Rules) != 1 || !slices.Equal(roles[i].Rules[0].ResourceNames, []string{"vsphere-config-secret"}) {
			t.Errorf("the Roles are %+v", roles)
		}
	}
}

// TestFromTheCSIDriversSecret: a release whose configuration is the CSI driver's Secret labels
// the Nodes.
func TestFromTheCSIDriversSecret(t *testing.T) {
	c := start(t)
	f := fleettest.Start(t, theFleet)
	for _, m := range f.Machines() {
		if err := c.CreateNodes(t.Context(), []cluster.NodeSpec{{Name: m.Name, SystemUUID: m.UUID}}); err != nil {
			t.Fatal(err)
		}
	}
	ini := "[Labels]\nregion = k8s-region\nzone = k8s-zone\n"
	for _, v := range f.VCenters() {
		ini += fmt.Sprintf("[VirtualCenter %q]\nport = \"%d\"\nuser = %q\npassword = %q\ninsecure-flag = \"true\"\n", v.Host(), v.Port(), v.User(), v.Password())
	}
	const namespace = "vmware-system-csi"
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := c.Client().CoreV1().Namespaces().Create(t.Context(), space, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "vsphere-config-secret"}, StringData: map[string]string{"csi-vsphere.conf": ini}}
	if _, err := c.Client().CoreV1().Secrets(namespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	inCluster(t, c, "install", "vzones", helm.Chart(), "--values", values(t, fmt.Sprintf("port: %d\nconfigSecret: {name: %s, namespace: %s}\n", freePort(t), secret.Name, namespace)))
	k := runPod(t, c, "kube-system", &daemonSet(t, c).Spec.Template.Spec)
	eventually(t, k, "the zones", labeled(c, f.Machines(), corev1.LabelTopologyZone, func(m fleet.Machine) string { return m.VCenter + "-a" }))
	if err := k.Stop(); err != nil {
		t.Error(err)
	}
}
