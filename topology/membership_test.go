package topology

import (
	"errors"
	"fmt"
	"math/rand"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/quick"
)

// letters are short texts, so that patterns often match names.
type letters string

func (letters) Generate(r *rand.Rand, _ int) reflect.Value {
	var b strings.Builder
	for range r.Intn(7) {
		b.WriteByte("aab*.["[r.Intn(6)])
	}
	return reflect.ValueOf(letters(b.String()))
}

func TestFitsIsTheRegularExpression(t *testing.T) {
	fitted := 0
	property := func(pattern, name letters) bool {
		parts := strings.Split(string(pattern), "*")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		want := regexp.MustCompile(`^` + strings.Join(parts, `.*`) + `$`).MatchString(string(name))
		if want {
			fitted++
		}
		return fits(string(pattern), string(name)) == want
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 50000, Rand: rand.New(rand.NewSource(1))}); err != nil {
		t.Error(err)
	}
	if fitted < 2000 {
		t.Errorf("only %d fit", fitted)
	}
}

// grouped is a random VM on a host with groups, and a policy that needs them.
type grouped struct {
	Policy Policy
	Paths  []Path
}

func (grouped) Generate(r *rand.Rand, _ int) reflect.Value {
	membership := func(most int) *Membership {
		switch r.Intn(10) {
		case 0:
			return nil
		case 1:
			return &Membership{Err: ErrNotPermitted}
		case 2:
			return &Membership{Err: errors.New("refused")}
		}
		m := &Membership{}
		for range r.Intn(most + 1) {
			if name := []string{"site-a", "site-b", "rack-1", "Site C", "x"}[r.Intn(5)]; !slices.Contains(m.Names, name) {
				m.Names = append(m.Names, name)
			}
		}
		slices.Sort(m.Names)
		return m
	}
	host := &Object{Ref: Ref{VCenter: "east", Type: []string{typeHost, typeHost, typeHost, typeHost, typePool}[r.Intn(5)], ID: "h"}, Path: "/h",
		HostGroups: membership(3), FaultDomain: membership(1)}
	above := &Object{Ref: Ref{VCenter: "east", Type: []string{typeCluster, typeCluster, typeCluster, typeCluster, typeStandalone, typeFolder}[r.Intn(6)], ID: "c"}, Path: "/c"}
	p := Path{Kind: ComputePath, Objects: []*Object{host, above, {Ref: Ref{VCenter: "east", Type: typeFolder, ID: "root"}, Path: "/"}}}
	if r.Intn(8) == 0 {
		p.Objects, p.Broken = p.Objects[:r.Intn(3)], errors.New("no privilege")
	}
	var g grouped
	if r.Intn(8) > 0 {
		g.Paths = append(g.Paths, p)
	}
	rule := func(label string) Rule {
		if r.Intn(4) == 0 {
			return Rule{Label: label, Inventory: InventoryFaultDomain, Required: r.Intn(2) == 0}
		}
		return Rule{Label: label, HostGroup: []string{"site-*", "*", "rack-1", "*-a", "Site*"}[r.Intn(5)], Required: r.Intn(2) == 0}
	}
	g.Policy.Rules = Rules{rule(LabelRegion), rule(LabelZone)}[r.Intn(3)%2:]
	g.Policy.Levels = Rules{rule("example.com/level")}
	return reflect.ValueOf(g)
}

// say returns the expected result of a rule, from a table of the possible states of a host.
func (g *grouped) say(rule Rule) string {
	var compute *Path
	for i := range g.Paths {
		compute = &g.Paths[i]
	}
	if compute == nil || len(compute.Objects) < 2 || compute.Objects[0].Ref.Type != typeHost || compute.Objects[1].Ref.Type == typeFolder {
		return "unknown"
	}
	if compute.Objects[1].Ref.Type == typeStandalone {
		return "missing"
	}
	of, pattern := compute.Objects[0].HostGroups, strings.ReplaceAll(regexp.QuoteMeta(rule.HostGroup), `\*`, ".*")
	if rule.HostGroup == "" {
		of, pattern = compute.Objects[0].FaultDomain, ".*"
	}
	if of == nil || of.Err != nil {
		return "unknown"
	}
	var fit []string
	for _, name := range of.Names {
		if regexp.MustCompile("^" + pattern + "$").MatchString(name) {
			fit = append(fit, name)
		}
	}
	switch {
	case len(fit) == 0:
		return "missing"
	case len(fit) > 1:
		return "ambiguous"
	case strings.Contains(fit[0], " "):
		return "invalid"
	}
	return "value " + fit[0]
}

