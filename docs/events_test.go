package docs_test

import (
	"go/ast"
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	controller "vzones/provider/nodes"
	"vzones/provider/report"
)

// recorders are the functions that write an Event, with the place of the reason among
// their arguments: those of client-go, and ours that hand one over.
var recorders = map[string]struct{ reason, arguments int }{
	"Event":           {2, 4},
	"Eventf":          {2, -1},
	"AnnotatedEventf": {3, -1},
	"tell":            {1, 3}, // of the daemon's Pod
	"recordOnPod":     {1, 3}, // likewise
}

// computed are the reasons in calls that are not constants, by the function that has the
// call. The reasons that they may be are found where they are declared.
var computed = map[string]string{
	"isWrong":       "p.Reason",                            // handed over
	"isOver":        "report.ReasonResolved",               // a constant of that package
	"Record":        "reason",                              // handed over
	"tell":          "reason",                              // handed over
	"Event":         "reason",                              // handed over
	"recordWritten": "reason",                              // of a list of constants
	"Eventf":        "reason", "AnnotatedEventf": "reason", // handed over
}

// reasonName is what constants of reasons are called, and reasonValue what they have.
var (
	reasonName  = regexp.MustCompile(`^([rR]eason[A-Z]\w*|\w+Event)$`)
	reasonValue = regexp.MustCompile(`^[A-Z][A-Za-z]\w+$`)
)

// reasonsInSource returns the reasons of Events in Go files: all constants of reasons, the
// outcomes, and whatever calls of recorders have. Calls whose reason it cannot know are
// mistakes unless computed has them.
func reasonsInSource(t *testing.T, files map[string]*ast.File) []string {
	t.Helper()
	constants, found := map[string]string{}, map[string]bool{}
	for file, parsed := range files {
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != len(spec.Names) {
				return true
			}
			for i, name := range spec.Names {
				if value, ok := literal(spec.Values[i]); ok && reasonName.MatchString(name.Name) && reasonValue.MatchString(value) {
					constants[path.Dir(file)+" "+name.Name], found[value] = value, true
				}
			}
			return true
		})
	}
	for file, parsed := range files {
		for _, d := range parsed.Decls {
			function, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(function, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				reason, ok := reasonOf(call)
				if !ok {
					return true
				}
				if value, ok := literal(reason); ok {
					found[value] = true
				} else if constants[path.Dir(file)+" "+written(reason)] == "" && computed[function.Name.Name] != written(reason) {
					t.Errorf("%s: %s writes an Event with the reason %s, which this test cannot find out: use a constant", file, function.Name.Name, written(reason))
				}
				return true
			})
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// reasonOf returns the reason among the arguments of a call that writes an Event.
func reasonOf(call *ast.CallExpr) (ast.Expr, bool) {
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil, false
	}
	r, ok := recorders[s.Sel.Name]
	if !ok || r.arguments > 0 && r.arguments != len(call.Args) || len(call.Args) <= r.reason+1 {
		return nil, false
	}
	if kind := written(call.Args[0]); s.Sel.Name == "tell" && kind != "kind" && !strings.HasPrefix(kind, "v1.EventType") {
		return nil, false // of something else, whose arguments are others
	}
	return call.Args[r.reason], true
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
	nodes, topology, pod := under("## On Nodes that wait or whose machine is uncertain"), under("## Of the topology controller"), under("## On the daemon's Pod")
	if want := slices.Sorted(slices.Values(report.EventReasons())); !slices.Equal(nodes, want) {
		t.Errorf("of Nodes that wait the reference has %v, the code %v", nodes, want)
	}
	if want := slices.Sorted(slices.Values(controller.LabelEventReasons())); !slices.Equal(topology, want) {
		t.Errorf("of the topology controller the reference has %v, the code %v", topology, want)
	}
	got := slices.Sorted(slices.Values(slices.Concat(nodes, topology, pod)))
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
	for _, row := range rows(t, read(t, "reference/events.md"), "## Of the framework") {
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
