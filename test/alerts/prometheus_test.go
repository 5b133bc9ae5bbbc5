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
	port, err := process.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
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

// scraper may get /metrics and nothing else.
const scraper = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: scraper, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: scraper}
rules: [{nonResourceURLs: [/metrics], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: scraper}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: scraper}
subjects: [{kind: ServiceAccount, name: scraper, namespace: default}]
`

// scraperToken returns a token of the scraper.
func scraperToken(t *testing.T, on *stack.Stack) string {
	t.Helper()
	if err := on.Cluster.Apply(t.Context(), []byte(scraper), nil); err != nil {
		t.Fatal(err)
	}
	answer, err := on.Client.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "scraper", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
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
func (p *prometheus) series(ctx context.Context, expr string, at time.Time) (int, error) {
	var answer struct {
		Result []json.RawMessage `json:"result"`
	}
	seconds := strconv.FormatFloat(float64(at.UnixMilli())/1000, 'f', 3, 64)
	err := p.ask(ctx, "/api/v1/query", url.Values{"query": {expr}, "time": {seconds}}, &answer)
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
