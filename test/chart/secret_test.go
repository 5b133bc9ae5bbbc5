package chart

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

// withoutConfig removes the configuration of the example plain.
const withoutConfig = "config: null\ncredentials: {vsphere-cloud-secret: null}\n"

// TestConfigSecret: --cloud-config-secret replaces the file, nothing is mounted, and a Role in the
// Secret's namespace permits reading it.
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
