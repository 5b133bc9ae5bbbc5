package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
	"vzones/topology/quote"
)

// print prints an explanation for a person.
func (e *Explanation) print(t *cli.Tool) error {
	return t.PrintTrees(e.wayUp(), e.labels(), e.conflicts(), e.addresses(), e.deletion(), e.unread(), e.problems())
}

// wayUp is the tree from the Node to the root folder.
func (e *Explanation) wayUp() *cli.Branch {
	root := &cli.Branch{Text: e.title(), Color: cli.Bold}
	found := root.Add("", "%s", e.Identified.text(e.Node.Managed))
	if e.Identified.Recorded != "" {
		found.Add(cli.Faint, "recorded on the Node: %s", quote.Value(e.Identified.Recorded))
	}
	if e.Identified.Error != "" {
		found.Add(cli.Red, "%s", e.Identified.Error)
	}
	for i, c := range e.Identified.Candidates {
		if i == quote.Most*2 {
			found.Add(cli.Faint, "and %d more", len(e.Identified.Candidates)-i)
			break
		}
		color := cli.Faint
		if c.Standing == "chosen" {
			color = cli.Green
		}
		found.Add(color, "%s", c.text)
	}
	if m := e.Machine; m != nil {
		machine := root.Add("", "virtual machine %s of vCenter %q (%s), UUID %s, %s", quote.Name(m.Path), m.VCenter, quote.Plain(m.ID), m.UUID, cmp.Or(m.Power, "power state not known"))
		seen := map[string]bool{}
		for i := range e.Paths {
			e.Paths[i].draw(machine, seen)
		}
	}
	return root
}

func (e *Explanation) title() string {
	if !e.Node.InCluster {
		return fmt.Sprintf("%s has no Node: what a new one would get", quote.Value(e.Node.Name))
	}
	is := "not ready"
	if e.Node.Ready {
		is = "ready"
	}
	if e.Node.Initialized {
		is += ", initialized"
	} else {
		is += ", waits to be initialized"
	}
	if !e.Node.Managed {
		is += ", not managed by vzones"
	}
	return fmt.Sprintf("Node %s (%s)", quote.Plain(e.Node.Name), is)
}

func (i *Identified) text(managed bool) string {
	if !managed && i.By == "" {
		return "its machine is not looked for"
	}
	how := map[string]string{
		"uuid": "by its UUID %s", "providerID": "by the provider ID %s", "systemUUID": "by the system UUID %s that the kubelet reports",
		"systemUUIDSwapped": "by the system UUID that the kubelet reports, in vSphere's byte order %s", "name": "by the name %s, since there is no UUID",
	}[i.By]
	switch {
	case how == "":
		return "says nothing about its machine that can be used"
	case i.Error != "":
		return "looked for " + fmt.Sprintf(how, quote.Plain(i.Value))
	}
	return "identified " + fmt.Sprintf(how, quote.Plain(i.Value))
}

// draw draws one path below the machine. What was drawn before is named only.
func (p *Path) draw(machine *cli.Branch, seen map[string]bool) {
	title := p.Kind + " path"
	if !p.Walked {
		title += " (no tag is looked for here)"
	}
	at := machine.Add(cli.Blue, "%s", title)
	joined := false
	for _, o := range p.Objects {
		key := o.Type + ":" + o.ID
		if seen[key] {
			at.Add(cli.Faint, "%s, as above", o.name)
			joined = true
			break
		}
		seen[key] = true
		at = o.draw(at)
	}
	if p.Broken != "" && !joined {
		at.Add(cli.Yellow, "what is above cannot be read: %s", p.Broken)
	}
}

func (o *Object) draw(at *cli.Branch) *cli.Branch {
	line := at.Add("", "%s", o.name)
	if o.Unread != "" {
		line.Add(cli.Yellow, "tags not read: %s", o.Unread)
	}
	if len(o.HostGroups) > 0 {
		line.Add("", "DRS host groups: %s", strings.Join(world.Quoted(o.HostGroups), ", "))
	}
	if o.FaultDomain != "" {
		line.Add("", "vSAN fault domain: %s", quote.Value(o.FaultDomain))
	}
	for _, t := range o.Tags {
		t.draw(line)
	}
	return line
}

func (t *Tag) draw(line *cli.Branch) {
	name := fmt.Sprintf("tag %s: %s", quote.Plain(t.Category), quote.Plain(t.Name))
	if len(t.For) == 0 {
		line.Add(cli.Faint, "%s (no label comes from this category)", name)
	}
	for _, f := range t.For {
		switch f.Fate {
		case "decides":
			line.Add(cli.Green, "%s → %s", name, f.Label)
		case "two_tags", "invalid_value":
			line.Add(cli.Red, "%s for %s: %s", name, f.Label, f.Text)
		default:
			line.Add(cli.Faint, "%s for %s: %s", name, f.Label, f.Text)
		}
	}
}

