package docs_test

import (
	"errors"
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"

	"vzones/config"
	"vzones/config/parse"
	"vzones/test/page"
)

// In the paths of keys here, an entry under vcenter is called entry.
const (
	entry = "vcenter.entry."
	level = "topology.levels[0]."
)

// tables says where in the file the keys of each table belong.
var tables = map[string][]string{
	"## Top level":                        {""},
	"## Keys of `global` and of an entry": {"global.", entry},
	"## Keys of `global` alone":           {"global."},
	"## Keys of an entry alone":           {entry},
	"## Keys of `labels`":                 {"labels."},
	"## Keys of a rule":                   {"labels.region.", "labels.zone.", level},
	"## Keys of `topology`":               {"topology."},
	"## Keys of a level":                  {level},
	"## Keys of `nodes`":                  {"nodes."},
	"## What is refused":                  {""},
}

// documented returns the keys in the tables of the reference.
func documented(t *testing.T) map[string]bool {
	t.Helper()
	text := read(t, "reference/configuration.md")
	keys := make(map[string]bool)
	for heading, places := range tables {
		found := rows(t, text, heading)
		if len(found) == 0 {
			t.Errorf("no table below %q", heading)
		}
		for _, row := range found {
			for _, place := range places {
				if keys[place+row[0]] {
					t.Errorf("%s%s is documented twice", place, row[0])
				}
				keys[place+row[0]] = true
			}
		}
	}
	return keys
}

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

// mistakesOf returns what is wrong with a file that has one key.
func mistakesOf(t *testing.T, key string) config.Errors {
	t.Helper()
	parts := strings.Split(key, ".")
	var text strings.Builder
	depth := 0
	for _, part := range parts {
		name, isList := strings.CutSuffix(part, "[0]")
		fmt.Fprintf(&text, "%s%s:\n", strings.Repeat("  ", depth), name)
		if depth++; isList {
			fmt.Fprintf(&text, "%s-\n", strings.Repeat("  ", depth))
			depth++
		}
	}
	_, err := parse.Parse("f", []byte(strings.TrimSuffix(text.String(), "\n")+" x\n"))
	found, ok := errors.AsType[config.Errors](err)
	if !ok {
		t.Fatalf("%s: %v", key, err)
	}
	return found
}

func isUnknown(found config.Errors, key string) bool {
	return slices.ContainsFunc(found, func(e config.Error) bool {
		return e.Field == key && strings.HasPrefix(e.Message, "unknown key")
	})
}

// TestKeysAreDocumented: the parser has every key of the reference, and offers no other. The
// tables are written by config/parse, from the descriptions of the keys.
func TestKeysAreDocumented(t *testing.T) {
	docs := documented(t)
	for key := range docs {
		if isUnknown(mistakesOf(t, key), key) {
			t.Errorf("%s is documented and not in the schema", key)
		}
	}
	for _, place := range []string{"", "global.", entry, "labels.", "labels.zone.", "nodes.", "topology.", level} {
		const nonsense = "qqqqqqqqqqqqqqqqqqqq"
		offered := 0
		for _, e := range mistakesOf(t, place+nonsense) {
			_, list, ok := strings.Cut(e.Message, "write one of ")
			if !ok || !strings.HasPrefix(e.Message, "unknown key") {
				continue
			}
			for name := range strings.SplitSeq(list, ", ") {
				offered++
				if !docs[place+name] {
					t.Errorf("%s%s is a key that is not documented", place, name)
				}
			}
		}
		if offered == 0 {
			t.Errorf("the parser offers no key at %q: %v", place, mistakesOf(t, place+nonsense))
		}
	}
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
	good, bad := 0, 0
	for i, b := range all {
		if b.Kind != "yaml" && b.Kind != "ini" {
			continue
		}
		c, err := parse.Parse("vsphere.conf", []byte(b.Text))
		if i+1 < len(all) && all[i+1].Kind == "text" {
			bad++
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
	if good == 0 || bad == 0 {
		t.Errorf("%d examples without and %d with mistakes", good, bad)
	}
}
