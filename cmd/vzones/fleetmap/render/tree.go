package render

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/finding"
	"vzones/cmd/vzones/fleetmap/model"
	"vzones/topology/quote"
)

// Tree is how a map is printed on a terminal.
type Tree struct {
	// Hosts is how many hosts of a cluster, and how many Nodes without a place, are shown; negative
	// for all, with all Nodes. Hosts with problems come first, then those with Nodes.
	Hosts int
	// Width is the terminal's, in columns, 0 where lines are not wrapped.
	Width int
	// Paint colors a text.
	Paint func(cli.Color, string) string
}

// Print returns the map as a tree.
func (t *Tree) Print(m *model.Map) []byte {
	b := &branch{tree: t, out: &bytes.Buffer{}}
	b.line(span{title(m), cli.Bold})
	for i := range m.Regions {
		b.gap()
		b.region(&m.Regions[i], m.Cluster)
	}
	if len(m.Unplaced) > 0 {
		b.gap()
		b.unplaced(m.Unplaced)
	}
	b.vcenters(m)
	if len(m.Kinds) > 0 {
		b.gap()
		b.line(span{"marked", cli.Bold})
		for _, k := range m.Kinds {
			b.line(span{fmt.Sprintf("%5s  %s", number(k.Count), k.Title), colorOf(k.Kind.Severity())})
		}
	}
	if m.Counts.Foreign > 0 {
		b.gap()
		b.line(span{foreign(m), cli.Faint})
	}
	return b.out.Bytes()
}

// A span is a text in a color.
type span struct {
	text  string
	color cli.Color
}

// A branch prints below one object of the tree.
type branch struct {
	tree *Tree
	out  *bytes.Buffer
	// first and rest are before the first line of the object and before all others.
	first, rest string
}

// child returns the branch of one of several objects below.
func (b *branch) child(last bool) *branch {
	c := *b
	if last {
		c.first, c.rest = b.rest+"└─ ", b.rest+"   "
	} else {
		c.first, c.rest = b.rest+"├─ ", b.rest+"│  "
	}
	return &c
}

func (b *branch) gap() { b.out.WriteByte('\n') }

// line prints one line of texts, and wraps it at blanks where the terminal is narrower.
func (b *branch) line(spans ...span) {
	prefix := b.first
	b.first = b.rest
	room := b.tree.Width - utf8.RuneCountInString(prefix)
	var text strings.Builder
	used := 0
	for i, s := range spans {
		if b.tree.Width == 0 || room < 20 {
			text.WriteString(sep(i) + b.tree.Paint(s.color, s.text))
			continue
		}
		var run []string // the words of the span that are on this line
		flush := func() { text.WriteString(b.tree.Paint(s.color, strings.Join(run, " "))); run = nil }
		for j, word := range strings.Split(s.text, " ") {
			n := utf8.RuneCountInString(word)
			switch {
			case used == 0:
			case used+1+n > room:
				flush()
				fmt.Fprintf(b.out, "%s%s\n", prefix, text.String())
				text.Reset()
				prefix, used = b.rest+"  ", 0
				room = b.tree.Width - utf8.RuneCountInString(prefix)
			case j == 0:
				text.WriteByte(' ')
				used++
			default:
				used++
			}
			run = append(run, word)
			used += n
		}
		flush()
	}
	fmt.Fprintf(b.out, "%s\n", strings.TrimRight(prefix+text.String(), " "))
}

func sep(i int) string {
	if i == 0 {
		return ""
	}
	return " "
}

func (b *branch) region(r *model.Region, cluster bool) {
	b.line(span{regionName(r) + ":", cli.Bold}, span{count(r.Counts.Zones, "zone") + ", " + hosts(&r.Counts, cluster), cli.Faint})
	b.marks(r.Marks)
	for i := range r.Zones {
		b.child(i == len(r.Zones)-1).zone(&r.Zones[i], cluster)
	}
}

func (b *branch) zone(z *model.Zone, cluster bool) {
	what := "vCenter"
	if len(z.VCenters) > 1 {
		what = "vCenters"
	}
	b.line(span{zoneName(z) + ":", cli.Bold}, span{hosts(&z.Counts, cluster) + ", " + what + " " + quoted(z.VCenters), cli.Faint})
	b.marks(z.Marks)
	for i := range z.Clusters {
		b.child(i == len(z.Clusters)-1).cluster(&z.Clusters[i], cluster, len(z.VCenters) > 1)
	}
}

