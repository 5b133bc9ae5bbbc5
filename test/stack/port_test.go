package stack

import (
	"context"
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	labels = "labels: {region: region, zone: zone}\n"
	pair   = `
vcenters:
- {name: east, datacenters: [{name: dc}]}
- {name: west, datacenters: [{name: dc}]}
`
)

// visitor creates a ServiceAccount that may get the given non-resource paths, and returns its token.
func visitor(t *testing.T, s *Stack, name string, paths ...string) string {
	t.Helper()
	ctx := t.Context()
	there := metav1.ObjectMeta{Name: name}
	if _, err := s.Client.CoreV1().ServiceAccounts(v1.NamespaceDefault).Create(ctx, &v1.ServiceAccount{ObjectMeta: there}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if len(paths) > 0 {
		role := &rbacv1.ClusterRole{ObjectMeta: there, Rules: []rbacv1.PolicyRule{{NonResourceURLs: paths, Verbs: []string{"get"}}}}
		if _, err := s.Client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		bind(t, s, name, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: v1.NamespaceDefault, Name: name})
	}
	answer, err := s.Client.CoreV1().ServiceAccounts(v1.NamespaceDefault).CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Token
}

func bind(t *testing.T, s *Stack, role string, to rbacv1.Subject) {
	t.Helper()
	if _, err := s.Client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "test-" + role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{to},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestTokensOfOthers: no log contains a token that was sent to the daemon's port, with any result, or a token that the
// daemon requests for itself.
func TestTokensOfOthers(t *testing.T) {
	s := start(t, Options{Fleet: pair})
	config, err := s.WriteConfig(labels)
	if err != nil {
		t.Fatal(err)
	}
	scraper := visitor(t, s, "scraper", "/metrics")
	stranger := visitor(t, s, "stranger")
	const guess = "S3cret-guess/of+a~token=="
	bind(t, s, "cluster-admin", rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: "system:serviceaccounts:" + namespace})
	for name, flags := range map[string][]string{
		"text":         {"--v=10"},
		"JSON":         {"--v=10", "--logging-format=json"},
		"modules":      {"--vmodule=*=10"},
		"uncontextual": {"--v=10", "--feature-gates=ContextualLogging=false"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := s.StartDaemon(binary, config, flags...)
			if err != nil {
				t.Fatal(err)
			}
			healthy(t, d)
			want := map[string]int{scraper: http.StatusOK, stranger: http.StatusForbidden, guess: http.StatusUnauthorized, "": http.StatusUnauthorized}
			for token, code := range want {
				if got, body, err := d.Get(t.Context(), "/metrics", token); err != nil || got != code {
					t.Errorf("/metrics with token %.8s…: got %d, %v, want %d: %.200s", token, got, err, code, body)
				}
			}
			if !strings.Contains(d.Log(), "limited to 7") {
				t.Error("the log does not report that the verbosity is limited")
			}
			if _, err := d.Stop(); err != nil {
				t.Error(err)
			}
			header, _, _ := strings.Cut(scraper, ".")
			var secrets Search
			for what, secret := range map[string]string{
				"the scraper's token": scraper, "the stranger's token": stranger, "a guess": guess,
				"some token of the cluster": header,
			} {
				secrets.Add(what, secret)
			}
			for _, found := range secrets.In(d.Log()) {
				t.Errorf("the log contains %s", found)
			}
		})
	}
}

// TestReadyz: anyone may ask whether the daemon is ready; the list of vCenters requires permission.
func TestReadyz(t *testing.T) {
	s := start(t, Options{Fleet: pair})
	config, err := s.WriteConfig(labels)
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.StartDaemon(binary, config)
	if err != nil {
		t.Fatal(err)
	}
	healthy(t, d)
	for name, may := range map[string][]string{
		"nobody": {}, "public": {"/readyz"}, "scraper": {"/metrics"}, "reader": {"/readyz/verbose"}, "monitoring": {"/readyz/*"},
	} {
		token := visitor(t, s, name, may...)
		want := http.StatusForbidden
		if name == "reader" || name == "monitoring" {
			want = http.StatusOK
		}
		ready(t, d, token)
		if code, body, err := d.Get(t.Context(), "/readyz?verbose", token); err != nil || code != want || strings.Contains(body, "vcenter east: synced") != (want == http.StatusOK) {
			t.Errorf("%s: /readyz?verbose: %d %q %v", name, code, body, err)
		}
	}
	ready(t, d, "")
	if code, body, err := d.Get(t.Context(), "/readyz?verbose", ""); err != nil || code != http.StatusUnauthorized || strings.Contains(body, "east") {
		t.Errorf("without a token: /readyz?verbose: %d %q %v", code, body, err)
	}
	if code, body, err := d.Get(t.Context(), "/readyz?verbose", "a guess"); err != nil || code != http.StatusUnauthorized {
		t.Errorf("with an invalid token: /readyz?verbose: %d %q %v", code, body, err)
	}
	if says, err := s.Ready(t.Context(), d); err != nil || !strings.Contains(says, "vcenter east: synced") {
		t.Errorf("with a certificate: /readyz?verbose: %q, %v, want vCenter east synced", says, err)
	}
}

// ready waits until a daemon is ready and checks that /readyz contains no details.
func ready(t *testing.T, d *Daemon, token string) {
	t.Helper()
	await(t, "a ready daemon", func(ctx context.Context) (bool, error) {
		code, body, err := d.Get(ctx, "/readyz", token)
		if strings.Contains(body, "vcenter") {
			t.Errorf("/readyz: %d %q", code, body)
		}
		return code == http.StatusOK && body == "ok\n", err
	})
}

func healthy(t *testing.T, d *Daemon) {
	t.Helper()
	await(t, "a healthy daemon", func(ctx context.Context) (bool, error) {
		err := d.Healthy(ctx)
		return err == nil, err
	})
}
