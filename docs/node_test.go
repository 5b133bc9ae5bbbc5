package docs_test

import (
	"go/ast"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/provider/nodeinfo"
	"vzones/topology"
)

// foreignKeys are the labels, annotations and taints of others that the code names by their
// packages' constants.
var foreignKeys = map[string]string{
	"v1.LabelFailureDomainBetaRegion":                v1.LabelFailureDomainBetaRegion,
	"v1.LabelFailureDomainBetaZone":                  v1.LabelFailureDomainBetaZone,
	"v1.LabelInstanceType":                           v1.LabelInstanceType,
	"v1.LabelInstanceTypeStable":                     v1.LabelInstanceTypeStable,
	"v1.LabelTopologyRegion":                         v1.LabelTopologyRegion,
	"v1.LabelTopologyZone":                           v1.LabelTopologyZone,
	"v1.TaintNodeOutOfService":                       v1.TaintNodeOutOfService,
	"cloudproviderapi.AnnotationAlphaProvidedIPAddr": cloudproviderapi.AnnotationAlphaProvidedIPAddr,
	"cloudproviderapi.TaintExternalCloudProvider":    cloudproviderapi.TaintExternalCloudProvider,
	"cloudproviderapi.TaintNodeShutdown":             cloudproviderapi.TaintNodeShutdown,
}

var (
	// nodeKey is what the key of a label, an annotation or a taint looks like.
	nodeKey = regexp.MustCompile(`^([a-z0-9-]+\.)*(kubernetes\.io|k8s\.io|vmware\.com)/[A-Za-z0-9._-]*$`)
	// keyConstant is what constants for them are called.
	keyConstant = regexp.MustCompile(`^(v1|cloudproviderapi)\.((Label|Annotation)[A-Z]\w+|Taint(Node|External)\w+)$`)
	quoted      = regexp.MustCompile("`([^`\n]+)`")
)

// keysInSource returns the keys on Nodes that the code names, and where. Imports are not
// among them, nor are the conditions that are not of Nodes, nor what charts say of where
// their Pods run.
func keysInSource(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for path, file := range sources(t, "../provider", "../topology", "../config", "../cmd") {
		if name := filepath.Base(path); name == "chart_values.go" || name == "chart_write.go" {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.BasicLit:
				if s, ok := literal(n); ok && nodeKey.MatchString(s) {
					found[s] = path
				}
			case *ast.BinaryExpr:
				if s, ok := literal(n.Y); ok && written(n.X) == "topology.OwnDomain" && s != "/" {
					found[topology.OwnDomain+s] = path
				}
			case *ast.SelectorExpr:
				of, ok := n.X.(*ast.Ident)
				if !ok || !keyConstant.MatchString(of.Name+"."+n.Sel.Name) {
					return true
				}
				key, ok := foreignKeys[of.Name+"."+n.Sel.Name]
				if !ok {
					t.Errorf("%s uses %s.%s, which this test does not know: add it to foreignKeys", path, of.Name, n.Sel.Name)
					return true
				}
				found[key] = path
			}
			return true
		})
	}
	return found
}

// TestNodeKeysAreDocumented: whatever key of a label, an annotation or a taint the code has
// is in the reference of what a Node gets, where the configuration takes it, or where the tool reads it.
func TestNodeKeysAreDocumented(t *testing.T) {
	var text string
	for _, page := range []string{"reference/node.md", "reference/configuration.md", "reference/placement.md", "reference/findings.md"} {
		text += read(t, page)
	}
	documented := map[string]bool{}
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		documented[m[1]] = true
	}
	found := keysInSource(t)
	for key, path := range found {
		if isPrefix := strings.HasSuffix(key, "/"); !documented[key] && (!isPrefix || !strings.Contains(text, "`"+key)) {
			t.Errorf("%s has the key %q, which no reference has", path, key)
		}
	}
	if len(found) == 0 {
		t.Error("no keys found")
	}
}

// TestTableOfNodeKeys: the table has all of ours, and nothing that the code does not have.
func TestTableOfNodeKeys(t *testing.T) {
	ours := map[string]bool{nodeinfo.KeyVM: true, nodeinfo.KeyVCenter: true, nodeinfo.KeyInstanceUUID: true, nodeinfo.KeyLabels: true, nodeinfo.KeyFormerAddresses: true, nodeinfo.KeyInitialized: true, nodeinfo.DriftTaint: true, nodeinfo.TopologyReady: true}
	foreign := slices.Collect(maps.Values(foreignKeys))
	for _, row := range rows(t, read(t, "reference/node.md"), "## Annotations, taint and condition") {
		key, isOurs := row[0], row[2] == "vzones"
		if isOurs != ours[key] || !isOurs && !slices.Contains(foreign, key) {
			t.Errorf("the code has no key %q that is %s", key, row[2])
		}
		delete(ours, key)
	}
	for key := range ours {
		t.Errorf("%s is not in the table", key)
	}
}

// TestVariablesOfTheDaemonAreDocumented: the variables that the daemon itself reads, besides
// those that change the configuration, are in the reference of its flags.
func TestVariablesOfTheDaemonAreDocumented(t *testing.T) {
	documented, found := map[string]bool{}, map[string]bool{}
	for _, row := range rows(t, read(t, "reference/flags.md"), "## Environment variables") {
		for _, m := range quoted.FindAllStringSubmatch("`"+row[0]+"`", -1) {
			documented[m[1]] = true
		}
	}
	for _, file := range sources(t, "../provider", "../vcenter", "../cmd/vsphere-cloud-controller-manager") {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			function := strings.ToLower(written(call.Fun))
			if name, ok := literal(call.Args[0]); ok && (strings.HasSuffix(function, "getenv") || strings.HasSuffix(function, "lookupenv")) {
				found[name] = true
			}
			return true
		})
	}
	if len(found) == 0 || !maps.Equal(documented, found) {
		t.Errorf("documented: %v\nread: %v", slices.Sorted(maps.Keys(documented)), slices.Sorted(maps.Keys(found)))
	}
}
