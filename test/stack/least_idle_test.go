package stack

import (
	"crypto/tls"
	"os"
	"slices"
	"strings"
	"testing"

	"vzones/manifests"
)

// TestRolesAreEnough: with the manifest's permissions the daemon does everything, and the API server denies nothing.
func TestRolesAreEnough(t *testing.T) {
	w, log := newLeastWorld(t, manifests.Plain, namespace)
	if failed, denied := w.without(t, log, nil, leastRow{}); len(failed) > 0 || len(denied) > 0 {
		t.Errorf("with all permissions, failed exercises: %q, denied requests: %q\n%s", failed, denied, w.d.Log())
	}
	// A deletion must name the UID, in case the Node was registered again.
	if !slices.ContainsFunc(w.requests, isNodeDeletion) {
		t.Error("no Node was deleted")
	}
	for _, q := range w.requests {
		if p := q.RequestObject.Preconditions; isNodeDeletion(q) && (p == nil || p.UID == nil) {
			t.Errorf("Node %s is deleted without a UID precondition", q.ObjectRef.Name)
		}
	}
}

func isNodeDeletion(q request) bool { return q.Verb == "delete" && q.ObjectRef.Resource == "nodes" }

// newLeastWorld starts a stack with the roles of a manifest, for the ServiceAccount in a namespace.
func newLeastWorld(t *testing.T, roles []byte, space string) (w *leastWorld, log string) {
	t.Helper()
	options, log := audited(t, space)
	s := start(t, Options{Fleet: leastFleet, Cluster: options, Bare: true})
	if err := s.Cluster.Apply(t.Context(), roles, func(kind string) bool { return kind != "Secret" }); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.Kubeconfig, err = s.Cluster.ServiceAccountKubeconfig(t.Context(), space, serviceAccount); err != nil {
		t.Fatal(err)
	}
	admin := s.Cluster.AdminConfig()
	certificate, err := tls.X509KeyPair(admin.CertData, admin.KeyData)
	if err != nil {
		t.Fatal(err)
	}
	return &leastWorld{s: s, token: visitor(t, s, "scraper", "/metrics"), admin: certificate, namespace: space}, log
}

// TestNoPermissionIsUnused removes each verb on each resource that the manifest grants, and each binding of a foreign role, one
// at a time. The API server must deny exactly that, and exactly the exercises in leastRows must fail.
func TestNoPermissionIsUnused(t *testing.T) {
	w, log := newLeastWorld(t, manifests.Plain, namespace)
	for _, r := range grantedPermissions(t) {
		t.Run(r.String(), func(t *testing.T) {
			row, ok := leastRows[r.String()]
			if !ok {
				t.Fatal("leastRows does not document this permission")
			}
			failed, denied := w.without(t, log, &r, row)
			for _, name := range row.fails {
				if !slices.Contains(failed, name) {
					t.Errorf("%s works without the permission", name)
				}
			}
			for _, name := range failed {
				if !slices.Contains(row.fails, name) && !slices.Contains(row.may, name) {
					t.Errorf("%s also fails without the permission", name)
				}
			}
			deniedOnly(t, r, denied)
			if n := w.count(row.repeated); row.repeated != "" && n < 3 {
				t.Errorf("%d requests %s, want at least 3", n, row.repeated)
			}
		})
	}
}

// deniedOnly checks that the denied requests are exactly those that need a permission.
func deniedOnly(t *testing.T, r grantedPermission, denied []request) {
	t.Helper()
	asked := false
	for _, q := range denied {
		resource := strings.TrimSuffix(q.ObjectRef.Resource+"/"+q.ObjectRef.Subresource, "/")
		switch {
		case strings.HasSuffix(r.kind, "Binding"):
			asked = asked || resource == "configmaps" || strings.HasSuffix(resource, "reviews")
		case resource == r.resource && q.Verb == r.verb && q.ObjectRef.Namespace == r.namespace && q.ObjectRef.APIGroup == r.group:
			asked = true
		default:
			t.Errorf("the API server also denies %v", q)
		}
	}
	if !asked {
		t.Errorf("no request needed this permission; denied requests: %q", denied)
	}
}

// without runs all exercises without one permission and returns the failed exercises and the denied requests.
func (w *leastWorld) without(t *testing.T, log string, r *grantedPermission, row leastRow) (failed []string, denied []request) {
	t.Helper()
	if err := w.s.Reset(t.Context(), leastFleet); err != nil {
		t.Fatal(err)
	}
	if row.env != "" {
		w.s.Env = []string{row.env}
	}
	restorePermissions(t, w.s)
	if r != nil {
		removePermission(t, w.s, *r)
	}
	offset := 0
	if info, err := os.Stat(log); err == nil {
		offset = int(info.Size())
	}
	rejected := func() (denied []request) {
		w.requests = requests(t, log, offset)
		for _, q := range w.requests {
			if !q.allowed() {
				denied = append(denied, q)
			}
		}
		return denied
	}
	failed = exercised(t, w, slices.Concat(row.fails, row.may), func() bool {
		return r == nil || len(rejected()) > 0 && w.count(row.repeated) >= 3
	})
	return failed, rejected()
}

// count returns the number of times that a request was sent.
func (w *leastWorld) count(what string) int {
	if what == "" {
		return 3
	}
	n := 0
	for _, q := range w.requests {
		if q.String() == what {
			n++
		}
	}
	return n
}
