package docs_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	controller "vzones/provider/nodes"
	"vzones/provider/report"
)

// runbookLinks returns the annotation runbook_url of each alert, by the alert.
func runbookLinks(t *testing.T) map[string]string {
	t.Helper()
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert       string
				Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "../manifests/chart/files/alerts.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	links := map[string]string{}
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			links[rule.Alert] = rule.Annotations["runbook_url"]
		}
	}
	if len(links) == 0 {
		t.Fatal("alerts.yaml has no alerts")
	}
	return links
}

// runbooks returns the pages that alerts link to, by the path in a link.
func runbooks(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, link := range runbookLinks(t) {
		page, _, _ := strings.Cut(link, "#")
		pages[page] = read(t, filepath.Join("..", filepath.FromSlash(page)))
	}
	return pages
}

// TestAlertsHaveRunbooks: the link of each alert leads to a heading.
func TestAlertsHaveRunbooks(t *testing.T) {
	pages := runbooks(t)
	for alert, link := range runbookLinks(t) {
		page, anchor, _ := strings.Cut(link, "#")
		heading := regexp.MustCompile(`(?mi)^#+ ` + regexp.QuoteMeta(anchor) + `$`)
		if anchor != "" && !heading.MatchString(pages[page]) {
			t.Errorf("%s: %s has no heading %s", alert, page, anchor)
		}
	}
}

// TestReasonsInRunbooks: an Event that a runbook selects has a reason that the daemon uses.
func TestReasonsInRunbooks(t *testing.T) {
	selected := regexp.MustCompile(`\breason=(\w+)`)
	reasons := slices.Concat(report.EventReasons(), controller.InitializedEventReasons(), []string{"TagPermissionMissing", "ConfigurationRejected", "CredentialsMissing"})
	for page, text := range runbooks(t) {
		for _, m := range selected.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(reasons, m[1]) {
				t.Errorf("%s: no Event has the reason %s", page, m[1])
			}
		}
	}
}

// TestMetricsInRunbooks: the runbooks and the how-to name metrics and labels that the reference has,
// which a test of the daemon compares with its registry.
func TestMetricsInRunbooks(t *testing.T) {
	labels := map[string][]string{}
	for _, row := range rows(t, read(t, "reference/metrics.md"), "## The metrics") {
		labels[row[0]] = strings.FieldsFunc(row[2], func(r rune) bool { return strings.ContainsRune("`, ", r) })
	}
	selector := regexp.MustCompile(`\b(vsphere_ccm_\w+)(?:\{([^}]*)\})?`)
	matcher := regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)\s*"`)
	ofTargets := []string{"cluster", "namespace", "job", "instance"}
	pages := runbooks(t)
	pages["docs/how-to/monitor.md"] = read(t, "how-to/monitor.md")
	for page, text := range pages {
		for _, m := range selector.FindAllStringSubmatch(text, -1) {
			known, ok := labels[strings.TrimSuffix(m[1], "_bucket")]
			if !ok {
				t.Errorf("%s: there is no metric %s", page, m[1])
			}
			for _, label := range matcher.FindAllStringSubmatch(m[2], -1) {
				if !slices.Contains(append(known, ofTargets...), label[1]) {
					t.Errorf("%s: %s has no label %s", page, m[1], label[1])
				}
			}
		}
	}
}
