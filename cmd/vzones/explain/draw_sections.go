package explain

import (
	"fmt"

	"vzones/cmd/vzones/cli"
	"vzones/topology/quote"
)

func (e *Explanation) labels() *branch {
	if len(e.Labels) == 0 {
		return nil
	}
	root := &branch{text: "Labels", color: cli.Bold}
	for i := range e.Labels {
		e.Labels[i].draw(root, e.Node.InCluster)
	}
	if e.Taint {
		root.add(cli.Red, "the Node has, or gets, the taint vzones/topology-drift")
	}
	return root
}

func (l *Label) draw(root *branch, inCluster bool) {
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
	b := root.add(color, "%s: %s", l.Label, text)
	for _, more := range []struct {
		color cli.Color
		text  string
	}{{"", prefixed("by ", l.Source)}, {cli.Faint, l.Why}, {cli.Yellow, l.Undecided}, {cli.Yellow, prefixed("not certain: ", l.Uncertain)}, {"", l.Text}} {
		if more.text != "" {
			b.add(more.color, "%s", more.text)
		}
	}
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

func (e *Explanation) conflicts() *branch {
	if len(e.Conflicts) == 0 {
		return nil
	}
	root := &branch{text: "Conflicts, to be changed in vSphere or in the configuration", color: cli.Bold}
	for _, c := range e.Conflicts {
		root.add(cli.Yellow, "%s: %s", c.Kind, c.Text)
	}
	return root
}

func (e *Explanation) addresses() *branch {
	a := e.Addresses
	if a == nil {
		return nil
	}
	root := &branch{text: "Addresses", color: cli.Bold}
	on := map[string]bool{}
	for _, one := range a.Node {
		on[one.Type+one.Address] = true
	}
	for _, one := range a.Chosen {
		switch {
		case on[one.Type+one.Address]:
			root.add(cli.Green, "%s %s, on the Node", one.Type, quote.Plain(one.Address))
		case a.Changed && e.Node.InCluster:
			root.add("", "%s %s, which the daemon writes", one.Type, quote.Plain(one.Address))
		default:
			root.add("", "%s %s, by the rules", one.Type, quote.Plain(one.Address))
		}
	}
	if a.Error != "" {
		root.add(cli.Red, "%s", a.Error)
	}
	if len(a.Results) > 0 {
		each := root.add("", "each address of the machine")
		for _, r := range a.Results {
			r.draw(each)
		}
	}
	return root
}

func (r *Result) draw(each *branch) {
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
	each.add(color, "%s %s: %s", r.Address, from, text)
}

func (e *Explanation) deletion() *branch {
	if len(e.Deletion.Conditions) == 0 {
		return nil
	}
	root := &branch{text: "Deletion: the Node is kept, since not all of this holds", color: cli.Bold}
	if e.Deletion.Deleted {
		root.text = "Deletion: the daemon has the Node deleted, since all of this holds"
	}
	for _, c := range e.Deletion.Conditions {
		switch {
		case c.Holds == nil:
			root.add(cli.Faint, "not asked: %s", c.Text)
		case *c.Holds:
			root.add("", "yes: %s", c.Text)
		default:
			root.add(cli.Green, "no: %s", c.Text)
		}
	}
	return root
}

func (e *Explanation) unread() *branch {
	if len(e.Unread) == 0 {
		return nil
	}
	root := &branch{text: "vCenters that could not be read", color: cli.Bold}
	for _, u := range e.Unread {
		root.add(cli.Yellow, "%s", u.Error)
	}
	return root
}

func (e *Explanation) problems() *branch {
	root := &branch{text: "Nothing is wrong with the Node", color: cli.Green}
	if len(e.Problems) == 0 {
		if !e.Node.Managed {
			root.text = "vzones does nothing about the Node"
		} else if !e.Node.InCluster {
			root.text = "A Node on this machine would be initialized"
		}
		return root
	}
	root = &branch{text: "Problems", color: cli.Bold}
	for _, p := range e.Problems {
		root.add(cli.Red, "%s: %s", p.Reason, p.Text)
	}
	return root
}
