package check

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vzones/provider/report"
	"vzones/topology"
)

// IDs are unique and sorted, all fields are set, and the code uses exactly these IDs.
func TestKinds(t *testing.T) {
	id := regexp.MustCompile(`^VZ[13]\d\d$`)
	last := ""
	var all []string
	for _, k := range Kinds() {
		if !id.MatchString(k.ID) || k.ID <= last {
			t.Errorf("%s after %s", k.ID, last)
		}
		last = k.ID
		all = append(all, k.ID)
		if k.Title == "" || k.Meaning == "" || k.Fix == "" || !slices.Contains(Severities(), k.Severity) {
			t.Errorf("kind %s: got %+v, want a title, a meaning, a fix and a severity", k.ID, k)
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var reported []string
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "_test.go") {
			reported = append(reported, regexp.MustCompile(`VZ\d{3}`).FindAllString(string(text), -1)...)
		}
	}
	slices.Sort(reported)
	if reported = slices.Compact(reported); !slices.Equal(all, reported) {
		t.Errorf("kinds.yaml has\n%v\nand check reports\n%v", all, reported)
	}
	if k := Lookup("vz105"); k == nil || k.ID != "VZ105" || Lookup("VZ999") != nil {
		t.Errorf("look-up of vz105: got %+v, want the kind VZ105, and none for VZ999", k)
	}
}

// Findings with one cause become one, with a text and advice that apply to all objects.
func TestCauses(t *testing.T) {
	got := Causes([]Finding{
		{ID: "VZ301", VCenter: "east", Object: "Node b", Text: "zone is x", Command: "fix b", Nodes: []string{"b"}},
		{ID: "VZ165", VCenter: "east", Object: "Node a", Text: "off in /dc/a", Short: "off", Nodes: []string{"a"}},
		{ID: "VZ301", VCenter: "east", Object: "Node a", Text: "zone is x", Command: "fix a", Nodes: []string{"a"}},
		{ID: "VZ165", VCenter: "east", Object: "Node b", Text: "off in /dc/b", Short: "off", Advice: "do else", Nodes: []string{"b"}},
		{ID: "VZ111", VCenter: "west", Object: "vCenter west", Text: "rejected"},
		{ID: "VZ301", VCenter: "west", Object: "Node a", Text: "zone is x"},
		{ID: "VZ165", VCenter: "east", Object: "Node c", Text: "off in /dc/c", Short: "off"},
	})
	var texts []string
	for _, c := range got {
		texts = append(texts, strings.Join([]string{c.ID, c.VCenter, strings.Join(c.Objects, "+"), c.Text, strings.Join(c.Nodes, "+"), strings.Join(c.Commands, "+")}, " | "))
	}
	want := []string{
		"VZ111 | west | vCenter west | rejected |  | ",
		"VZ301 | east | Node b+Node a | zone is x | a+b | fix b+fix a",
		"VZ301 | west | Node a | zone is x |  | ",
		"VZ165 | east | Node a+Node c | off | a | ",
		"VZ165 | east | Node b | off in /dc/b | b | ",
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Fatalf("causes (-want +got):\n%s", diff)
	}
	if got[4].Fix != "do else" || got[3].Fix == "" {
		t.Errorf("got the fixes %q and %q, want that of the kind and that of the finding", got[3].Fix, got[4].Fix)
	}
}

// TestEachKindIsFound checks that the scripts provoke every kind of finding, except those that simulated
// vCenters cannot cause. For these it lists the unit tests.
func TestEachKindIsFound(t *testing.T) {
	elsewhere := map[string]string{
		"VZ104": "TestSteps",
		"VZ159": "TestUnplaced",
		"VZ160": "TestUnplaced",
		"VZ163": "TestUnplaced",
		"VZ169": "TestOutOfService",
		"VZ187": "TestVersions",
	}
	scripts, err := filepath.Glob("../testdata/*/check*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("got the scripts %q and the error %v, want those of check", scripts, err)
	}
	var all strings.Builder
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "!") && !strings.HasPrefix(line, "#") {
				all.WriteString(line)
			}
		}
	}
	found := regexp.MustCompile(`VZ\d{3}`).FindAllString(all.String(), -1)
	for _, k := range Kinds() {
		_, other := elsewhere[k.ID]
		if in := slices.Contains(found, k.ID); in == other {
			t.Errorf("%s (%s): in a script: %t, tested elsewhere: %t", k.ID, k.Title, in, other)
		}
	}
}

// Every conflict and every outcome of the daemon has a kind of finding or is explicitly excluded.
func TestTablesAreComplete(t *testing.T) {
	for _, kind := range topology.ConflictKinds() {
		if _, ok := conflictKinds[kind]; !ok {
			t.Errorf("conflict %s has no kind of finding", kind)
		}
	}
	for _, name := range report.Outcomes() {
		if name == report.Placed || name == report.Foreign {
			continue
		}
		if _, ok := nodeKinds[name]; !ok {
			t.Errorf("outcome %s has no kind of finding", name)
		}
	}
}
