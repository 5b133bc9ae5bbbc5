package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// frameworkPackages are those whose lines the reference explains.
var frameworkPackages = []string{
	"k8s.io/cloud-provider/controllers/node", "k8s.io/cloud-provider/controllers/nodelifecycle",
}

var formatVerb = regexp.MustCompile(`%[+#]?[a-z]`)

// frameworkLines are the lines that the framework of the pinned version may write, as expressions.
func frameworkLines(t *testing.T) []*regexp.Regexp {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"list", "-f", "{{.Dir}}"}, frameworkPackages...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []*regexp.Regexp
	for _, dir := range strings.Fields(string(out)) {
		paths, _ := filepath.Glob(filepath.Join(dir, "*.go"))
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) == 0 {
					return true
				}
				format, ok := constant(call.Args[0])
				sel, isMethod := call.Fun.(*ast.SelectorExpr)
				// Shorter ones, such as "%v", would fit anything.
				if ok && isMethod && unstructured.MatchString(sel.Sel.Name) && len(formatVerb.ReplaceAllString(format, "")) > 15 {
					parts := formatVerb.Split(format, -1)
					for i := range parts {
						parts[i] = regexp.QuoteMeta(parts[i])
					}
					all = append(all, regexp.MustCompile("^"+strings.Join(parts, ".+")+"$"))
				}
				return true
			})
		}
	}
	return all
}

// TestLinesOfTheFramework: each line that the reference explains is one that the framework may write.
func TestLinesOfTheFramework(t *testing.T) {
	formats := frameworkLines(t)
	known := func(line string) bool {
		for _, f := range formats {
			if f.MatchString(line) {
				return true
			}
		}
		return false
	}
	explained := 0
	for _, row := range rows(t, read(t, logsPage), "## Lines of the framework") {
		explained++
		if line := strings.Trim(row[0], "`"); !known(line) {
			t.Errorf("%s explains a line that the framework does not write: %s", logsPage, line)
		}
		if len(row) != 3 || row[1] == "" || row[2] == "" {
			t.Errorf("%s: a cell is empty: %q", logsPage, row)
		}
	}
	if explained < 8 || len(formats) < 20 {
		t.Errorf("%d lines are explained, and the framework has %d", explained, len(formats))
	}
	for _, other := range []string{"error checking if node worker-1 is there: x", "Skip sync node worker-1"} {
		if known(other) {
			t.Errorf("%q passes, which the framework does not write", other)
		}
	}
}
