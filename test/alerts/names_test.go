package alerts

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"vzones/config"
	"vzones/provider"
	"vzones/provider/nodes"
	"vzones/provider/report"
	"vzones/topology"
)

var (
	ours     = regexp.MustCompile(`\bvsphere_ccm_\w+`)
	selector = regexp.MustCompile(`\b([a-z_]\w*)\{([^}]*)\}`)
	matcher  = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"`)
	grouping = regexp.MustCompile(`\b(?:by|on) \(([^)]*)\)`)
	selected = regexp.MustCompile(`\breason=(\w+)`)
)

// targetLabels are those that Prometheus adds to whatever it scrapes.
var targetLabels = []string{"cluster", "namespace", "job", "instance"}

// frameworkLabels are of the metrics of Kubernetes' and Prometheus' libraries.
var frameworkLabels = []string{"code", "name", "git_version", "le"}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// documented returns the labels of each metric by its name, as the reference has them,
// which a test of the daemon compares with the code.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for line := range strings.Lines(read(t, filepath.Join(root, "docs", "reference", "metrics.md"))) {
		if cells := strings.Split(line, "|"); strings.HasPrefix(line, "| `vsphere_ccm_") && len(cells) > 4 {
			all[strings.Trim(cells[1], " `")] = strings.FieldsFunc(cells[3], func(r rune) bool { return strings.ContainsRune("`, ", r) })
		}
	}
	if len(all) == 0 {
		t.Fatal("the reference has no metrics")
	}
	return all
}

// values are those that labels may have.
func values(t *testing.T) map[string][]string {
	t.Helper()
	p := provider.New(nil, &config.Config{}, provider.Options{})
	controller := nodes.New(nil, p.Placer(), p.Checker(), nil)
	outcomes, _ := controller.Outcomes()
	kinds := make([]string, 0, len(topology.ConflictKinds()))
	for _, k := range topology.ConflictKinds() {
		kinds = append(kinds, string(k))
	}
	return map[string][]string{
		"outcome": slices.Collect(maps.Keys(outcomes)),
		"reason":  slices.Collect(maps.Keys(controller.Kept())),
		"kind":    kinds,
		"result":  {"ok", "timeout", "canceled", "rejected", "error", "applied", "refused"},
	}
}

// expressions are those of all rules and panels, by where they are.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, r := range readRules(t).rules() {
		all["alert "+r.Alert] = r.Expr
	}
	for _, p := range readPanels(t) {
		for i, target := range p.Targets {
			all[fmt.Sprintf("panel %s, query %d", p.Title, i+1)] = target.Expr
		}
	}
	if len(all) == 0 {
		t.Fatal("no rules and no panels")
	}
	return all
}

// TestMetricsExist: rules, panels, runbooks and the how-to name metrics that the daemon has,
// with labels and values that these may have.
func TestMetricsExist(t *testing.T) {
	known, allowed := documented(t), values(t)
	texts := expressions(t)
	for where, expr := range texts {
		for _, s := range selector.FindAllStringSubmatch(expr, -1) {
			name := strings.TrimSuffix(s[1], "_bucket")
			for _, m := range matcher.FindAllStringSubmatch(s[2], -1) {
				label := m[1]
				if strings.HasPrefix(name, "vsphere_ccm_") && !slices.Contains(append(known[name], targetLabels...), label) {
					t.Errorf("%s: %s has no label %s", where, name, label)
				}
				for value := range strings.SplitSeq(m[2], "|") {
					if all, closed := allowed[label]; closed && !slices.Contains(all, value) {
						t.Errorf("%s: %s is never %q, it is one of %v", where, label, value, all)
					}
				}
			}
		}
		labels := slices.Concat(targetLabels, frameworkLabels)
		for _, name := range ours.FindAllString(expr, -1) {
			labels = append(labels, known[strings.TrimSuffix(name, "_bucket")]...)
		}
		for _, g := range grouping.FindAllStringSubmatch(expr, -1) {
			for label := range strings.SplitSeq(g[1], ", ") {
				if !slices.Contains(labels, label) {
					t.Errorf("%s: none of its metrics has a label %s", where, label)
				}
			}
		}
	}
	maps.Copy(texts, runbooks(t))
	monitor := filepath.Join(root, "docs", "how-to", "monitor.md")
	texts[monitor] = read(t, monitor)
	for where, text := range texts {
		for _, name := range ours.FindAllString(text, -1) {
			if _, ok := known[strings.TrimSuffix(name, "_bucket")]; !ok {
				t.Errorf("%s: there is no metric %s", where, name)
			}
		}
	}
}

// runbooks returns the pages that the annotation runbook_url of the alerts leads to, by path.
func runbooks(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, r := range readRules(t).rules() {
		page, _, _ := strings.Cut(r.Annotations["runbook_url"], "#")
		path := filepath.Join(root, filepath.FromSlash(page))
		all[path] = read(t, path)
	}
	if len(all) == 0 {
		t.Fatal("no alert has a runbook")
	}
	return all
}

// TestRunbooks: each alert has a severity, a summary, a description and a runbook. An Event that a runbook selects has a reason that the daemon uses.
func TestRunbooks(t *testing.T) {
	reasons := slices.Concat(report.EventReasons(), nodes.LabelEventReasons(), []string{"TagsUnreadable", "ConfigurationRefused", "CredentialsMissing"})
	known := map[string]bool{}
	for _, r := range readRules(t).rules() {
		if known[r.Alert] {
			t.Errorf("%s is there twice", r.Alert)
		}
		known[r.Alert] = true
		if r.wait(t) < 5*60e9 {
			t.Errorf("%s: %s is less than a roll-out takes", r.Alert, r.For)
		}
		if s := r.Labels["severity"]; !slices.Contains([]string{"critical", "warning", "info"}, s) || len(r.Labels) != 1 {
			t.Errorf("%s: labels %v", r.Alert, r.Labels)
		}
		for _, name := range []string{"summary", "description"} {
			if text := r.Annotations[name]; text == "" || strings.Contains(text, "\n") {
				t.Errorf("%s: its %s is %q", r.Alert, name, text)
			}
		}
		if page, anchor, _ := strings.Cut(r.Annotations["runbook_url"], "#"); anchor != "" {
			heading := regexp.MustCompile(`(?mi)^#+ ` + regexp.QuoteMeta(anchor) + `$`)
			if !heading.MatchString(read(t, filepath.Join(root, filepath.FromSlash(page)))) {
				t.Errorf("%s: %s has no heading %s", r.Alert, page, anchor)
			}
		}
	}
	pages := runbooks(t)
	for path, text := range pages {
		for _, m := range selected.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(reasons, m[1]) {
				t.Errorf("%s: no Event has the reason %s", path, m[1])
			}
		}
	}
}
