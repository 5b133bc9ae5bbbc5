package explain

import (
	"fmt"
	"strings"

	"vzones/cmd/vzones/cli"
	"vzones/topology/quote"
)

// draw returns an explanation for a person.
func draw(t *cli.Tool, e *Explanation) []byte {
	c := newCanvas(t)
	c.draw(e.wayUp())
	for _, section := range []*branch{e.labels(), e.conflicts(), e.addresses(), e.deletion(), e.unread(), e.problems()} {
		if section != nil {
			c.out.WriteByte('\n')
			c.draw(section)
		}
	}
	return c.out.Bytes()
}

// wayUp is the tree from the Node to the root folder.
func (e *Explanation) wayUp() *branch {
	root := &branch{text: e.title(), color: cli.Bold}
	found := root.add("", "%s", e.Identified.text(e.Node.Managed))
	if e.Identified.Recorded != "" {
		found.add(cli.Faint, "recorded on the Node: %s", quote.Value(e.Identified.Recorded))
	}
	if e.Identified.Error != "" {
		found.add(cli.Red, "%s", e.Identified.Error)
	}
	for i, c := range e.Identified.Candidates {
		if i == quote.Most*2 {
			found.add(cli.Faint, "and %d more", len(e.Identified.Candidates)-i)
			break
		}
		color := cli.Faint
		if c.Standing == "chosen" {
			color = cli.Green
		}
		found.add(color, "%s", c.text)
	}
	if m := e.Machine; m != nil {
		machine := root.add("", "virtual machine %s of vCenter %q (%s), UUID %s, %s", quote.Name(m.Path), m.VCenter, quote.Plain(m.ID), m.UUID, power(m.Power))
		seen := map[string]bool{}
		for i := range e.Paths {
			e.Paths[i].draw(machine, seen)
		}
	}
	return root
}

func power(state string) string {
	if state == "" {
		return "power state not known"
	}
	return state
}

func (e *Explanation) title() string {
	if !e.Node.InCluster {
		return fmt.Sprintf("%s has no Node: what a new one would get", quote.Value(e.Node.Name))
	}
	var is []string
	add := func(holds bool, yes, no string) {
		if !holds {
			yes = no
		}
		is = append(is, yes)
	}
	add(e.Node.Ready, "ready", "not ready")
	add(e.Node.Initialized, "initialized", "waits to be initialized")
	if !e.Node.Managed {
		is = append(is, "not managed by vzones")
	}
	return fmt.Sprintf("Node %s (%s)", quote.Plain(e.Node.Name), strings.Join(is, ", "))
}

func (i *Identified) text(managed bool) string {
	if !managed && i.By == "" {
		return "its machine is not looked for"
	}
	what := ""
	switch i.By {
	case "uuid":
		what = "by its UUID " + i.Value
	case "providerID":
		what = "by the provider ID " + quote.Plain(i.Value)
	case "systemUUID":
		what = "by the system UUID " + i.Value + " that the kubelet reports"
	case "systemUUIDSwapped":
		what = "by the system UUID that the kubelet reports, in vSphere's byte order " + i.Value
	case "name":
		what = "by the name " + quote.Value(i.Value) + ", since there is no UUID"
	default:
		return "says nothing about its machine that can be used"
	}
	if i.Error != "" {
		return "looked for " + what
	}
	return "identified " + what
}

// draw draws one path below the machine. What was drawn before is named only.
func (p *Path) draw(machine *branch, seen map[string]bool) {
	title := p.Kind + " path"
	if !p.Walked {
		title += " (no tag is looked for here)"
	}
	at := machine.add(cli.Blue, "%s", title)
	joined := false
	for _, o := range p.Objects {
		key := o.Type + ":" + o.ID
		if seen[key] {
			at.add(cli.Faint, "%s, as above", o.name)
			joined = true
			break
		}
		seen[key] = true
		at = o.draw(at)
	}
	if p.Broken != "" && !joined {
		at.add(cli.Yellow, "what is above cannot be read: %s", p.Broken)
	}
}

func (o *Object) draw(at *branch) *branch {
	line := at.add("", "%s", o.name)
	if o.Unread != "" {
		line.add(cli.Yellow, "tags not read: %s", o.Unread)
	}
	if len(o.HostGroups) > 0 {
		line.add("", "DRS host groups: %s", quoted(o.HostGroups))
	}
	if o.FaultDomain != "" {
		line.add("", "vSAN fault domain: %s", quote.Value(o.FaultDomain))
	}
	for _, t := range o.Tags {
		t.draw(line)
	}
	return line
}

func quoted(names []string) string {
	all := make([]string, len(names))
	for i, n := range names {
		all[i] = quote.Value(n)
	}
	return strings.Join(all, ", ")
}

func (t *Tag) draw(line *branch) {
	name := fmt.Sprintf("tag %s: %s", quote.Plain(t.Category), quote.Plain(t.Name))
	if len(t.For) == 0 {
		line.add(cli.Faint, "%s (no label comes from this category)", name)
	}
	for _, f := range t.For {
		switch f.Fate {
		case "decides":
			line.add(cli.Green, "%s → %s", name, f.Label)
		case "two_tags", "invalid_value":
			line.add(cli.Red, "%s for %s: %s", name, f.Label, f.Text)
		default:
			line.add(cli.Faint, "%s for %s: %s", name, f.Label, f.Text)
		}
	}
}
