package parse_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"vzones/config/internal/problem"
	"vzones/config/internal/schema"
	"vzones/config/parse"
)

// keysBelow notes the keys below some fields, with what they are read into. Of what has a
// name there is one, called NAME.
func keysBelow(path, join string, fields []schema.Field, into map[string]any) {
	for _, f := range fields {
		name := path + f.Name
		below := func(fields []schema.Field) { keysBelow(name+join, " ", fields, into) }
		if join == "." {
			below = func(fields []schema.Field) { keysBelow(name+".", ".", fields, into) }
		}
		switch to := f.Into.(type) {
		case schema.Group:
			below(to.Fields)
		case schema.Entries:
			keysBelow(name+".NAME.", join, to.Add("NAME", problem.Position{Line: 1}), into)
		case schema.Elements:
			below(to.Add(problem.Position{Line: 1}))
		case schema.Named:
			fields, _ := to.Add("NAME", problem.Position{Line: 1})
			keysBelow("["+f.Name+" NAME] ", join, fields, into)
		case *schema.Rule:
			into[name] = to
			if join == "." {
				below(to.Fields())
			}
		default:
			into[name] = to
		}
	}
}

// yamlKeys are the keys of the YAML format, such as global.port.
func yamlKeys() map[string]any {
	all := make(map[string]any)
	keysBelow("", ".", (&schema.File{}).Fields(), all)
	return all
}

// iniKeys are the keys of the INI format, such as [Global] port; a section that is
// accepted or refused as a whole is [Disk].
func iniKeys() map[string]any {
	all := make(map[string]any)
	for _, section := range (&schema.File{}).Sections() {
		switch to := section.Into.(type) {
		case schema.Group:
			keysBelow("["+section.Name+"] ", " ", to.Fields, all)
		case schema.Named:
			keysBelow("", " ", []schema.Field{section}, all)
		default:
			all["["+section.Name+"]"] = to
		}
	}
	return all
}

// A compared is what a row of the comparison says of a key or variable.
type compared struct{ effect, why string }

var inBackquotes = regexp.MustCompile("`([^`]+)`")

// comparison returns the rows of a table of the comparison with the incumbent by what is in
// backquotes in the first cell.
func comparison(t *testing.T, heading string) map[string]compared {
	t.Helper()
	text, err := os.ReadFile("../docs/reference/compared-with-the-cpi.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("no heading %q", heading)
	}
	table, _, _ = strings.Cut(table, "\n## ")
	all := make(map[string]compared)
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 {
			continue
		}
		for _, name := range inBackquotes.FindAllStringSubmatch(cells[1], -1) {
			if _, again := all[name[1]]; again {
				t.Errorf("%s is there twice", name[1])
			}
			all[name[1]] = compared{strings.TrimSpace(cells[2]), strings.TrimSpace(cells[3])}
		}
	}
	if len(all) == 0 {
		t.Fatalf("no rows below %q", heading)
	}
	return all
}

// rowOf returns the row that a key is in: its own, or one that ends with .* for all below.
func rowOf(rows map[string]compared, key string) (row string, found bool) {
	if _, found := rows[key]; found {
		return key, true
	}
	for row := range rows {
		if above, all := strings.CutSuffix(row, "*"); all && strings.HasPrefix(key, above) {
			return row, true
		}
	}
	return "", false
}

// agrees checks that a row says of a key what the code does with it.
func agrees(t *testing.T, key string, row compared, into any) {
	t.Helper()
	switch to := into.(type) {
	case schema.Refused:
		if row.effect != "not taken" || row.why != "`"+to.Why+"`" {
			t.Errorf("%s is refused with %q, the table has %s: %s", key, to.Why, row.effect, row.why)
		}
	case schema.Ignored:
		if row.effect != "no effect" {
			t.Errorf("%s %s, the table has %s", key, string(to), row.effect)
		}
	case schema.OfCSI:
		if no := row.effect == "no effect"; no != (to.Session == nil) {
			t.Errorf("%s is the CSI driver's, the table has %s", key, row.effect)
		}
	default:
		if row.effect == "not taken" || row.effect == "no effect" {
			t.Errorf("%s is read, the table has %s", key, row.effect)
		}
	}
}

