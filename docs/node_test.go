package docs_test

import (
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestReasonsAreDocumented: the reference has every reason of an Event and no
// other, and the guide has a section on each.
func TestReasonsAreDocumented(t *testing.T) {
	inSource := make(map[string]bool)
	ast.Inspect(function(t, "../provider/waiting.go", "", "eventReason").Body, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) == 1 {
			if reason, ok := literal(r.Results[0]); ok {
				inSource[reason] = true
			}
		}
		return true
	})
	if len(inSource) < 2 {
		t.Fatalf("only %v found in the source", inSource)
	}
	want := slices.Sorted(maps.Keys(inSource))

	var got []string
	for _, row := range rows(t, read(t, "reference/node.md"), "## Events") {
		got = append(got, row[0])
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the reference has %v, the code %v", got, want)
	}

	var sections []string
	for line := range strings.Lines(read(t, "how-to/find-out-why-a-node-waits.md")) {
		if reason, ok := strings.CutPrefix(strings.TrimSpace(line), "### "); ok {
			sections = append(sections, reason)
		}
	}
	slices.Sort(sections)
	if !slices.Equal(sections, want) {
		t.Errorf("the guide has %v, the code %v", sections, want)
	}
}
