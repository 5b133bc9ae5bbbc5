package fleetmap

import (
	"cmp"
	"strings"

	"vzones/cmd/vzones/check"
	"vzones/cmd/vzones/cli"
)

// maxListed limits the hosts per cluster and the marks per list, unless --all is set.
const maxListed = 5

func (f *fleet) tree(showAll bool) []*cli.Branch {
	trees := []*cli.Branch{{Text: f.summary(), Color: cli.Bold}}
	for _, r := range f.Regions {
		trees = append(trees, f.branch(r, showAll))
	}
	if len(f.Notes) > 0 {
		notes := &cli.Branch{Text: "Needs attention", Color: cli.Bold}
		trees = append(trees, notes)
		for _, n := range f.Notes {
			b := notes.Add(n.Kind.color(), "%s: %s", n.Kind.Title(), cli.Number(len(n.Items)))
			for i, entry := range n.Items {
				if n.Kind > incomplete {
					// The tree shows these marks at their objects.
					break
				}
				if i == maxListed && !showAll {
					b.Add(cli.Faint, "and %s more (--all)", cli.Number(len(n.Items)-i))
					break
				}
				b.Add(n.Kind.color(), "%s: %s", entry.Name, entry.Text)
			}
		}
	}
	if text := f.foreign(); text != "" {
		trees = append(trees, &cli.Branch{Text: text, Color: cli.Faint})
	}
	return trees
}

func (f *fleet) branch(b *box, showAll bool) *cli.Branch {
	out := &cli.Branch{Text: b.Title + ": " + f.occupancy(b.Counts), Color: cli.Bold}
	switch b.level {
	case levelCluster:
		out.Text = b.Title + " of vCenter " + b.VCenters[0] + ": " + f.occupancy(b.Counts)
		out.Color = ""
	case levelHost:
		out.Text = strings.TrimSuffix(cmp.Or(b.Name, b.Title)+": "+names(b.Nodes), ": ")
		out.Color = ""
	}
	for _, m := range b.Marks {
		out.Add(m.Kind.color(), "%s %s", m.Kind.Sign(), m.Text)
	}
	for _, n := range b.Nodes {
		for _, m := range n.Marks {
			out.Add(m.Kind.color(), "%s %s: %s", m.Kind.Sign(), n.Name, m.Text)
		}
	}
	var left []*box
	for i, below := range b.Boxes {
		if below.level == levelHost && !showAll && i >= maxListed && below.Counts.Problems == 0 {
			left = append(left, below)
		} else {
			out.Below = append(out.Below, f.branch(below, showAll))
		}
	}
	if len(left) > 0 {
		text := "and " + cli.Count(len(left), "more host")
		if c := count(left); c.Nodes > 0 {
			text += " with " + cli.Count(c.Nodes, "Node")
		}
		out.Add(cli.Faint, "%s (--all)", text)
	}
	return out
}

func names(nodes []*node) string {
	texts := make([]string, len(nodes))
	for i, n := range nodes {
		if texts[i] = n.Name; n.ControlPlane {
			texts[i] += " (control plane)"
		}
	}
	return strings.Join(texts, ", ")
}

func (k kind) color() cli.Color {
	return map[check.Severity]cli.Color{check.Error: cli.Red, check.Warning: cli.Yellow, check.Info: cli.Faint}[kinds[k].severity]
}
