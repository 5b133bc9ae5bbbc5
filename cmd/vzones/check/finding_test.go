package check

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestKinds: IDs are used once and in order, each kind is whole, and the code of check has exactly these.
func TestKinds(t *testing.T) {
	id, last := regexp.MustCompile(`^VZ[13]\d\d$`), ""
	var all []string
	for _, k := range Kinds() {
		if !id.MatchString(k.ID) || k.ID <= last {
			t.Errorf("%s after %s", k.ID, last)
		}
		last = k.ID
		all = append(all, k.ID)
		if k.Title == "" || k.Meaning == "" || k.Fix == "" || !slices.Contains(Severities(), k.Severity) {
			t.Errorf("%+v", k)
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
		t.Errorf("found %+v", k)
	}
}

// TestCauses: findings with one cause are one, in which text and advice hold for all objects. The worst is
// first, then the cause before its consequences.
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
	if !reflect.DeepEqual(texts, want) {
		t.Errorf("got:\n%s", strings.Join(texts, "\n"))
	}
	if got[4].Fix != "do else" || got[3].Fix == "" {
		t.Errorf("fixes %q and %q", got[3].Fix, got[4].Fix)
	}
}