func (e *Explanation) labels() *cli.Branch {
	if len(e.Labels) == 0 {
		return nil
	}
	root := &cli.Branch{Text: "Labels", Color: cli.Bold}
	for i := range e.Labels {
		e.Labels[i].draw(root, e.Node.InCluster)
	}
	if e.Taint {
		root.Add(cli.Red, "the Node has, or gets, the taint vzones/topology-drift")
	}
	return root
}

func (l *Label) draw(root *cli.Branch, inCluster bool) {
	on, color := "not on the Node", cli.Color("")
	switch {
	case l.Node != "":
		on = quote.Value(l.Node) + " on the Node"
	case !inCluster:
		on = ""
	}
	place := quote.Value(l.Place) + " by its place"
	switch {
	case l.Place == "" && l.Undecided != "":
		place, color = "not decided", cli.Yellow
	case l.Place == "":
		place = "nothing gives it a value"
	case l.Place == l.Node && !l.Differs:
		on, place, color = quote.Value(l.Place), "on the Node and by its place", cli.Green
	}
	if l.Differs {
		color = cli.Red
	}
	text := place
	switch {
	case color == cli.Green:
		text = on + " " + place
	case on != "":
		text = on + ", " + place
	}
	b := root.Add(color, "%s: %s", l.Label, text)
	more := func(color cli.Color, prefix, text string) {
		if text != "" {
			b.Add(color, "%s%s", prefix, text)
		}
	}
	more("", "by ", l.Source)
	more(cli.Faint, "", l.Why)
	more(cli.Yellow, "", l.Undecided)
	more(cli.Yellow, "not certain: ", l.Uncertain)
	more("", "", l.Text)
}

func (e *Explanation) conflicts() *cli.Branch {
	if len(e.Conflicts) == 0 {
		return nil
	}
	root := &cli.Branch{Text: "Conflicts, to be changed in vSphere or in the configuration", Color: cli.Bold}
	for _, c := range e.Conflicts {
		root.Add(cli.Yellow, "%s: %s", c.Kind, c.Text)
	}
	return root
}

func (e *Explanation) addresses() *cli.Branch {
	a := e.Addresses
	if a == nil {
		return nil
	}
	root := &cli.Branch{Text: "Addresses", Color: cli.Bold}
	for _, one := range a.Chosen {
		switch {
		case slices.Contains(a.Node, one):
			root.Add(cli.Green, "%s %s, on the Node", one.Type, quote.Plain(one.Address))
		case a.Changed && e.Node.InCluster:
			root.Add("", "%s %s, which the daemon writes", one.Type, quote.Plain(one.Address))
		default:
			root.Add("", "%s %s, by the rules", one.Type, quote.Plain(one.Address))
		}
	}
	if a.Error != "" {
		root.Add(cli.Red, "%s", a.Error)
	}
	if len(a.Results) > 0 {
		each := root.Add("", "each address of the machine")
		for _, r := range a.Results {
			r.draw(each)
		}
	}
	return root
}

func (r *Result) draw(each *cli.Branch) {
	from := "on network " + quote.Value(r.Network)
	switch {
	case !r.Reported && r.Static:
		from = "of the machine's metadata, not reported by VMware Tools"
	case !r.Reported:
		from = "of the kubelet's --node-ip, not reported by VMware Tools"
	case r.Static:
		from += ", in the machine's metadata"
	}
	text := fmt.Sprintf("internal: %s, external: %s", r.Internal, r.External)
	if r.Internal == r.External {
		text = r.Internal
	}
	color := cli.Faint
	if r.Chosen {
		color = cli.Green
	}
	each.Add(color, "%s %s: %s", r.Address, from, text)
}

func (e *Explanation) deletion() *cli.Branch {
	if len(e.Deletion.Conditions) == 0 {
		return nil
	}
	root := &cli.Branch{Text: "Deletion: the Node is kept, since not all of this holds", Color: cli.Bold}
	if e.Deletion.Deleted {
		root.Text = "Deletion: the daemon has the Node deleted, since all of this holds"
	}
	for _, c := range e.Deletion.Conditions {
		switch {
		case c.Holds == nil:
			root.Add(cli.Faint, "not asked: %s", c.Text)
		case *c.Holds:
			root.Add("", "yes: %s", c.Text)
		default:
			root.Add(cli.Green, "no: %s", c.Text)
		}
	}
	return root
}

func (e *Explanation) unread() *cli.Branch {
	if len(e.Unread) == 0 {
		return nil
	}
	root := &cli.Branch{Text: "vCenters that could not be read", Color: cli.Bold}
	for _, u := range e.Unread {
		root.Add(cli.Yellow, "%s", u.Error)
	}
	return root
}

func (e *Explanation) problems() *cli.Branch {
	root := &cli.Branch{Text: "Nothing is wrong with the Node", Color: cli.Green}
	if len(e.Problems) == 0 {
		if !e.Node.Managed {
			root.Text = "vzones does nothing about the Node"
		} else if !e.Node.InCluster {
			root.Text = "A Node on this machine would be initialized"
		}
		return root
	}
	root = &cli.Branch{Text: "Problems", Color: cli.Bold}
	for _, p := range e.Problems {
		root.Add(cli.Red, "%s: %s", p.Reason, p.Text)
	}
	return root
}
