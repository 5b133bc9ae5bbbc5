package stack

import (
	"context"
	"testing"
	"time"

	authv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestRights: the manifest lets the daemon do what it needs and nothing more.
// That it is enough is shown by every other test of this package.
func TestRights(t *testing.T) {
	s := start(t, "vcenters: [{name: east, datacenters: [{name: dc}]}]")
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

// TestLeader: of two daemons one works; the other has no business with the
// vCenters, and takes over when the first is gone.
func TestLeader(t *testing.T) {
	s := start(t, pair)
	config, err := s.WriteConfig(labels)
	if err != nil {
		t.Fatal(err)
	}
	elect := []string{"--leader-elect=true", "--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=500ms"}
	first, err := s.StartDaemon(binary, config, elect...)
	if err != nil {
		t.Fatal(err)
	}
	west := s.Fleet.VCenter("west")
	if err := s.Register(t.Context(), west.Machines()...); err != nil {
		t.Fatal(err)
	}
	initialized(t, s, first, west.Machines())
	logins := west.Requests()["Login"]
	second, err := s.StartDaemon(binary, config, elect...)
	if err != nil {
		t.Fatal(err)
	}
	healthy(t, second)
	if n := west.Requests()["Login"]; n != logins || west.SOAPSessions() != 1 {
		t.Errorf("%d logins and %d sessions with a second daemon that does not lead", n, west.SOAPSessions())
	}
	if took, err := first.Stop(); err != nil || took > Slower(5*time.Second) {
		t.Errorf("the first ended after %v with %v", took, err)
	}
	m, err := s.Fleet.Machine("stays")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Register(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	initialized(t, s, second, append(west.Machines()[:0:0], m))
}

func healthy(t *testing.T, d *Daemon) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := d.Healthy(ctx)
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("never healthy: %v\n%s", err, d.Log())
		}
	}
}
