package docs_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"vzones/config/configtest"
)

const findingsPage = "reference/findings.md"

var (
	verb = regexp.MustCompile(`%(?:\[\d+\])?[-+# 0]*\d*[a-z]`)
	// golden is a line of a golden file: a finding, with the file, the line and the rest.
	golden = regexp.MustCompile(`^[^ :]+:\d+: (?:warning: |note: |not carried over: )?(.+)$`)
)

// A finding is a form of messages, with … where each has something else.
type finding struct {
	kind, form string
	// message is what such messages look like, from their beginning to their end.
	message *regexp.Regexp
	// field is that of an example.
	field string
}

// kinds are the headings of findings, in the order of the page.
var kinds = []string{"Mistakes", "Warnings", "Notes", "Not carried over"}

// kindOf returns the heading of what a call reports, empty if it reports nothing.
func kindOf(file, function string) string {
	switch {
	case function == "Errorf":
		return "Mistakes"
	case function == "Notef":
		return "Notes"
	case function != "Warnf":
		return ""
	case strings.Contains(file, "/convert/") && !slices.Contains([]string{"chart.go", "chart_pod.go", "chart_values.go"}, filepath.Base(file)):
		return "Not carried over"
	}
	return "Warnings"
}

// findings returns the forms of all messages in the source of the configuration. Those of
// which nothing is constant are not among them.
func findings(t *testing.T) []finding {
	t.Helper()
	files := sources(t, "../config")
	paths := slices.Sorted(maps.Keys(files))
	common := map[string]ast.Expr{}
	for _, path := range paths {
		for _, d := range files[path].Decls {
			if _, ok := d.(*ast.GenDecl); ok {
				maps.Copy(common, constantsIn(d))
			}
		}
	}
	seen := map[string]bool{}
	var all []finding
	for _, path := range paths {
		for _, d := range files[path].Decls {
			constants := maps.Clone(common)
			maps.Copy(constants, constantsIn(d)) // those of a function are its own
			ast.Inspect(d, func(n ast.Node) bool {
				kind, form := message(path, n, constants)
				if len(strings.Trim(form, "… ,:")) < 4 || seen[kind+form] {
					return true
				}
				seen[kind+form] = true
				parts := strings.Split(form, "…")
				for i := range parts {
					parts[i] = regexp.QuoteMeta(parts[i])
				}
				all = append(all, finding{kind: kind, form: form, message: regexp.MustCompile("^(.*): " + strings.Join(parts, ".*") + "$")})
				return true
			})
		}
	}
	return all
}

// constantsIn returns the values of the constants and variables of a declaration.
func constantsIn(d ast.Node) map[string]ast.Expr {
	found := map[string]ast.Expr{}
	ast.Inspect(d, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Names) == len(spec.Values) {
			for i, name := range spec.Names {
				found[name.Name] = spec.Values[i]
			}
		}
		return true
	})
	return found
}

// message returns the kind and the form of the message that a call has, both empty if
// it has none.
func message(path string, n ast.Node, constants map[string]ast.Expr) (kind, form string) {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) < 2 {
		return "", ""
	}
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || kindOf(path, s.Sel.Name) == "" {
		return "", ""
	}
	return kindOf(path, s.Sel.Name), formOf(call.Args[1], constants)
}

// formOf returns a format with … for each verb and for whatever is not constant.
func formOf(e ast.Expr, constants map[string]ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, _ := literal(e)
		return strings.ReplaceAll(verb.ReplaceAllString(s, "…"), "%%", "%")
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return formOf(e.X, constants) + formOf(e.Y, constants)
		}
	case *ast.SelectorExpr: // a constant of another package
		return formOf(e.Sel, constants)
	case *ast.Ident:
		if value, ok := constants[e.Name]; ok {
			return formOf(value, constants)
		}
	}
	return "…"
}

// examples returns the findings of the golden files, without the name of the file and the
// number of the line, in the order of the files.
func examples(t *testing.T) []string {
	t.Helper()
	var all []string
	take := func(text []byte) {
		for line := range strings.Lines(string(text)) {
			line = strings.TrimPrefix(strings.TrimSpace(line), "not carried over ")
			if m := golden.FindStringSubmatch(line); m != nil {
				all = append(all, m[1])
			}
		}
	}
	for _, folder := range []string{"csi", "good", "ini-good", "ini-mistakes", "mistakes"} {
		for _, c := range configtest.Cases(t, folder) {
			take(c.Want(t, ".txt"))
		}
	}
	return all
}

// cell returns a text as code in a cell of a table.
func cell(text string) string {
	if text == "" {
		return ""
	}
	text = strings.ReplaceAll(text, "|", `\|`)
	if strings.Contains(text, "`") {
		return "`` " + text + " ``"
	}
	return "`" + text + "`"
}

// TestFindingsAreDocumented: the reference has each form of a message about a configuration.
// With -update its tables are written.
func TestFindingsAreDocumented(t *testing.T) {
	all, lines := findings(t), examples(t)
	used := 0
	for i := range all {
		for _, line := range lines {
			if m := all[i].message.FindStringSubmatch(line); m != nil {
				all[i].field = m[1]
				used++
				break
			}
		}
	}
	if len(all) < 80 || used < len(all)/2 {
		t.Fatalf("%d forms, %d of them in golden files", len(all), used)
	}
	slices.SortFunc(all, func(a, b finding) int {
		return cmp.Or(cmp.Compare(slices.Index(kinds, a.kind), slices.Index(kinds, b.kind)), cmp.Compare(strings.ToLower(a.form), strings.ToLower(b.form)), cmp.Compare(a.form, b.form))
	})
	const begin, end = "<!-- written by go test ./docs -run TestFindingsAreDocumented -update -->\n", "<!-- end -->\n"
	var b strings.Builder
	kind := ""
	for _, f := range all {
		if f.kind != kind {
			kind = f.kind
			fmt.Fprintf(&b, "\n## %s\n\n| message | for example at |\n|---|---|\n", kind)
		}
		fmt.Fprintf(&b, "| %s | %s |\n", cell(f.form), cell(f.field))
	}
	more := map[string]bool{}
	for _, line := range lines {
		if !slices.ContainsFunc(all, func(f finding) bool { return f.message.MatchString(line) }) {
			more[line] = true
		}
	}
	fmt.Fprint(&b, "\n## Other messages about keys and sections\n\n| message |\n|---|\n")
	for _, line := range slices.Sorted(maps.Keys(more)) {
		fmt.Fprintf(&b, "| %s |\n", cell(line))
	}
	b.WriteString("\n")
	text := read(t, findingsPage)
	before, rest, ok := strings.Cut(text, begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the tables", findingsPage)
	}
	want := before + begin + b.String() + end + after
	if *update {
		if err := os.WriteFile(findingsPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != text {
		t.Errorf("%s is not current: run go test ./docs -run TestFindingsAreDocumented -update", findingsPage)
	}
}
