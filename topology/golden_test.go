package topology

import (
	"errors"
	"flag"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"vzones/internal/quote"
	"vzones/test/fixture"
)

var update = flag.Bool("update", false, "write what Resolve says into the golden files")

// TestGolden resolves the layouts in testdata, which are txtar archives by topic:
//
//	-- case NAME --  starts a case, with the purpose behind it
//	-- rules --      label=category, label=inventory:kind or label=hostGroup:name,
//	                 one per line, followed by "optional" and last "value=template";
//	                 label=- has no source of its own
//	-- levels --     the same, followed by "required"
//	-- policy --     "precedence nearest", "paths folder compute",
//	                 "invisible category" if the vCenter does not show it,
//	                 "visible category category" for the categories it shows
//	-- compute --    objects from the nearest to the root, one per line:
//	-- pool --       Type /path category=tag category=tag …
//	                 @groups=a,b and @domain=a for a host's memberships, @groups=
//	                 for none, @groups!why for unreadable memberships,
//	-- folder --     "unreadable: why" for unreadable tags,
//	                 "unreadable: no Read" without permission,
//	                 "broken: why" as the last line of a path
//	-- want --       the placement or the error
//	-- nearest --    optional: the result of precedence nearest
//	-- driver --     optional: the result of the CSI driver
func TestGolden(t *testing.T) {
	fixture.EachCase(t, "testdata/*.txtar", 138, *update, testGolden)
}

type goldenCase struct {
	policy   Policy
	paths    []Path
	sections []txtar.File
}

func parseCase(t *testing.T, from fixture.Case) goldenCase {
	t.Helper()
	c := goldenCase{sections: from.Sections}
	for _, f := range c.sections {
		text := string(f.Data)
		switch f.Name {
		case "rules":
			c.policy.Rules = parseRules(t, text, true)
		case "levels":
			c.policy.Levels = parseRules(t, text, false)
		case "policy":
			parsePolicy(t, text, &c.policy)
		case "compute":
			c.paths = append(c.paths, parsePath(t, ComputePath, text))
		case "pool":
			c.paths = append(c.paths, parsePath(t, PoolPath, text))
		case "folder":
			c.paths = append(c.paths, parsePath(t, FolderPath, text))
		case "want", "nearest", "driver":
		default:
			t.Fatalf("unknown section %q", f.Name)
		}
	}
	for _, f := range c.sections {
		if f.Name == "rules" || f.Name == "levels" {
			parseValues(t, string(f.Data), &c.policy)
		}
	}
	return c
}

func testGolden(t *testing.T, from fixture.Case) {
	c := parseCase(t, from)
	compared := 0
	for i := range c.sections {
		f := &c.sections[i]
		var got string
		switch f.Name {
		case "want":
			p, err := Resolve(c.policy, c.paths)
			got = rendered(p, err)
			checkTexts(t, p, err)
		case "nearest":
			policy := c.policy
			policy.Precedence = PrecedenceNearest
			got = rendered(Resolve(policy, c.paths))
		case "driver":
			got = driverSays(c) + "\n"
		default:
			continue
		}
		compared++
		if *update {
			f.Data = []byte(got)
		} else if d := cmp.Diff(string(f.Data), got); d != "" {
			t.Errorf("%s (-want +got):\n%s", f.Name, d)
		}
	}
	if compared == 0 {
		t.Fatal("no section \"want\"")
	}
}

// checkTexts checks that an Event has room for each text, whose end tells what to do.
func checkTexts(t *testing.T, p Placement, err error) {
	t.Helper()
	var texts []string
	if err != nil {
		texts = append(texts, err.Error())
	}
	for _, u := range p.Undecided {
		texts = append(texts, u.Err.Error())
	}
	for _, c := range p.Conflicts {
		texts = append(texts, c.Text())
	}
	for _, text := range texts {
		if len(text) > quote.LongestNote {
			t.Errorf("%d bytes: %s", len(text), text)
		}
	}
}