func (b *branch) cluster(c *model.Cluster, nodes, several bool) {
	text := hosts(&c.Counts, nodes)
	if several {
		text += ", vCenter " + quote.Name(c.VCenter)
	}
	b.line(span{clusterName(c) + ":", ""}, span{text, cli.Faint})
	b.marks(c.Marks)
	shown, left := b.tree.choose(c.Hosts)
	for i, h := range shown {
		b.child(i == len(shown)-1 && left.Hosts == 0).host(h)
	}
	if left.Hosts > 0 {
		text := "and " + count(left.Hosts, "more host")
		if left.Nodes > 0 {
			text += " with " + count(left.Nodes, "Node")
		}
		if left.Problems > 0 {
			text += ", " + count(left.Problems, "problem")
		}
		b.child(true).line(span{text + " (--all)", cli.Faint})
	}
}

// choose returns the hosts that are shown, in order, and what the others have.
func (t *Tree) choose(all []model.Host) (shown []*model.Host, left model.Counts) {
	room := t.Hosts
	if room < 0 {
		room = len(all)
	}
	chosen := make([]bool, len(all))
	for _, fits := range []func(*model.Host) bool{
		hasProblem, func(h *model.Host) bool { return len(h.Nodes) > 0 }, func(*model.Host) bool { return true },
	} {
		for i := range all {
			if !chosen[i] && room > 0 && fits(&all[i]) {
				chosen[i], room = true, room-1
			}
		}
	}
	for i := range all {
		h := &all[i]
		if chosen[i] {
			shown = append(shown, h)
			continue
		}
		left.Hosts++
		left.Nodes += len(h.Nodes)
		if hasProblem(h) {
			left.Problems++
		}
	}
	return shown, left
}

// fewNodes is how many Nodes of a host are named where not all are to be shown.
const fewNodes = 6

func (b *branch) host(h *model.Host) {
	spans := []span{{hostName(h), cli.Blue}}
	more := 0
	for i := range h.Nodes {
		n := &h.Nodes[i]
		if b.tree.Hosts >= 0 && i >= fewNodes && !anyProblem(n.Marks) {
			more++
			continue
		}
		text := quote.Name(n.Name)
		if n.ControlPlane {
			text += " (control plane)"
		}
		spans = append(spans, span{text, ""})
	}
	if more > 0 {
		spans = append(spans, span{fmt.Sprintf("and %d more (--all)", more), cli.Faint})
	}
	if len(spans) > 1 {
		spans[0].text += ":"
	}
	for i := 1; i < len(spans)-1; i++ {
		spans[i].text += ","
	}
	b.line(spans...)
	b.marks(h.Marks)
	for i := range h.Nodes {
		b.nodeMarks(&h.Nodes[i])
	}
}

func (b *branch) nodeMarks(n *model.Node) {
	for _, m := range n.Marks {
		b.mark(m, quote.Name(n.Name)+": ")
	}
}

func (b *branch) marks(marks []model.Mark) {
	for _, m := range marks {
		b.mark(m, "")
	}
}

func (b *branch) mark(m model.Mark, about string) {
	sign := map[finding.Severity]string{finding.Error: "!!", finding.Warning: "!", finding.Info: "·"}[m.Severity]
	b.line(span{sign + " " + about + quote.Text(m.Text), colorOf(m.Severity)})
}

func colorOf(s finding.Severity) cli.Color {
	switch s {
	case finding.Error:
		return cli.Red
	case finding.Warning:
		return cli.Yellow
	}
	return cli.Faint
}

func (b *branch) unplaced(all []model.Node) {
	b.line(span{"Nodes without a place:", cli.Bold}, span{number(len(all)), cli.Faint})
	shown := all
	if b.tree.Hosts >= 0 {
		shown = all[:min(len(all), max(b.tree.Hosts, 1))]
	}
	for i := range shown {
		b.child(i == len(all)-1).nodeMarks(&shown[i])
	}
	if left := len(all) - len(shown); left > 0 {
		b.child(true).line(span{"and " + count(left, "more Node") + " (--all)", cli.Faint})
	}
}

// vcenters prints those that something is to be said of.
func (b *branch) vcenters(m *model.Map) {
	var marked []*model.VCenter
	for i := range m.VCenters {
		if v := &m.VCenters[i]; len(v.Marks) > 0 {
			marked = append(marked, v)
		}
	}
	if len(marked) == 0 {
		return
	}
	b.gap()
	b.line(span{"vCenters that were not read, or in part", cli.Bold})
	for i, v := range marked {
		c := b.child(i == len(marked)-1)
		c.line(span{quote.Name(v.Name), cli.Blue})
		c.marks(v.Marks)
	}
}
