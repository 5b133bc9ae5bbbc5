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

	"vzones/provider/nodes"
	"vzones/provider/report"
)

var (
	ours     = regexp.MustCompile(`\b(vsphere_ccm_\w+)(?:\{([^}]*)\})?`)
	matcher  = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)\s*"`)
	selected = regexp.MustCompile(`\breason=(\w+)`)
)

// targetLabels are those that Prometheus adds to whatever it scrapes.
var targetLabels = []string{"cluster", "namespace", "job", "instance"}

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

// TestMetricsExist: rules, panels, runbooks and the how-to name metrics that the daemon has, with
// labels that these have. make alerts shows that they have the values too.
func TestMetricsExist(t *testing.T) {
	known := documented(t)
	texts := expressions(t)
	maps.Copy(texts, runbooks(t))
	monitor := filepath.Join(root, "docs", "how-to", "monitor.md")
	texts[monitor] = read(t, monitor)
	for where, text := range texts {
		for _, m := range ours.FindAllStringSubmatch(text, -1) {
			labels, ok := known[strings.TrimSuffix(m[1], "_bucket")]
			if !ok {
				t.Errorf("%s: there is no metric %s", where, m[1])
			}
			for _, label := range matcher.FindAllStringSubmatch(m[2], -1) {
				if !slices.Contains(append(labels, targetLabels...), label[1]) {
					t.Errorf("%s: %s has no label %s", where, m[1], label[1])
				}
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

// TestRunbooks: each alert has one. An Event that a runbook selects has a reason that the daemon uses.
func TestRunbooks(t *testing.T) {
	pages := runbooks(t)
	for _, r := range readRules(t).rules() {
		page, anchor, _ := strings.Cut(r.Annotations["runbook_url"], "#")
		heading := regexp.MustCompile(`(?mi)^#+ ` + regexp.QuoteMeta(anchor) + `$`)
		if anchor != "" && !heading.MatchString(pages[filepath.Join(root, filepath.FromSlash(page))]) {
			t.Errorf("%s: %s has no heading %s", r.Alert, page, anchor)
		}
	}
	reasons := slices.Concat(report.EventReasons(), nodes.LabelEventReasons(), []string{"TagsUnreadable", "ConfigurationRefused", "CredentialsMissing"})
	for path, text := range pages {
		for _, m := range selected.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(reasons, m[1]) {
				t.Errorf("%s: no Event has the reason %s", path, m[1])
			}
		}
	}
}
