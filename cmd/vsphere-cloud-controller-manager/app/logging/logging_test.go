package logging

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	logsapi "k8s.io/component-base/logs/api/v1"
)

func TestWantsJSON(t *testing.T) {
	for args, want := range map[string]bool{
		"": false, "--logging-format=json": true, "--logging-format json": true, "--logging_format=json": true,
		"--logging-format=text": false, "--logging-format=json --logging-format=text": false,
		"--nonsense --logging-format=json": true, "--nonsense": false, "--logging-format": false, "json": false,
	} {
		if got := WantsJSON(strings.Fields(args)); got != want {
			t.Errorf("%q: %t", args, got)
		}
	}
}

// TestNodesOfTheFramework: each line of the framework that names a Node gets it as a field.
func TestNodesOfTheFramework(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", "k8s.io/cloud-provider/controllers/node",
		"k8s.io/cloud-provider/controllers/nodelifecycle", "k8s.io/cloud-provider/node/helpers").Output()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, dir := range strings.Fields(string(out)) {
		paths, _ := filepath.Glob(filepath.Join(dir, "*.go"))
		for _, path := range paths {
			found = append(found, nodeFormats(t, path)...)
		}
	}
	slices.Sort(found)
	found = slices.Compact(found)
	known := slices.Sorted(slices.Values(nodeLines))
	if diff := cmp.Diff(found, known); diff != "" {
		t.Errorf("the framework's lines about a Node, and those that are known: %s", diff)
	}
	for _, line := range nodeLines {
		message := strings.NewReplacer("<node>", "worker-1.example.com", "%+v", "map[a:b]", "%v", "an error\nof node two").Replace(line)
		if got := nodeOf(message); got != "worker-1.example.com" {
			t.Errorf("%q is about the Node %q", message, got)
		}
	}
	for _, other := range []string{"Error monitoring node status: x", "Update 5000 nodes status took 1s.", `Starting "cloud-node-controller"`, ""} {
		if got := nodeOf(other); got != "" {
			t.Errorf("%q is about the Node %q", other, got)
		}
	}
}

var verbs = regexp.MustCompile(`%[+a-z]+`)

// notANode is about a key that is no Node's name.
const notANode = "invalid resource key: <node>"

// nodeFormats are the formats of a file's calls of klog, and of its errors for HandleError,
// with a Node's name, as nodeLines has them.
func nodeFormats(t *testing.T, path string) []string {
	t.Helper()
	if strings.HasSuffix(path, "_test.go") {
		return nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	handled := handledErrors(file)
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) < 2 {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		lit, isText := call.Args[0].(*ast.BasicLit)
		if !ok || !isText || !slices.Contains([]string{"Infof", "Warningf", "Errorf"}, sel.Sel.Name) {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name != "klog" && !handled[call] {
			return true // an error that somebody else logs
		}
		format, _ := strconv.Unquote(lit.Value)
		i, names := 0, false
		format = verbs.ReplaceAllStringFunc(format, func(verb string) string {
			i++
			if i >= len(call.Args) || !isNodeName(call.Args[i]) {
				return verb
			}
			names = true
			if verb == "%q" {
				return `"<node>"`
			}
			return "<node>"
		})
		if names && format != notANode {
			found = append(found, strings.ReplaceAll(format, "%s", "%v")) // an error's text either way
		}
		return true
	})
	return found
}

// handledErrors are a file's calls of fmt.Errorf whose errors HandleError may get: its
// argument, and what a function returns whose result it gets by a variable.
func handledErrors(file *ast.File) map[*ast.CallExpr]bool {
	handled := map[*ast.CallExpr]bool{}
	errorsIn := func(in ast.Node) {
		ast.Inspect(in, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && isCall(call, "fmt", "Errorf") {
				handled[call] = true
			}
			return true
		})
	}
	for _, d := range file.Decls {
		var literals []ast.Node
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				literals = append(literals, n)
			case *ast.CallExpr:
				if !isCall(n, "utilruntime", "HandleError") {
					break
				}
				errorsIn(n)
				if _, variable := n.Args[0].(*ast.Ident); variable {
					for _, l := range literals {
						errorsIn(l)
					}
				}
			}
			return true
		})
	}
	return handled
}

func isCall(call *ast.CallExpr, pkg, function string) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != function {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == pkg
}

func isNodeName(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "nodeName" || e.Name == "key"
	case *ast.SelectorExpr:
		x, ok := e.X.(*ast.Ident)
		return ok && e.Sel.Name == "Name" && strings.HasSuffix(strings.ToLower(x.Name), "node")
	}
	return false
}

// TestJSONOfTheFramework: what the framework logs as a sentence has its Node and the place
// in the code.
func TestJSONOfTheFramework(t *testing.T) {
	var out bytes.Buffer
	log, _ := JSON{}.Create(logsapi.LoggingConfiguration{}, logsapi.LoggingOptions{ErrorStream: &out, InfoStream: &out})
	log.Info("Initializing node n1 with cloud provider")
	log.WithValues("a", 1).Error(nil, "error checking if node n2 exists: oh no")
	log.Info("Successfully initialized node n3 with cloud provider", "object", "other")
	log.Error(errors.New("error syncing 'n4': oh no, requeuing"), "Unhandled Error")
	log.Error(errors.New(`unable to update labels map[a:b] for Node "n5": oh no`), "Unhandled Error")
	log.Error(errors.New("error syncing 'n6': oh no, requeuing"), "Unhandled Error", "object", "other")
	log.Error(errors.New("error syncing 'n7': oh no, requeuing"), "another message")
	log.Error(nil, "Unhandled Error")
	var nodes []any
	for line := range strings.Lines(out.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		nodes = append(nodes, fields["node"])
		if at, _ := fields["caller"].(string); !strings.HasSuffix(strings.Split(at, ":")[0], "logging_test.go") {
			t.Errorf("the caller is %q", at)
		}
	}
	if diff := cmp.Diff([]any{map[string]any{"name": "n1"}, map[string]any{"name": "n2"}, nil, map[string]any{"name": "n4"}, map[string]any{"name": "n5"}, nil, nil, nil}, nodes); diff != "" {
		t.Error(diff)
	}
}
