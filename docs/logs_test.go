package docs_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A logCall is one place in the code that logs.
type logCall struct {
	at      token.Position
	level   int
	failure bool // logged as an error
	message string
	keys    []string
}

// logCalls are the calls of one file, and what is wrong with them.
type logCalls struct {
	files  *token.FileSet
	found  []logCall
	wrong  []string
	consts map[string]string // of the package, by name
	whats  []string          // texts of fields named what, for messages that are one
}

func (l *logCalls) fail(n ast.Node, format string, args ...any) {
	l.wrong = append(l.wrong, fmt.Sprintf("%s: %s", l.files.Position(n.Pos()), fmt.Sprintf(format, args...)))
}

// loggerLevel returns the verbosity of an expression that is a logger. Variables are by name.
func loggerLevel(e ast.Expr, vars map[string]int) (int, bool) {
	switch e := e.(type) {
	case *ast.Ident:
		v, ok := vars[e.Name]
		return v, ok
	case *ast.CallExpr:
		sel, ok := e.Fun.(*ast.SelectorExpr)
		if !ok {
			return 0, false
		}
		if sel.Sel.Name == "NewJSONLogger" {
			return 0, true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == "klog" {
			return 0, sel.Sel.Name == "FromContext" || sel.Sel.Name == "Background"
		}
		v, ok := loggerLevel(sel.X, vars)
		if ok && sel.Sel.Name == "V" {
			n, err := strconv.Atoi(e.Args[0].(*ast.BasicLit).Value)
			return v + n, err == nil
		}
		return v, ok && sel.Sel.Name == "WithValues"
	}
	return 0, false
}

func (l *logCalls) function(f *ast.FuncDecl) {
	vars := map[string]int{}
	for _, p := range f.Type.Params.List {
		if sel, ok := p.Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "Logger" {
			for _, name := range p.Names {
				vars[name.Name] = 0
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if v, ok := loggerLevel(n.Rhs[0], vars); ok {
				vars[n.Lhs[0].(*ast.Ident).Name] = v
			}
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok {
				l.call(n, sel, vars)
			}
		}
		return true
	})
}

var unstructured = regexp.MustCompile(`^(Info|Warning|Error|Fatal|Exit)(S|f|ln|Depth)?$`)

func (l *logCalls) call(n *ast.CallExpr, sel *ast.SelectorExpr, vars map[string]int) {
	if x, ok := sel.X.(*ast.Ident); ok && x.Name == "klog" && unstructured.MatchString(sel.Sel.Name) {
		l.fail(n, "klog.%s: take the logger of the context", sel.Sel.Name)
		return
	}
	v, ok := loggerLevel(sel.X, vars)
	if !ok {
		return
	}
	c := logCall{at: l.files.Position(n.Pos()), level: v}
	args := n.Args
	switch sel.Sel.Name {
	case "WithValues":
		l.pairs(&c, args)
		l.found = append(l.found, c)
		return
	case "Info":
	case "Error":
		c.failure, args = true, args[1:] // the error comes first
		c.keys = append(c.keys, "err")
	default:
		return
	}
	l.pairs(&c, args[1:])
	for _, text := range l.texts(args[0]) {
		c.message = text
		if strings.ContainsAny(text, "%\n") || strings.HasSuffix(text, ".") || strings.ToUpper(text[:1]) != text[:1] {
			l.fail(n, "%q: a message is constant, begins with a capital and has no full stop", text)
		}
		l.found = append(l.found, c)
	}
}

// texts are those that a message may have: a literal, a constant, or what fields named
// what of the package hold.
func (l *logCalls) texts(e ast.Expr) []string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return []string{text}
	case *ast.Ident:
		if text := l.consts[e.Name]; text != "" {
			return []string{text}
		}
	case *ast.SelectorExpr:
		if e.Sel.Name == "what" {
			return l.whats
		}
	}
	l.fail(e, "the message is not constant")
	return nil
}

func (l *logCalls) pairs(c *logCall, args []ast.Expr) {
	if len(args)%2 != 0 {
		l.fail(args[0], "a key without a value")
		return
	}
	for i := 0; i < len(args); i += 2 {
		lit, ok := args[i].(*ast.BasicLit)
		if !ok {
			l.fail(args[i], "the key is not a literal")
			continue
		}
		key, _ := strconv.Unquote(lit.Value)
		c.keys = append(c.keys, key)
		if key == "node" && !isRef(args[i+1]) {
			l.fail(args[i], "the value of node is not klog.KObj or klog.KRef")
		}
	}
}

