package main

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
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	componentbaseconfig "k8s.io/component-base/config"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"vzones/config"
	"vzones/config/parse"
)

// formats are loggers that write into a buffer, in the formats that there are.
func formats(out *bytes.Buffer) map[string]logr.Logger {
	inJSON, _ := jsonFormat{}.Create(logsapi.LoggingConfiguration{}, logsapi.LoggingOptions{ErrorStream: out, InfoStream: out})
	return map[string]logr.Logger{
		"text": textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(out))),
		"json": inJSON,
	}
}

// where is what two runs of the same code have in different words.
var where = regexp.MustCompile(`(?m)^I\d{4} .*?\] |"ts":[0-9.e+]+,"caller":"[^"]+\.go:\d+",`)

const summarized = `
global:
  secretName: vsphere
  secretNamespace: kube-system
vcenter:
  east: {server: vc-east.example.com, datacenters: [dc-1, dc-2], thumbprint: "AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA"}
  west: {server: 192.0.2.7, port: 8443, user: S3cret-user, password: S3cret-word, insecureFlag: true, index: followed}
labels: {region: k8s-region, zone: k8s-zone}
nodes: {selector: "pool in (a, b)"}
topology:
  drift: taint
  levels:
  - {label: example.com/host, inventory: host}
`

const summaryText = `"Starting the vSphere cloud controller manager" version="v1.2.3" commit="abc" go="go1.26" platform="linux/amd64" configuration="Secret kube-system/vsphere-config"
"Configured vCenter" vCenter="east" server="vc-east.example.com:443" datacenters=["dc-1","dc-2"] credentials=["Secret kube-system/vsphere"] certificate="thumbprint" index="all"
"Configured vCenter" vCenter="west" server="192.0.2.7:8443" datacenters=["all"] credentials=["Secret kube-system/vsphere","user in the configuration"] certificate="not verified" index="followed"
"Configured labels" labels=["region=category \"k8s-region\"","zone=category \"k8s-zone\"","example.com/host=name of the host"] precedence="csi" backfill=true drift="taint" settle="1m0s"
"Watching Nodes and vCenters" nodes="pool in (a,b)" tagRefresh="30s" nodeDeletion=true controllers=["cloud-node-controller","topology-controller"]
"Taking part in the leader election" lease="kube-system/ccm" leaseDuration="15s" retryPeriod="750ms" warmStandby=true
`

const summaryJSON = `{"msg":"Starting the vSphere cloud controller manager","v":0,"version":"v1.2.3","commit":"abc","go":"go1.26","platform":"linux/amd64","configuration":"Secret kube-system/vsphere-config"}
{"msg":"Configured vCenter","v":0,"vCenter":"east","server":"vc-east.example.com:443","datacenters":["dc-1","dc-2"],"credentials":["Secret kube-system/vsphere"],"certificate":"thumbprint","index":"all"}
{"msg":"Configured vCenter","v":0,"vCenter":"west","server":"192.0.2.7:8443","datacenters":["all"],"credentials":["Secret kube-system/vsphere","user in the configuration"],"certificate":"not verified","index":"followed"}
{"msg":"Configured labels","v":0,"labels":["region=category \"k8s-region\"","zone=category \"k8s-zone\"","example.com/host=name of the host"],"precedence":"csi","backfill":true,"drift":"taint","settle":"1m0s"}
{"msg":"Watching Nodes and vCenters","v":0,"nodes":"pool in (a,b)","tagRefresh":"30s","nodeDeletion":true,"controllers":["cloud-node-controller","topology-controller"]}
{"msg":"Taking part in the leader election","v":0,"lease":{"name":"ccm","namespace":"kube-system"},"leaseDuration":"15s","retryPeriod":"750ms","warmStandby":true}
`

func TestSummary(t *testing.T) {
	cfg, err := parse.Parse("vsphere.yaml", []byte(summarized))
	if err != nil {
		t.Fatal(err)
	}
	s := &summary{
		version: version.Info{GitVersion: "v1.2.3", GitCommit: "abc", GoVersion: "go1.26", Platform: "linux/amd64"},
		source:  (&source{secret: config.SecretRef{Namespace: "kube-system", Name: "vsphere-config"}}).String(),
		cfg:     cfg, tagRefresh: 30 * time.Second, controllers: []string{"cloud-node-controller", "topology-controller"}, warm: true,
		election: componentbaseconfig.LeaderElectionConfiguration{
			LeaderElect: true, ResourceNamespace: "kube-system", ResourceName: "ccm",
			LeaseDuration: metav1.Duration{Duration: 15 * time.Second}, RetryPeriod: metav1.Duration{Duration: 750 * time.Millisecond},
		},
	}
	var out bytes.Buffer
	want := map[string]string{"text": summaryText, "json": summaryJSON}
	for name, log := range formats(&out) {
		out.Reset()
		s.log(klog.NewContext(t.Context(), log))
		got := where.ReplaceAllString(out.String(), "")
		if diff := cmp.Diff(want[name], got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if strings.Contains(out.String(), "S3cret") {
			t.Errorf("%s: the log has a credential", name)
		}
	}
}

// TestWarningsNameTheirVCenter, whatever its name is and in which format it is.
func TestWarningsNameTheirVCenter(t *testing.T) {
	for name, text := range map[string]string{
		"YAML": `
global: {user: u, password: p, soapRoundtripCount: 5, insecureFlag: true}
vcenter:
  vc: {server: 192.0.2.1, insecureFlag: true}
  vc.example.com: {insecureFlag: true}
  10.0.0.1: {insecureFlag: true}
  "1st vc": {server: 192.0.2.2, insecureFlag: true}
`,
		"INI": `
[Global]
user = u
password = p
insecure-flag = true
[VirtualCenter "vc"]
server = 192.0.2.1
insecure-flag = true
[VirtualCenter "vc.example.com"]
insecure-flag = true
[VirtualCenter "10.0.0.1"]
insecure-flag = true
[VirtualCenter "1st vc"]
server = 192.0.2.2
insecure-flag = true
[Disk]
scsicontrollertype = pvscsi
`,
	} {
		cfg, err := parse.Parse("vsphere.conf", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		warn(klog.NewContext(t.Context(), formats(&out)["json"]), nil, cfg)
		var found []string
		for line := range strings.Lines(out.String()) {
			var fields struct{ VCenter, Warning string }
			if err := json.Unmarshal([]byte(line), &fields); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			if own := strings.Contains(fields.Warning, "switches the verification"); own != (fields.VCenter != "") {
				t.Errorf("%s: %s", name, line)
			}
			if fields.VCenter != "" {
				found = append(found, fields.VCenter)
			}
		}
		if diff := cmp.Diff([]string{"vc", "vc.example.com", "10.0.0.1", "1st vc"}, found); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestWantsJSON(t *testing.T) {
	for args, want := range map[string]bool{
		"": false, "--logging-format=json": true, "--logging-format json": true, "--logging_format=json": true,
		"--logging-format=text": false, "--logging-format=json --logging-format=text": false,
		"--nonsense --logging-format=json": true, "--nonsense": false, "--logging-format": false, "json": false,
	} {
		if got := wantsJSON(strings.Fields(args)); got != want {
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
	log := formats(&out)["json"]
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