// compare checks that each key is in a row, and that each row has a key.
func compare(t *testing.T, rows map[string]compared, keys map[string]any) {
	t.Helper()
	used := make(map[string]bool)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		row, found := rowOf(rows, key)
		if !found {
			t.Errorf("%s is missing", key)
			continue
		}
		used[row] = true
		agrees(t, key, rows[row], keys[key])
	}
	for row := range rows {
		if !used[row] {
			t.Errorf("%s is not known to the code", row)
		}
	}
}

// inINI is where the sections of the YAML format are in the other one.
var inINI = map[string]string{"global.": "[Global] ", "vcenter.NAME.": "[VirtualCenter NAME] ", "labels.": "[Labels] ", "nodes.": "[Nodes] "}

// TestYAMLKeysAreCompared: the comparison with the incumbent has each key of the schema, and
// no other. Those that are the INI format's spelling of another one are that, and those that
// only the INI format's table has are what it says.
func TestYAMLKeysAreCompared(t *testing.T) {
	rows, keys, ini := comparison(t, "Keys in YAML"), yamlKeys(), comparison(t, "Keys in INI")
	if keys["global.port"] == nil || keys["vcenter.NAME.server"] == nil || keys["topology.levels.label"] == nil {
		t.Fatalf("the keys are not understood: %v", slices.Sorted(maps.Keys(keys)))
	}
	maps.DeleteFunc(keys, func(key string, _ any) bool { return strings.Contains(key, "-") && isSpelling(key, keys) })
	for above, section := range inINI {
		for key, into := range keys {
			name, below := strings.CutPrefix(key, above)
			row, there := ini[section+name]
			if _, own := rowOf(rows, key); below && there && !own {
				agrees(t, key, row, into)
				delete(keys, key)
			}
		}
	}
	compare(t, rows, keys)
}

// isSpelling reports whether a key with dashes is another spelling of one without.
func isSpelling(key string, keys map[string]any) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(keys)), func(other string) bool {
		return other != key && problem.Dash(other) == problem.Dash(key)
	})
}

// TestINIKeysAreCompared: the same for the INI format, whose keys are those of YAML and the
// ones in a table of their own.
func TestINIKeysAreCompared(t *testing.T) {
	rows, keys, yaml := comparison(t, "Keys in INI"), iniKeys(), comparison(t, "Keys in YAML")
	if keys["[Global] port"] == nil || keys["[VirtualCenter NAME] server"] == nil || keys["[Disk]"] == nil {
		t.Fatalf("the keys are not understood: %v", slices.Sorted(maps.Keys(keys)))
	}
	for key, row := range yaml {
		for above, section := range inINI {
			name, below := strings.CutPrefix(key, above)
			into, there := keys[section+problem.Dash(name)]
			if _, own := rows[section+problem.Dash(name)]; !below || own {
				continue
			}
			if !there {
				if !strings.HasSuffix(key, "*") {
					t.Errorf("%s is not in the INI format, and the table has no word of that", key)
				}
				continue
			}
			agrees(t, section+problem.Dash(name), row, into)
			delete(keys, section+problem.Dash(name))
		}
	}
	compare(t, rows, keys)
}

// TestVariablesAreCompared: the same for environment variables. What is said of those that
// are not read is what the table has.
func TestVariablesAreCompared(t *testing.T) {
	rows := comparison(t, "Environment variables")
	keys := make(map[string]any)
	for _, f := range (&schema.File{}).Variables() {
		keys[f.Variable] = f.Into
	}
	for name, row := range rows {
		if row.effect != "not taken" {
			continue
		}
		delete(rows, name)
		_, err := parse.Parse("f", []byte("vcenter: {vc.example.com: {user: u, password: p}}"), name+"=value.example.com")
		want := "<nil>"
		if message := inBackquotes.FindString(row.why); message != "" {
			want = fmt.Sprintf("environment variable %s: %s", name, strings.Trim(message, "`"))
		}
		if strings.HasPrefix(name, "VCENTER_") {
			want = "<nil>" // it belongs to the previous one, which is told
		}
		if got := fmt.Sprint(err); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	compare(t, rows, keys)
}
