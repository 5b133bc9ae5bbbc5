package topology

import (
	"fmt"
	"slices"
	"testing"
	"testing/quick"
)

// TestContendersAgreeWithResolve: of the tags of a label's category the one decides from which
// Resolve takes the value, none does where Resolve takes none, and each occurs once.
func TestContendersAgreeWithResolve(t *testing.T) {
	decided, lost := 0, 0
	property := func(f fleet) bool {
		placed, err := Resolve(f.Policy, f.Paths)
		all := Contenders(f.Policy, f.Paths)
		for _, label := range f.Policy.Labels() {
			d, has := placed.decision(label)
			var deciding []Contender
			for _, c := range all {
				if c.Label == label && c.Fate == FateDecides {
					deciding = append(deciding, c)
				}
			}
			decided += len(deciding)
			switch {
			case has && (len(deciding) != 1 || deciding[0].Tag.Name != d.Value || deciding[0].By.Ref != d.By.Ref):
				t.Logf("label %s is %q by %s, and the contenders say %v", label, d.Value, d.By, deciding)
				return false
			case !has && err == nil && len(deciding) > 0:
				t.Logf("label %s has no value, and the contenders say %v", label, deciding)
				return false
			}
		}
		want, got := tagsFor(f), namesOf(all)
		lost += len(got)
		if !slices.Equal(want, got) {
			t.Logf("there are %v, and the contenders are %v", want, got)
			return false
		}
		return true
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 20000}); err != nil {
		t.Error(err)
	}
	if lost -= decided; decided < 1000 || lost < 1000 {
		t.Errorf("only %d tags decided and %d did not", decided, lost)
	}
}

// tagsFor lists the tags that a label may come from, each once for a label.
func tagsFor(f fleet) []string {
	var all []string
	for _, rules := range []Rules{f.Policy.Rules, f.Policy.Levels} {
		for _, rule := range rules {
			for _, p := range f.Paths {
				if !slices.Contains(f.Policy.paths(), p.Kind) {
					continue
				}
				for _, o := range p.Objects {
					for _, tag := range o.Tags {
						if tag.Category == rule.Category {
							all = append(all, fmt.Sprint(rule.Label, o.Ref, tag))
						}
					}
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func namesOf(all []Contender) []string {
	var names []string
	for _, c := range all {
		names = append(names, fmt.Sprint(c.Label, c.By.Ref, c.Tag))
	}
	slices.Sort(names)
	return names
}

// TestFates: why each tag lost.
func TestFates(t *testing.T) {
	host := &Object{Ref: Ref{"east", typeHost, "h"}, Tags: []Tag{{"zone", "near"}}}
	cluster := &Object{Ref: Ref{"east", typeCluster, "c"}, Tags: []Tag{{"zone", "mid"}, {"region", "r"}}}
	dc := &Object{Ref: Ref{"east", typeDatacenter, "d"}, Tags: []Tag{{"zone", "far"}}}
	folder := &Object{Ref: Ref{"east", typeFolder, "f"}, Tags: []Tag{{"zone", "beside"}}}
	paths := []Path{{Kind: ComputePath, Objects: []*Object{host, cluster, dc}}, {Kind: FolderPath, Objects: []*Object{folder, dc}}}
	for _, test := range []struct {
		precedence Precedence
		paths      []PathKind
		want       string
	}{
		{PrecedenceCSI, nil, "near overwritten, mid decides, far beyond_walk, beside other_path"},
		{PrecedenceNearest, nil, "near decides, mid farther, far beyond_walk, beside other_path"},
		{PrecedenceCSI, []PathKind{FolderPath, ComputePath}, "near overwritten, mid decides, far beyond_walk, beside incomplete_path"},
		{PrecedenceCSI, []PathKind{FolderPath}, "beside no_decision, far no_decision"},
	} {
		policy := regionAndZone()
		policy.Precedence, policy.Paths = test.precedence, test.paths
		got := ""
		for _, c := range Contenders(policy, paths) {
			if c.Label == LabelZone {
				got += fmt.Sprintf(", %s %s", c.Tag.Name, c.Fate)
			}
			if c.Fate.Text() == "" {
				t.Errorf("fate %s has no text", c.Fate)
			}
		}
		if got[2:] != test.want {
			t.Errorf("precedence %s, paths %v:\ngot  %s\nwant %s", test.precedence, test.paths, got[2:], test.want)
		}
	}
}
