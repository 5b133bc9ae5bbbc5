package parse_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"vzones/config/configtest"
	"vzones/config/parse"
	"vzones/config/problem"
	"vzones/config/schema"
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

// variables are the environment variables that override a key.
func variables() map[string]any {
	all := make(map[string]any)
	for _, f := range (&schema.File{}).Variables() {
		all[f.Variable] = f.Into
	}
	return all
}

// effectOf says what is done with the value of a key.
func effectOf(into any) string {
	switch to := into.(type) {
	case schema.Refused:
		return "refused: " + to.Why
	case schema.Ignored:
		return "ignored: " + string(to)
	}
	return "read"
}

// TestKeysOfTheIncumbent: the golden file says which keys of a configuration and which environment variables
// are read, ignored or refused. The vSphere CPI's are among them, so that a change of what vzones takes over
// from it is a change of the file.
func TestKeysOfTheIncumbent(t *testing.T) {
	var b strings.Builder
	for i, part := range []struct {
		title string
		keys  map[string]any
	}{{"keys in YAML", yamlKeys()}, {"keys in INI", iniKeys()}, {"environment variables", variables()}} {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "# %s\n", part.title)
		for _, key := range slices.Sorted(maps.Keys(part.keys)) {
			fmt.Fprintf(&b, "%s: %s\n", key, effectOf(part.keys[key]))
		}
	}
	configtest.GoldenFile(t, "testdata/keys.txt", b.String())
}

// TestVariablesThatAreNotRead: a variable by which the CPI adds a vCenter is refused, since the file would
// lack that vCenter. Its companions and those of NSX-T do nothing.
func TestVariablesThatAreNotRead(t *testing.T) {
	for name, want := range map[string]string{
		"VSPHERE_VCENTER_EAST":  "environment variable VSPHERE_VCENTER_EAST: is not read: write the vCenter into the file",
		"VCENTER_EAST_USERNAME": "<nil>",
		"NSXT_MANAGER_HOST":     "<nil>",
	} {
		_, err := parse.Parse("f", []byte("vcenter: {vc.example.com: {user: u, password: p}}"), name+"=value.example.com")
		if got := fmt.Sprint(err); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