func isRef(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && (sel.Sel.Name == "KObj" || sel.Sel.Name == "KRef")
}

// read reads the files of one package.
func (l *logCalls) read(paths []string) error {
	l.consts, l.whats = map[string]string{}, nil
	var parsed []*ast.File
	for _, path := range paths {
		f, err := parser.ParseFile(l.files, path, nil, 0)
		if err != nil {
			return err
		}
		parsed = append(parsed, f)
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for i, v := range n.Values {
					if text, ok := constant(v); ok && i < len(n.Names) {
						l.consts[n.Names[i].Name] = text
					}
				}
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "what" {
					if text, ok := constant(n.Value); ok {
						l.whats = append(l.whats, text)
					}
				}
			}
			return true
		})
	}
	slices.Sort(l.whats)
	l.whats = slices.Compact(l.whats)
	for _, f := range parsed {
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				l.function(d)
			}
		}
	}
	return nil
}

// constant is the text of literals with + between them.
func constant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		a, ok := constant(e.X)
		b, also := constant(e.Y)
		return a + b, ok && also && e.Op == token.ADD
	}
	return "", false
}

// allLogCalls are those of the daemon.
func allLogCalls(t *testing.T) *logCalls {
	t.Helper()
	packages := map[string][]string{}
	for _, root := range []string{"cmd/vsphere-cloud-controller-manager", "config", "provider", "topology", "vcenter"} {
		if err := filepath.WalkDir(filepath.Join("..", root), func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				packages[filepath.Dir(path)] = append(packages[filepath.Dir(path)], path)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	l := &logCalls{files: token.NewFileSet()}
	for _, paths := range packages {
		if err := l.read(paths); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

const logsPage = "reference/logs.md"

var field = regexp.MustCompile("`([a-zA-Z]+)`")

// TestLogs: what the daemon logs is structured, its fields are those of the reference, and
// the reference has each line.
func TestLogs(t *testing.T) {
	l := allLogCalls(t)
	for _, w := range l.wrong {
		t.Error(w)
	}
	page, err := os.ReadFile(logsPage)
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for line := range strings.Lines(between(string(page), "\n## Fields\n", "\n## ")) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, m := range field.FindAllStringSubmatch(cells[1], -1) {
				documented[m[1]] = false
			}
		}
	}
	for _, c := range l.found {
		for _, key := range c.keys {
			if _, ok := documented[key]; !ok {
				t.Errorf("%s: the field %q is not in %s", c.at, key, logsPage)
			}
			documented[key] = true
		}
	}
	for key, used := range documented {
		if !used {
			t.Errorf("%s has the field %q, which no line has", logsPage, key)
		}
	}
	const begin, end = "<!-- generated: lines -->\n", "<!-- end -->"
	before, rest, ok := strings.Cut(string(page), begin)
	have, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the lines", logsPage)
	}
	want := logTable(l.found)
	if *update {
		if err := os.WriteFile(logsPage, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if have != want {
		t.Errorf("the lines in %s are not current: go test ./docs -run TestLogs -update", logsPage)
	}
}

func between(text, begin, end string) string {
	_, rest, _ := strings.Cut(text, begin)
	found, _, _ := strings.Cut(rest, end)
	return found
}

// logTable is one row for each message.
func logTable(calls []logCall) string {
	rows := map[string]logCall{}
	for _, c := range calls {
		if c.message == "" {
			continue
		}
		key := fmt.Sprint(c.level, c.failure, c.message)
		c.keys = append(slices.Clone(rows[key].keys), c.keys...)
		slices.Sort(c.keys)
		c.keys = slices.Compact(c.keys)
		rows[key] = c
	}
	var sorted []logCall
	for _, c := range rows {
		sorted = append(sorted, c)
	}
	slices.SortFunc(sorted, func(a, b logCall) int {
		return cmp.Or(a.level-b.level, cmp.Compare(a.message, b.message), cmp.Compare(len(a.keys), len(b.keys)))
	})
	var b strings.Builder
	b.WriteString("\n| verbosity | message | error | fields |\n|---|---|---|---|\n")
	for _, c := range sorted {
		failure := ""
		if c.failure {
			failure = "yes"
		}
		fmt.Fprintf(&b, "| %d | %s | %s | %s |\n", c.level, strings.ReplaceAll(c.message, "|", `\|`), failure, strings.Join(c.keys, ", "))
	}
	return b.String() + "\n"
}
