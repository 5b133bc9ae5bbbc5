package stack

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestRolesOfTheIncumbent: with the roles of the CPI's manifest and with OpenShift's, the daemon does everything that it
// does with its own roles, except for reviewing tokens. A flag without effect changes nothing.
func TestRolesOfTheIncumbent(t *testing.T) {
	const openshift, withToken = "openshift-cloud-controller-manager", "/metrics with a token"
	for file, c := range map[string]struct {
		namespace string
		flags     []string
	}{
		"cpi.yaml":       {namespace: namespace},
		"openshift.yaml": {namespace: openshift, flags: []string{"--leader-elect-resource-namespace=" + openshift, "--controllers=*"}},
	} {
		t.Run(file, func(t *testing.T) {
			roles, err := os.ReadFile("testdata/rbac/" + file)
			if err != nil {
				t.Fatal(err)
			}
			w, log := newLeastWorld(t, roles, c.namespace)
			if err := w.writeSecret(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.flags = append([]string{"--use-service-account-credentials=true"}, c.flags...)
			failed := exercised(t, w, []string{withToken}, func() bool { return true })
			if !slices.Equal(failed, []string{withToken}) {
				t.Errorf("failed exercises: %q\n%s", failed, w.d.Log())
			}
			for _, q := range requests(t, log, 0) {
				if !q.allowed() && !strings.HasSuffix(q.ObjectRef.Resource, "reviews") {
					t.Errorf("denied request: %v", q)
				}
				if q.ObjectRef.Resource == "serviceaccounts" {
					t.Errorf("the daemon requests ServiceAccounts: %v", q)
				}
			}
		})
	}
}
