package fleetmap

import (
	"cmp"
	"math"
	"strings"

	"vzones/cmd/vzones/check"
	"vzones/cmd/vzones/cli"
	"vzones/internal/quote"
)

// maxListed limits the hosts per cluster and the marks per list, unless --all is set.
const maxListed = 5

// maxNames limits the Nodes of a host, unless --all is set.
const maxNames = 30

func (f *fleet) tree(showAll bool) []*cli.Branch {
	trees := []*cli.Branch{{Text: f.summary(), Color: cli.Bold}}
	for _, r := range f.Regions {
		trees = append(trees, f.branch(r, showAll))
	}
	if len(f.Notes) > 0 {
		notes := &cli.Branch{Text: "Needs attention", Color: cli.Bold}
		trees = append(trees, notes)
		for _, n := range f.Notes {
			b := notes.Add(n.Kind.color(), "%s: %s", n.Kind.Title(), cli.Number(n.Count))
			for i, entry := range n.Items {
				if n.Kind > incomplete {
					// The tree shows these marks at their objects.
					break
				}
				if i == maxListed && !showAll {
					b.Add(cli.Faint, "and %s more (--all)", cli.Number(len(n.Items)-i))
					break
				}
				b.Add(n.Kind.color(), "%s: %s", entry.List(maxListed), entry.Why())
			}
		}
	}
	if text := f.foreign(); text != "" {
		trees = append(trees, &cli.Branch{Text: text, Color: cli.Faint})
	}
	return trees
}

func (f *fleet) branch(b *box, showAll bool) *cli.Branch {
	most := maxListed
	if showAll {
		most = math.MaxInt
	}
	out := &cli.Branch{Text: strings.TrimSuffix(b.Title+": "+f.occupancyOf(b), ": "), Color: cli.Bold}
	switch b.level {
	case levelCluster:
		out.Color = ""
		if b.Name != "" {
			out.Text = b.Title + " of vCenter " + b.VCenters[0] + ": " + f.occupancyOf(b)
		}
	case levelHost:
		out.Text = strings.TrimSuffix(cmp.Or(b.Name, b.Title)+": "+names(b.Nodes, showAll), ": ")
		out.Color = ""
	}
	for _, m := range b.Marks {
		out.Add(m.Kind.color(), "%s %s", m.Kind.Sign(), m.Text)
	}
	if b.level == levelCluster {
		unplacedNodes := b.Unplaced()
		for _, i := range unplacedNodes {
			out.Add(i.Kind.color(), "%s no placement (%s): %s", i.Kind.Sign(), cmp.Or(i.Reason(), i.Text), quote.Some(i.Names, most))
		}
		if len(unplacedNodes) == 0 && b.Why != "" {
			out.Add(unread.color(), "%s %s", unread.Sign(), b.Why)
		}
		if b.IsUnknown {
			return out
		}
	}
	if b.level == levelHost {
		for _, i := range b.Remarks() {
			out.Add(i.Kind.color(), "%s %s: %s", i.Kind.Sign(), quote.Some(i.Names, most), i.Why())
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

// names lists Nodes, at most maxNames unless showAll is set.
func names(nodes []*node, showAll bool) string {
	var texts []string
	for i, n := range nodes {
		if i == maxNames && !showAll {
			texts = append(texts, "and "+cli.Number(len(nodes)-i)+" more (--all)")
			break
		}
		text := n.Name
		if n.ControlPlane {
			text += " (control plane)"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

func (k kind) color() cli.Color {
	return map[check.Severity]cli.Color{check.Error: cli.Red, check.Warning: cli.Yellow, check.Info: cli.Faint}[kinds[k].severity]
}
