package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
	clientmetrics "k8s.io/client-go/tools/metrics"
	"k8s.io/client-go/util/workqueue"
	basemetrics "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"vzones/cmd/vsphere-cloud-controller-manager/app/metrics"
	"vzones/config"
	"vzones/provider"
	"vzones/provider/nodeinfo"
	"vzones/provider/nodes"
	"vzones/vcenter"
	"vzones/vcenter/inventory"
)

var (
	repository = filepath.Join("..", "..", "..")
	chartFiles = filepath.Join(repository, "manifests", "chart", "files")
)

// targetLabels are the labels that Prometheus adds to every scraped metric.
var targetLabels = []string{"cluster", "namespace", "job", "instance"}

// A query is PromQL in an alerting rule or in the dashboard.
type query struct {
	place, expr string
	// shown is the text that contains the labels of the result.
	shown string
}

func alertQueries(t *testing.T) []query {
	t.Helper()
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Annotations map[string]string
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(chartFiles, "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatalf("alerts.yaml: %v", err)
	}
	var all []query
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			all = append(all, query{"alert " + rule.Alert, rule.Expr, fmt.Sprint(rule.Annotations)})
		}
	}
	if len(all) == 0 {
		t.Fatal("alerts.yaml has no alerts")
	}
	return all
}

func dashboardQueries(t *testing.T) []query {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
		Templating struct {
			List []struct{ Name, Type, Query string }
		}
	}
	text, err := os.ReadFile(filepath.Join(chartFiles, "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatalf("dashboard.json: %v", err)
	}
	var all []query
	for _, panel := range dashboard.Panels {
		for i, target := range panel.Targets {
			place := fmt.Sprintf("panel %s, query %d", panel.Title, i+1)
			all = append(all, query{place, target.Expr, target.LegendFormat})
		}
	}
	for _, variable := range dashboard.Templating.List {
		if variable.Type != "query" {
			continue
		}
		// label_values is Grafana's own function.
		expr := labelValues.ReplaceAllString(variable.Query, "count by ($2) ($1)")
		all = append(all, query{"variable " + variable.Name, expr, ""})
	}
	if len(all) == 0 {
		t.Fatal("dashboard.json has no queries")
	}
	return all
}

