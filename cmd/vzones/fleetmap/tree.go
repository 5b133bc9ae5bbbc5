package fleetmap

import (
	"bytes"
	"cmp"
	"strings"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/finding"
)

// few is how many hosts of a cluster, and marks in a list, are shown where not all are wanted.
const few = 5

// A tree prints a fleet on a terminal.
type tree struct {
	fleet *fleet
	tool  *cli.Tool
	width int // in columns, 0 if lines are not wrapped
	all   bool
	out   bytes.Buffer
}

func (f *fleet) tree(tool *cli.Tool, width int, all bool) []byte {
	t := &tree{fleet: f, tool: tool, width: width, all: all}
	t.line("", "", cli.Bold, f.summary())
	for _, r := range f.Regions {
		t.line("", "", "", "")
		t.box(r, "", "")
	}
	for i, n := range f.Notes {
		if i == 0 {
			t.line("", "", "", "")
		}
		t.line("", "", colorOf(n.Kind), n.Kind.Title()+": "+cli.Number(len(n.Items)))
		for i, one := range n.Items {
			if n.Kind > incomplete { // it is beside the object
				break
			}
			if i == few && !t.all {
				t.line("  ", "  ", cli.Faint, "and "+cli.Number(len(n.Items)-i)+" more (--all)")
				break
			}
			t.mark("  ", mark{n.Kind, one.Text}, one.Name+": ")
		}
	}
	if text := f.foreign(); text != "" {
		t.line("", "", "", "")
		t.line("", "", cli.Faint, text)
	}
	return t.out.Bytes()
}

// line prints a text, and what does not fit the terminal below it, behind rest.
func (t *tree) line(first, rest string, color cli.Color, text string) {
	t.tool.Wrap(&t.out, t.width, first, rest+"  ", color, text)
}

// box prints a box and those inside.
func (t *tree) box(b *box, first, rest string) {
	switch b.level {
	case levelRegion, levelZone:
		t.line(first, rest, cli.Bold, b.Title+": "+t.fleet.on(b.Counts))
	case levelCluster:
		t.line(first, rest, "", b.Title+" of vCenter "+b.VCenters[0]+": "+t.fleet.on(b.Counts))
	default:
		t.line(first, rest, "", strings.TrimSuffix(cmp.Or(b.Name, b.Title)+": "+names(b.Nodes), ": "))
	}
	for _, m := range b.Marks {
		t.mark(rest, m, "")
	}
	for _, n := range b.Nodes {
		for _, m := range n.Marks {
			t.mark(rest, m, n.Name+": ")
		}
	}
	var shown, left []*box
	for i, below := range b.Boxes {
		if below.level < levelHost || t.all || i < few || below.Counts.Problems > 0 {
			shown = append(shown, below)
		} else {
			left = append(left, below)
		}
	}
	for i, below := range shown {
		if i == len(shown)-1 && len(left) == 0 {
			t.box(below, rest+"└─ ", rest+"   ")
		} else {
			t.box(below, rest+"├─ ", rest+"│  ")
		}
	}
	if len(left) > 0 {
		text := "and " + cli.Count(len(left), "more host")
		if c := count(left); c.Nodes > 0 {
			text += " with " + cli.Count(c.Nodes, "Node")
		}
		t.line(rest+"└─ ", rest+"   ", cli.Faint, text+" (--all)")
	}
}

func names(nodes []*node) string {
	all := make([]string, len(nodes))
	for i, n := range nodes {
		if all[i] = n.Name; n.ControlPlane {
			all[i] += " (control plane)"
		}
	}
	return strings.Join(all, ", ")
}

func (t *tree) mark(rest string, m mark, about string) {
	sign := map[finding.Severity]string{finding.Error: "!! ", finding.Warning: "! ", finding.Info: "· "}[kinds[m.Kind].severity]
	t.line(rest, rest, colorOf(m.Kind), sign+about+m.Text)
}

func colorOf(k kind) cli.Color {
	return map[finding.Severity]cli.Color{finding.Error: cli.Red, finding.Warning: cli.Yellow, finding.Info: cli.Faint}[kinds[k].severity]
}
