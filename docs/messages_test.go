package docs_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// messageMakers are the functions whose text becomes an error, an Event or a line of the log, and
// which argument that is.
var messageMakers = map[string]int{
	"fmt.Errorf": 0, "errors.New": 0, "Errorf": 1, "topology.Errorf": 1, "fmt.Sprintf": 0,
	"quote.NoteWith": 1,
}

// mayHaveLines are the functions that print several lines for a person at a terminal.
var mayHaveLines = []string{"Fprintf", "writeUsage"}

// TestMessagesAreLines reads every text of an error, an Event and a log line in the code of
// the daemon: it is one line.
func TestMessagesAreLines(t *testing.T) {
	read := 0
	for path, file := range sources(t, "../config", "../provider", "../topology", "../vcenter", "../cmd/vsphere-cloud-controller-manager") {
		if strings.HasSuffix(path, "faults/go.go") || strings.HasSuffix(path, "config/labels.go") {
			continue // a stack has lines, and is logged with escapes; mistakes in a flag are for a terminal
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			name := written(call.Fun)
			if name == "errors.Join" {
				t.Errorf("%s joins errors with line breaks: use quote.Errors", path)
			}
			at, ok := messageMakers[name]
			if !ok || len(call.Args) <= at || slices.Contains(mayHaveLines, name) {
				return true
			}
			text, ok := constant(call.Args[at])
			if !ok {
				return true
			}
			read++
			if strings.ContainsAny(text, "\n\r") {
				t.Errorf("%s: a message has several lines: %q", path, text)
			}
			return true
		})
	}
	if read == 0 {
		t.Error("no messages were found")
	}
}
