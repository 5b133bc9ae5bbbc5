package docs_test

import (
	"go/ast"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	controller "vzones/provider/nodes"
	"vzones/provider/report"
)

// reasonIn finds the reason of an Event in Go code: a constant that is called so, or a text behind the type.
var reasonIn = regexp.MustCompile(`(?:\b(?:[rR]eason[A-Z]\w*|\w+Event) += |EventType(?:Normal|Warning), )"([A-Z]\w+)"`)

// reasonsInSource returns the reasons of Events in Go files.
func reasonsInSource(t *testing.T, files map[string]*ast.File) []string {
	t.Helper()
	found := map[string]bool{}
	for path := range files {
		for _, m := range reasonIn.FindAllStringSubmatch(read(t, path), -1) {
			found[m[1]] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// TestReasonsAreDocumented: the reference has every reason of an Event that the code has
// and no other, under the heading of who writes it.
func TestReasonsAreDocumented(t *testing.T) {
	page := read(t, "reference/events.md")
	under := func(heading string) (reasons []string) {
		for _, row := range rows(t, page, heading) {
			reason, _, _ := strings.Cut(strings.TrimLeft(row[0], "[`"), "`")
			reasons = append(reasons, reason)
		}
		return slices.Sorted(slices.Values(reasons))
	}
	nodes, topology, pod := under("## Unresolved Nodes"), under("## On initialized Nodes"), under("## On the daemon's Pod")
	if want := slices.Sorted(slices.Values(report.EventReasons())); !slices.Equal(nodes, want) {
		t.Errorf("of Nodes that wait the reference has %v, the code %v", nodes, want)
	}
	if want := slices.Sorted(slices.Values(controller.InitializedEventReasons())); !slices.Equal(topology, want) {
		t.Errorf("of the topology controller the reference has %v, the code %v", topology, want)
	}
	got := slices.Compact(slices.Sorted(slices.Values(slices.Concat(nodes, topology, pod)))) // a reason may be in two tables
	want := reasonsInSource(t, sources(t, "../provider", "../cmd", "../vcenter", "../topology", "../config"))
	for _, reason := range report.EventReasons() {
		if !slices.Contains(want, reason) { // the outcomes have no constants
			want = append(want, reason)
		}
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the reference has\n%q\nthe source\n%q", got, want)
	}
}

// TestReasonsOfTheFrameworkAreDocumented: of its two controllers that run, and of the
// library that holds the Lease.
func TestReasonsOfTheFrameworkAreDocumented(t *testing.T) {
	var folders []string
	for module, below := range map[string][]string{
		"k8s.io/cloud-provider": {"controllers/node", "controllers/nodelifecycle"},
		"k8s.io/client-go":      {"tools/leaderelection"},
	} {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, folder := range below {
			folders = append(folders, filepath.Join(strings.TrimSpace(string(out)), folder))
		}
	}
	var got []string
	for _, row := range rows(t, read(t, "reference/events.md"), "## From the framework") {
		got = append(got, row[0])
	}
	slices.Sort(got)
	if want := reasonsInSource(t, sources(t, folders...)); !slices.Equal(got, want) {
		t.Errorf("the reference has %v, the framework %v", got, want)
	}
}

// TestTroubleshootHasEveryReason: the page about troubleshooting has the reason of each Event about a Node that waits.
func TestTroubleshootHasEveryReason(t *testing.T) {
	page := read(t, "how-to/troubleshoot.md")
	for _, reason := range report.EventReasons() {
		if !strings.Contains(page, reason) {
			t.Errorf("it does not have %s", reason)
		}
	}
}
