package docs_test

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"

	"vzones/config/parse"
	"vzones/test/page"
)

// named returns the names of the fields in a node of source: the literals after Name.
func named(n ast.Node, key string) map[string]bool {
	found := make(map[string]bool)
	ast.Inspect(n, func(n ast.Node) bool {
		if kv, ok := n.(*ast.KeyValueExpr); ok {
			id, isName := kv.Key.(*ast.Ident)
			if text, ok := literal(kv.Value); ok && isName && id.Name == key {
				found[text] = true
			}
		}
		return true
	})
	return found
}

// TestDefaultsAreDocumented compares the table with what a small file gives.
func TestDefaultsAreDocumented(t *testing.T) {
	c, err := parse.Parse("f", []byte("vcenter: {vc.example.com: {user: user, password: password}}"))
	if err != nil {
		t.Fatal(err)
	}
	vc := c.VCenters[0]
	if len(vc.Datacenters) > 0 || vc.CAFile != "" || vc.Thumbprint != "" || len(c.Topology.Policy.Labels()) > 0 {
		t.Errorf("a default that the reference does not have: %+v", vc)
	}
	kinds := strings.ReplaceAll(fmt.Sprintf("%q", c.Topology.Policy.Paths), "resource pool", "resourcePool")
	inTopology := map[string]string{
		"precedence": string(c.Topology.Policy.Precedence),
		"paths":      strings.ReplaceAll(strings.ReplaceAll(kinds, `" "`, ", "), `"`, ""),
		"backfill":   fmt.Sprint(c.Topology.Backfill),
		"drift":      string(c.Topology.Drift),
		"settle":     fmt.Sprintf("%gs", c.Topology.Settle.Seconds()),
	}
	for _, row := range rows(t, read(t, "reference/configuration.md"), "## Keys of `topology`") {
		if got := strings.Trim(row[2], "`"); got != inTopology[row[0]] {
			t.Errorf("the default of %s is documented as %q, and is %q", row[0], got, inTopology[row[0]])
		}
	}
	want := map[string]string{
		"port":               fmt.Sprint(vc.Port),
		"insecureFlag":       fmt.Sprint(vc.Insecure),
		"soapRoundtripCount": fmt.Sprint(vc.RoundTrips),
		"ipFamily":           fmt.Sprint(vc.IPFamilies),
		"datacenters":        "all",
	}
	for _, row := range rows(t, read(t, "reference/configuration.md"), "## Keys of `global` and of an entry") {
		if got := strings.Trim(row[2], "`"); got != want[row[0]] {
			t.Errorf("the default of %s is documented as %q, and is %q", row[0], got, want[row[0]])
		}
	}
}

// TestVariablesAreDocumented: the reference has every environment variable that is
// read, and no other.
func TestVariablesAreDocumented(t *testing.T) {
	source, docs := make(map[string]bool), make(map[string]bool)
	for _, file := range sources(t, "../config/schema") {
		maps.Copy(source, named(file, "Variable"))
		for name, value := range constantsIn(file) {
			if text, ok := literal(value); ok && strings.HasPrefix(strings.ToLower(name), "variable") {
				source[text] = true
			}
		}
	}
	for _, row := range rows(t, read(t, "reference/configuration.md"), "## Environment variables") {
		docs[row[0]] = true
	}
	if !maps.Equal(docs, source) {
		t.Errorf("documented: %v\nin the source: %v", slices.Sorted(maps.Keys(docs)), slices.Sorted(maps.Keys(source)))
	}
	for name := range docs {
		const text = "[VirtualCenter \"10.0.0.1\"]\nuser = u\npassword = p\n"
		c, err := parse.Parse("f", []byte(text), name+"=https://x\x01y")
		told := fmt.Sprint(err)
		if err == nil {
			told = fmt.Sprint(c.Warnings)
		}
		// Any text can be a password.
		if !strings.Contains(told, "environment variable "+name+": ") && name != "VSPHERE_PASSWORD" {
			t.Errorf("%s: nothing is said of a value that is wrong: %v", name, err)
		}
	}
}

// TestSectionsAreDocumented: the reference has every section of the INI format.
func TestSectionsAreDocumented(t *testing.T) {
	source, docs := named(methodOf(t, "../config/schema/ini.go", "File", "Sections"), "Name"), make(map[string]bool)
	text := read(t, "reference/configuration.md")
	for _, row := range rows(t, text, "## The INI format") {
		name, _, _ := strings.Cut(strings.Trim(row[0], "[]"), " ")
		docs[name] = true
	}
	for name := range source {
		isKey := strings.ToLower(name) == name || strings.Contains(name, ".")
		if !isKey && !docs[name] && !strings.Contains(text, "`["+name+"]`") && !strings.Contains(text, "`["+name+" ") {
			t.Errorf("[%s] is not documented", name)
		}
	}
	for name := range docs {
		if !source[name] {
			t.Errorf("[%s] is documented and not in the source", name)
		}
	}
}

// TestExamplesAreRead: YAML and INI in the reference are configuration files without
// mistakes and warnings, or the next block of text is what is said of it.
func TestExamplesAreRead(t *testing.T) {
	all := page.Blocks(read(t, "reference/configuration.md"))
	good := 0
	for i, b := range all {
		if b.Kind != "yaml" && b.Kind != "ini" {
			continue
		}
		c, err := parse.Parse("vsphere.conf", []byte(b.Text))
		if i+1 < len(all) && all[i+1].Kind == "text" {
			if got := fmt.Sprint(err) + "\n"; got != all[i+1].Text {
				t.Errorf("got:\n%s\nthe reference says:\n%s", got, all[i+1].Text)
			}
			continue
		}
		good++
		if err != nil || len(c.Warnings) > 0 {
			t.Errorf("%s\n%v", b.Text, err)
		}
	}
	if good == 0 {
		t.Error("the reference has no examples")
	}
}