var (
	labelValues = regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)
	literal     = regexp.MustCompile(`"[^"]*"`)
	grouping    = regexp.MustCompile(`\b(?:by|on)\s*\(([^)]*)\)`)
	// selector matches a metric, its matchers, if any, and the parenthesis of a function.
	selector   = regexp.MustCompile(`\b([a-zA-Z_]\w*)(?:\{([^}]*)\})?(\s*\()?`)
	matcher    = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)`)
	shownLabel = regexp.MustCompile(`\{\{\s*(?:\$labels\.)?(\w+)`)
)

// operators are words in an expression that are neither a metric nor a function.
var operators = []string{"and", "or", "unless", "bool"}

type servedMetric struct {
	name        string
	isHistogram bool
	// series are the labels of each series. There is at least one.
	series []map[string]string
}

// gatherAll returns all metrics of the daemon.
func gatherAll(t *testing.T) []servedMetric {
	t.Helper()
	workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: "test"}).ShutDown()
	clientmetrics.RequestResult.Increment(t.Context(), "200", "GET", "host")

	r := basemetrics.NewKubeRegistry()
	o := metrics.NewObserver(r)
	o.Requested("east", "Login", time.Second, nil)
	o.Requested("east", "Login", time.Second, errors.New("connection refused"))
	o.LoggedIn("east", nil)
	o.WatchStarted("east")
	metrics.NewReloads(r)
	isLeading := make(chan struct{})
	close(isLeading)
	health := []vcenter.Health{{
		State: inventory.State{VCenter: "east", Snapshot: &inventory.Snapshot{}, LastContact: time.Now()},
		Tags:  vcenter.TagsRead, CertificateEnds: time.Now(),
	}}
	p := provider.New(nil, &config.Config{}, provider.Options{})
	stats := nodes.New(nil, p.Store(), p.Checker(), nil).Stats()
	stats.LabelsAreKept = true
	stats.Partitioned = map[nodeinfo.Zone]bool{{Region: "r", Zone: "a"}: true}
	r.CustomMustRegister(metrics.NewStates(isLeading, func() []vcenter.Health { return health }, func() nodes.Stats { return stats }))

	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	ofKubernetes, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var all []servedMetric
	for _, family := range append(families, ofKubernetes...) {
		served := servedMetric{name: family.GetName(), isHistogram: family.GetType().String() == "HISTOGRAM"}
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, pair := range m.GetLabel() {
				labels[pair.GetName()] = pair.GetValue()
			}
			served.series = append(served.series, labels)
		}
		all = append(all, served)
	}
	return all
}

// TestQueriesNameMetrics: the metrics and labels in the alerting rules and the dashboard exist.
func TestQueriesNameMetrics(t *testing.T) {
	labels := map[string][]string{}
	for _, served := range gatherAll(t) {
		names := slices.AppendSeq(slices.Clone(targetLabels), maps.Keys(served.series[0]))
		labels[served.name] = names
		if served.isHistogram {
			labels[served.name+"_bucket"] = append(names, "le")
		}
	}
	for _, q := range append(alertQueries(t), dashboardQueries(t)...) {
		expr := literal.ReplaceAllString(q.expr, `""`)
		var possible []string
		for _, m := range selector.FindAllStringSubmatch(grouping.ReplaceAllString(expr, ""), -1) {
			name, matchers, isFunction := m[1], m[2], m[3] != ""
			if isFunction || slices.Contains(operators, name) {
				continue
			}
			known, ok := labels[name]
			if !ok {
				t.Errorf("%s: the daemon has no metric %s", q.place, name)
				continue
			}
			for _, label := range matcher.FindAllStringSubmatch(matchers, -1) {
				if !slices.Contains(known, label[1]) {
					t.Errorf("%s: %s has the labels %q, not %s", q.place, name, known, label[1])
				}
			}
			possible = append(possible, known...)
		}
		if len(possible) == 0 {
			t.Errorf("%s: no metric found in %s", q.place, q.expr)
		}
		for _, m := range grouping.FindAllStringSubmatch(expr, -1) {
			for label := range strings.SplitSeq(m[1], ", ") {
				if !slices.Contains(possible, label) {
					t.Errorf("%s: groups by %q, and its metrics have the labels %q", q.place, label, possible)
				}
			}
		}
		for _, m := range shownLabel.FindAllStringSubmatch(q.shown, -1) {
			if !slices.Contains(possible, m[1]) {
				t.Errorf("%s: shows %q, and its metrics have the labels %q", q.place, m[1], possible)
			}
		}
	}
}

// ruleTest is a file for promtool test rules.
type ruleTest struct {
	RuleFiles []string    `yaml:"rule_files"`
	Tests     []testGroup `yaml:"tests"`
}

type testGroup struct {
	Series []inputSeries `yaml:"input_series"`
	Exprs  []exprTest    `yaml:"promql_expr_test"`
}

type inputSeries struct{ Series, Values string }

type exprTest struct {
	Expr     string
	EvalTime string   `yaml:"eval_time"`
	Samples  []sample `yaml:"exp_samples"`
}

type sample struct {
	Labels string
	Value  float64
}

// TestDashboardShows: each query of the dashboard has a result with the metrics of a daemon.
func TestDashboardShows(t *testing.T) {
	promtool := filepath.Join(repository, "bin", "tools", "promtool")
	if _, err := os.Stat(promtool); err != nil {
		t.Skipf("make alerts builds promtool: %v", err)
	}
	var group testGroup
	for _, served := range gatherAll(t) {
		for _, labels := range served.series {
			selected := `{cluster="c", namespace="kube-system", job="vzones", instance="a"`
			for name, value := range labels {
				selected += fmt.Sprintf(", %s=%q", name, value)
			}
			if !served.isHistogram {
				group.Series = append(group.Series, inputSeries{served.name + selected + "}", "1+1x60"})
				continue
			}
			for _, le := range []string{"1", "+Inf"} {
				bucket := fmt.Sprintf("%s_bucket%s, le=%q}", served.name, selected, le)
				group.Series = append(group.Series, inputSeries{bucket, "1+1x60"})
			}
		}
	}
	variables := strings.NewReplacer("$cluster", ".*", "$job", ".*", "$vcenter", ".*")
	for _, q := range dashboardQueries(t) {
		expr := fmt.Sprintf("count(%s) > bool 0", variables.Replace(q.expr))
		group.Exprs = append(group.Exprs, exprTest{expr, "1h", []sample{{"{}", 1}}})
	}
	text, err := yaml.Marshal(ruleTest{Tests: []testGroup{group}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "dashboard_test.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("promtool test rules: %v\n%s", err, out)
	}
}
