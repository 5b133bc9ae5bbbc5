package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// logCalls are the calls of a logger in the code, and what is wrong with them.
type logCalls struct {
	files  *token.FileSet
	found  int
	wrong  []string
	consts map[string]string // of the package, by name
	whats  []string          // texts of fields named what, for messages that are one
}

func (l *logCalls) fail(n ast.Node, format string, args ...any) {
	l.wrong = append(l.wrong, fmt.Sprintf("%s: %s", l.files.Position(n.Pos()), fmt.Sprintf(format, args...)))
}

// isLogger reports whether an expression is a logger. The variables that are loggers are by name.
func isLogger(e ast.Expr, vars map[string]bool) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return vars[e.Name]
	case *ast.CallExpr:
		sel, ok := e.Fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		if sel.Sel.Name == "NewJSONLogger" {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == "klog" {
			return sel.Sel.Name == "FromContext" || sel.Sel.Name == "Background"
		}
		return (sel.Sel.Name == "V" || sel.Sel.Name == "WithValues") && isLogger(sel.X, vars)
	}
	return false
}

func (l *logCalls) function(f *ast.FuncDecl) {
	vars := map[string]bool{}
	for _, p := range f.Type.Params.List {
		if sel, ok := p.Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "Logger" {
			for _, name := range p.Names {
				vars[name.Name] = true
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if isLogger(n.Rhs[0], vars) {
				vars[n.Lhs[0].(*ast.Ident).Name] = true
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

func (l *logCalls) call(n *ast.CallExpr, sel *ast.SelectorExpr, vars map[string]bool) {
	if x, ok := sel.X.(*ast.Ident); ok && x.Name == "klog" && unstructured.MatchString(sel.Sel.Name) {
		l.fail(n, "klog.%s: take the logger of the context", sel.Sel.Name)
		return
	}
	if !isLogger(sel.X, vars) {
		return
	}
	args := n.Args
	switch sel.Sel.Name {
	case "WithValues":
		l.found++
		l.pairs(args)
		return
	case "Info":
	case "Error":
		args = args[1:] // the error comes first
	default:
		return
	}
	l.found++
	l.pairs(args[1:])
	for _, text := range l.texts(args[0]) {
		if strings.ContainsAny(text, "%\n") || strings.HasSuffix(text, ".") || strings.ToUpper(text[:1]) != text[:1] {
			l.fail(n, "%q: a message is constant, begins with a capital and has no full stop", text)
		}
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

func (l *logCalls) pairs(args []ast.Expr) {
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

// TestLogs: what the daemon logs is structured, with constant messages and keys.
func TestLogs(t *testing.T) {
	l := allLogCalls(t)
	for _, w := range l.wrong {
		t.Error(w)
	}
	if l.found == 0 {
		t.Error("no calls of a logger found")
	}
}
