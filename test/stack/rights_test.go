package stack

import (
	"testing"

	authv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestPermissions: the manifest grants no more permissions than needed. All other tests show that they suffice.
func TestPermissions(t *testing.T) {
	s := start(t, Options{Fleet: "vcenters: [{name: east, datacenters: [{name: dc}]}]"})
	type access struct{ group, resource, sub, verb, namespace, name string }
	for a, want := range map[access]bool{
		{"", "nodes", "", "update", "", "n"}:                                                                 true,
		{"", "nodes", "", "delete", "", "n"}:                                                                 true,
		{"", "nodes", "status", "patch", "", "n"}:                                                            true,
		{"", "secrets", "", "list", "kube-system", "vsphere-cloud-secret"}:                                   true,
		{"", "secrets", "", "watch", "kube-system", "vsphere-cloud-secret"}:                                  true,
		{"", "events", "", "create", "default", ""}:                                                          true,
		{"", "events", "", "patch", "default", "e"}:                                                          true,
		{"", "events", "", "create", "kube-system", ""}:                                                      true,
		{"", "events", "", "patch", "kube-system", "e"}:                                                      true,
		{"", "events", "", "create", "kube-public", ""}:                                                      false,
		{"", "events", "", "patch", "kube-public", "e"}:                                                      false,
		{"", "events", "", "create", "", ""}:                                                                 false,
		{"", "events", "", "get", "default", "e"}:                                                            false,
		{"", "secrets", "", "get", "kube-system", "vsphere-cloud-secret"}:                                    false,
		{"coordination.k8s.io", "leases", "", "update", "kube-system", "cloud-controller-manager"}:           true,
		{"", "secrets", "", "get", "kube-system", "other"}:                                                   false,
		{"", "secrets", "", "get", "default", "vsphere-cloud-secret"}:                                        false,
		{"", "secrets", "", "list", "kube-system", ""}:                                                       false,
		{"", "secrets", "", "watch", "kube-system", ""}:                                                      false,
		{"", "nodes", "", "create", "", ""}:                                                                  false,
		{"", "nodes", "", "deletecollection", "", ""}:                                                        false,
		{"", "nodes", "proxy", "get", "", "n"}:                                                               false,
		{"", "nodes", "status", "update", "", "n"}:                                                           false,
		{"", "events", "", "delete", "default", ""}:                                                          false,
		{"", "pods", "", "list", "", ""}:                                                                     false,
		{"", "services", "", "patch", "default", "s"}:                                                        false,
		{"", "configmaps", "", "get", "kube-system", "other"}:                                                false,
		{"", "serviceaccounts", "token", "create", "kube-system", ""}:                                        false,
		{"", "persistentvolumes", "", "list", "", ""}:                                                        false,
		{"coordination.k8s.io", "leases", "", "update", "kube-system", "kube-scheduler"}:                     false,
		{"coordination.k8s.io", "leases", "", "delete", "kube-system", "cloud-controller-manager"}:           false,
		{"rbac.authorization.k8s.io", "clusterroles", "", "escalate", "", "system:cloud-controller-manager"}: false,
		{"rbac.authorization.k8s.io", "clusterrolebindings", "", "create", "", ""}:                           false,
		{"apps", "daemonsets", "", "update", "kube-system", "vsphere-cloud-controller-manager"}:              false,
		{"storage.k8s.io", "csinodes", "", "get", "", "n"}:                                                   false,
		{"authentication.k8s.io", "tokenreviews", "", "create", "", ""}:                                      true,
		{"", "configmaps", "", "get", "kube-system", "extension-apiserver-authentication"}:                   true,
		{"admissionregistration.k8s.io", "validatingwebhookconfigurations", "", "list", "", ""}:              false,
	} {
		review := &authv1.SubjectAccessReview{Spec: authv1.SubjectAccessReviewSpec{
			User:   "system:serviceaccount:" + namespace + ":" + serviceAccount,
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
			ResourceAttributes: &authv1.ResourceAttributes{
				Group: a.group, Resource: a.resource, Subresource: a.sub, Verb: a.verb, Namespace: a.namespace, Name: a.name,
			},
		}}
		got, err := s.Client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got.Status.Allowed != want {
			t.Errorf("%+v: allowed is %v, want %v", a, got.Status.Allowed, want)
		}
	}
}