func rendered(p Placement, err error) string {
	var b strings.Builder
	if err != nil {
		fmt.Fprintf(&b, "error: %v\n", err)
		if outcomeOf(err) == nil {
			b.WriteString("which is not one of the outcomes\n")
		}
	} else {
		fmt.Fprintf(&b, "path: %s\n", p.Path)
	}
	for _, d := range p.Decisions {
		fmt.Fprintf(&b, "%s: %s (%s)\n", d.Label, d.Value, d.Source())
	}
	for _, u := range p.Undecided {
		fmt.Fprintf(&b, "%s: undecided: %v\n", u.Label, u.Err)
	}
	if len(p.SystemUnread) > 0 {
		fmt.Fprintf(&b, "counts as untagged: %s\n", DescribeObjects(p.SystemUnread))
	}
	for _, c := range p.Conflicts {
		fmt.Fprintf(&b, "conflict: %s on %s (%s): %s\n", c.Kind, strings.Join(c.Labels, ", "), DescribeObjects(c.Objects), c.Text())
	}
	return b.String()
}

func parsePolicy(t *testing.T, text string, p *Policy) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch fields[0] {
		case "precedence":
			p.Precedence = Precedence(fields[1])
		case "paths":
			for _, kind := range fields[1:] {
				p.Paths = append(p.Paths, PathKind(strings.Replace(kind, "pool", string(PoolPath), 1)))
			}
		case "invisible":
			p.Invisible = fields[1:]
		case "visible":
			p.Visible = fields[1:]
		default:
			t.Fatalf("no policy: %q", line)
		}
	}
}

func parseRules(t *testing.T, text string, required bool) Rules {
	var rules Rules
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, " value=") // see parseValues
		fields := strings.Fields(line)
		label, source, ok := strings.Cut(fields[0], "=")
		if !ok {
			t.Fatalf("no rule: %q", line)
		}
		r := Rule{Label: label, Category: source, Required: required}
		if kind, ok := strings.CutPrefix(source, "inventory:"); ok {
			r.Category, r.Inventory = "", Inventory(kind)
		}
		if source == "-" {
			r.Category = ""
		}
		if name, ok := strings.CutPrefix(source, "hostGroup:"); ok {
			r.Category, r.HostGroup = "", name
		}
		if len(fields) == 2 {
			r.Required = fields[1] == "required"
		}
		rules = append(rules, r)
	}
	return rules
}

// parseValues parses the templates of rules once all labels are known.
func parseValues(t *testing.T, text string, p *Policy) {
	for line := range strings.Lines(text) {
		rule, value, composed := strings.Cut(strings.TrimSpace(line), " value=")
		if !composed {
			continue
		}
		label, _, _ := strings.Cut(rule, "=")
		template, err := ParseTemplate(value, label, p.Labels())
		if err != nil {
			t.Fatal(err)
		}
		p.rule(label).Value = template
	}
}

func parsePath(t *testing.T, kind PathKind, text string) Path {
	t.Helper()
	p := Path{Kind: kind}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if why, ok := strings.CutPrefix(line, "broken: "); ok {
			p.Broken = errors.New(why)
			continue
		}
		line, why, unreadable := strings.Cut(line, " unreadable: ")
		fields := strings.Fields(line)
		if len(fields) < 2 {
			t.Fatalf("no object: %q", line)
		}
		fields[1] = strings.ReplaceAll(fields[1], "␠", " ")
		o := &Object{Ref: Ref{VCenter: "east", Type: fields[0], ID: fields[1]}, Path: fields[1], Name: path.Base(fields[1])}
		for _, f := range fields[2:] {
			if belongs(o, f) {
				continue
			}
			category, name, ok := strings.Cut(f, "=")
			if !ok {
				t.Fatalf("no tag: %q", f)
			}
			o.Tags = append(o.Tags, Tag{Category: category, Name: strings.ReplaceAll(name, "␠", " ")})
		}
		if unreadable {
			if o.TagsErr = errors.New(why); why == "no Read" {
				o.TagsErr = fmt.Errorf("reading tags: %w", ErrNotPermitted)
			}
		}
		p.Objects = append(p.Objects, o)
	}
	return p
}

// belongs parses a host's membership.
func belongs(o *Object, field string) bool {
	for prefix, of := range map[string]**Membership{"@groups": &o.HostGroups, "@domain": &o.FaultDomain} {
		rest, ok := strings.CutPrefix(strings.ReplaceAll(field, "␠", " "), prefix)
		if !ok {
			continue
		}
		m := &Membership{}
		why, unreadable := strings.CutPrefix(rest, "!")
		switch {
		case unreadable && why == "no Read":
			m.Err = ErrNotPermitted
		case unreadable:
			m.Err = errors.New(why)
		case rest != "=":
			m.Names = strings.Split(rest[1:], ",")
		}
		*of = m
		return true
	}
	return false
}