// TestMembershipIsTheTable checks that unreadable memberships are never missing.
func TestMembershipIsTheTable(t *testing.T) {
	seen := map[string]int{}
	property := func(g grouped) bool {
		want := map[string]string{}
		fails := ""
		for _, rule := range slices.Concat(g.Policy.Rules, g.Policy.Levels) {
			said := g.say(rule)
			seen[strings.Fields(said)[0]]++
			switch {
			case rule.Required && fails == "" && !strings.HasPrefix(said, "value"):
				fails = said
			case said != "missing":
				want[rule.Label] = said
			}
		}
		p, err := Resolve(g.Policy, g.Paths)
		if fails != "" {
			return err != nil && outcomeOf(err).Error() == fails && len(p.Decisions) == 0
		}
		got := map[string]string{}
		for _, d := range p.Decisions {
			got[d.Label] = "value " + d.Value
			if d.By.Ref.Type != typeCluster || !strings.Contains(d.Source(), d.HostGroup) {
				t.Errorf("decided by %s", d.Source())
			}
		}
		for _, u := range p.Undecided {
			got[u.Label] = outcomeOf(u.Err).Error()
		}
		for _, c := range p.Conflicts {
			seen[string(c.Kind)]++
			if !strings.Contains(c.Text(), c.Objects[0].Path) || !strings.Contains(c.Text(), c.Labels[0]) {
				t.Errorf("the text names too little: %s", c.Text())
			}
		}
		return err == nil && fmt.Sprint(got) == fmt.Sprint(want)
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 40000, Rand: rand.New(rand.NewSource(2))}); err != nil {
		t.Error(err)
	}
	for _, what := range []string{"value", "missing", "unknown", "ambiguous", "invalid", "two_groups", "invalid_value"} {
		if seen[what] < 300 {
			t.Errorf("%s came %d times only", what, seen[what])
		}
	}
}

func TestNotCSI(t *testing.T) {
	p := Policy{
		Rules: Rules{{Label: LabelRegion, Inventory: InventoryDatacenter}, {Label: LabelZone, HostGroup: "site-*"}, {Label: "rack", Category: "rack"}},
		// The CSI driver ignores levels.
		Levels: Rules{{Label: "l", HostGroup: "x"}},
	}
	var got []string
	for _, c := range p.NotCSI() {
		got = append(got, c.Labels...)
		if c.Kind != ConflictNotCSI || !strings.Contains(c.Text(), "label "+c.Labels[0]) && !strings.Contains(c.Text(), "Label "+c.Labels[0]) || !strings.Contains(c.Text(), "tags only") {
			t.Errorf("got a conflict of kind %s, want %s that names label %s: %s", c.Kind, ConflictNotCSI, c.Labels[0], c.Text())
		}
	}
	if fmt.Sprint(got) != fmt.Sprint([]string{LabelRegion, LabelZone}) {
		t.Errorf("got %v", got)
	}
	if tags := regionAndZone(); tags.NotCSI() != nil || tags.HostGroups() || tags.FaultDomains() || !p.HostGroups() || p.FaultDomains() {
		t.Error("policies need other things")
	}
	if p = (Policy{Levels: Rules{{Label: "l", Inventory: InventoryFaultDomain}}}); !p.FaultDomains() || p.HostGroups() || p.NotCSI() != nil {
		t.Error("a level needs other things")
	}
}
