package alerts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/test/process"
	"vzones/test/scenarios"
	"vzones/test/stack"
)

// prometheus is a running one, which scrapes what its targets file names.
type prometheus struct {
	dir     string
	url     string
	process *process.Process
}

var _ scenarios.Monitor = (*prometheus)(nil)

// settings are a scrape configuration as docs/how-to/monitor.md has it, but for the
// discovery, the intervals and the trust in a certificate that the daemon makes itself.
const settings = `
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yaml]
scrape_configs:
- job_name: vzones
  scheme: https
  authorization: {credentials_file: token}
  tls_config: {insecure_skip_verify: true}
  file_sd_configs: [{files: [targets.json], refresh_interval: 1s}]
`

// startPrometheus starts one with these rules, for as long as the test goes on.
func startPrometheus(t *testing.T, on *stack.Stack, rules []byte) *prometheus {
	t.Helper()
	p := &prometheus{dir: t.TempDir()}
	for name, text := range map[string]string{
		"prometheus.yaml": settings, "rules.yaml": string(rules), "targets.json": "[]", "token": scraperToken(t, on),
	} {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	p.url = "http://" + address
	p.process, err = process.Start(p.dir, os.Environ(), "prometheus", tool("prometheus"),
		"--config.file="+filepath.Join(p.dir, "prometheus.yaml"), "--storage.tsdb.path="+filepath.Join(p.dir, "data"),
		"--web.listen-address="+address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.process.Stop(30 * time.Second); err != nil {
			t.Error(err)
		}
	})
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if _, err = p.get(t.Context(), "/-/ready", nil); err == nil {
			return p
		}
		if time.Now().After(end) {
			log, _ := os.ReadFile(p.process.Log())
			t.Fatalf("Prometheus is not ready: %v\n%.3000s", err, log)
		}
	}
}

// scraperToken makes a ServiceAccount that may get /metrics and nothing else, and returns
// a token of it.
func scraperToken(t *testing.T, on *stack.Stack) string {
	t.Helper()
	ctx, there := t.Context(), metav1.ObjectMeta{Name: "scraper", Namespace: v1.NamespaceDefault}
	_, account := on.Client.CoreV1().ServiceAccounts(there.Namespace).Create(ctx, &v1.ServiceAccount{ObjectMeta: there}, metav1.CreateOptions{})
	_, role := on.Client.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: there.Name},
		Rules:      []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}},
	}, metav1.CreateOptions{})
	_, binding := on.Client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: there.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: there.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: there.Namespace, Name: there.Name}},
	}, metav1.CreateOptions{})
	for _, err := range []error{account, role, binding} {
		if err != nil && !apierrors.IsAlreadyExists(err) { // of a scenario before
			t.Fatal(err)
		}
	}
	answer, err := on.Client.CoreV1().ServiceAccounts(there.Namespace).CreateToken(ctx, there.Name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Token
}

// Watch implements scenarios.Monitor.
func (p *prometheus) Watch(ports []int) error {
	type group struct {
		Targets []string          `json:"targets"`
		Labels  map[string]string `json:"labels"`
	}
	g := group{Targets: []string{}, Labels: map[string]string{"namespace": "kube-system"}}
	for _, port := range ports {
		g.Targets = append(g.Targets, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	text, err := json.Marshal([]group{g})
	if err != nil {
		return err
	}
	path := filepath.Join(p.dir, "targets.json")
	if is, err := os.ReadFile(path); err != nil || string(is) == string(text) {
		return err
	}
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Alerts implements scenarios.Monitor.
func (p *prometheus) Alerts(ctx context.Context) ([]scenarios.Alert, error) {
	var answer struct {
		Alerts []scenarios.Alert `json:"alerts"`
	}
	return answer.Alerts, p.ask(ctx, "/api/v1/alerts", nil, &answer)
}

// series returns how many series an expression gives at a time.
func (p *prometheus) series(ctx context.Context, expr string, at url.Values) (int, error) {
	var answer struct {
		Result []json.RawMessage `json:"result"`
	}
	err := p.ask(ctx, "/api/v1/query", url.Values{"query": {expr}, "time": at["time"]}, &answer)
	return len(answer.Result), err
}

// ask reads the data of an answer of the HTTP API.
func (p *prometheus) ask(ctx context.Context, path string, query url.Values, data any) error {
	text, err := p.get(ctx, path, query)
	if err != nil {
		return err
	}
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := json.Unmarshal(text, &answer); err != nil {
		return err
	}
	if answer.Status != "success" {
		return errors.New(answer.Error)
	}
	return nil
}

func (p *prometheus) get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path+"?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %d: %.500s", path, res.StatusCode, text)
	}
	return text, err
}
