package docs_test

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"
)

// metricsIn returns the names of the metrics that a file makes: by options with a subsystem
// and a name, by NewDesc, or by a method of the file that calls NewDesc with the end of a
// name. What it cannot follow is a mistake.
func metricsIn(t *testing.T, path string, file *ast.File) []string {
	t.Helper()
	var names []string
	wrappers := map[string]string{} // what they put before the name
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if prefix, ok := wrapped(n); ok {
				wrappers[n.Name.Name] = prefix
				return false
			}
		case *ast.CompositeLit:
			if isMetricOptions(n) {
				name := "vsphere_ccm_"
				for _, e := range n.Elts {
					kv, ok := e.(*ast.KeyValueExpr)
					if !ok {
						continue
					}
					if s, ok := literal(kv.Value); ok && written(kv.Key) == "Name" {
						name += s
					}
				}
				names = append(names, name)
			}
		case *ast.CallExpr:
			function := written(n.Fun)
			if prefix, ok := wrappers[function[strings.LastIndexByte(function, '.')+1:]]; ok {
				s, _ := literal(n.Args[0])
				names = append(names, prefix+s)
			} else if strings.HasSuffix(function, ".NewDesc") {
				name, ok := constantName(n.Args[0])
				if !ok {
					t.Errorf("%s: the name of the metric %s is not constant", path, written(n.Args[0]))
				}
				names = append(names, name)
			}
		}
		return true
	})
	return names
}

// isMetricOptions reports whether a literal is of a type such as metrics.CounterOpts.
func isMetricOptions(c *ast.CompositeLit) bool {
	s, ok := c.Type.(*ast.SelectorExpr)
	return ok && strings.HasSuffix(s.Sel.Name, "Opts") && slices.Contains([]string{"metrics", "prometheus"}, written(s.X))
}

// wrapped returns what a function puts before the name that it makes a metric with.
func wrapped(f *ast.FuncDecl) (prefix string, ok bool) {
	ast.Inspect(f.Body, func(n ast.Node) bool {
		call, isCall := n.(*ast.CallExpr)
		if !isCall || !strings.HasSuffix(written(call.Fun), ".NewDesc") {
			return true
		}
		if sum, isSum := call.Args[0].(*ast.BinaryExpr); isSum {
			prefix, ok = constantName(sum.X)
		}
		return false
	})
	return prefix, ok
}

// constantName returns a name that is put together from the subsystem and texts.
func constantName(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.Ident:
		return "vsphere_ccm", strings.EqualFold(e.Name, "subsystem")
	case *ast.BasicLit:
		return literal(e)
	case *ast.BinaryExpr:
		x, ok1 := constantName(e.X)
		y, ok2 := constantName(e.Y)
		return x + y, ok1 && ok2 && e.Op == token.ADD
	}
	return "", false
}

// TestMetricsInSourceAreDocumented: the reference has each metric that the source makes,
// registered where a test looks or not, and no other.
func TestMetricsInSourceAreDocumented(t *testing.T) {
	want, got := map[string]bool{}, map[string]bool{}
	for path, file := range sources(t, "../cmd", "../provider", "../vcenter", "../config", "../topology") {
		for _, name := range metricsIn(t, path, file) {
			want[name] = true
		}
	}
	for _, row := range rows(t, read(t, "reference/metrics.md"), "## The metrics") {
		got[row[0]] = true
	}
	if len(want) == 0 || !maps.Equal(got, want) {
		t.Errorf("documented: %q\nin the source: %q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}
