package plan

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
	"vzones/internal/quote"
)

// print prints a plan. Notes go to standard error unless they are in the data.
func print(t *cli.Tool, format cli.Format, p *Plan) error {
	list := &cli.List{Columns: []string{"NODE", "WHAT", "NOW", "THEN", "DAEMON", "DECIDED BY", "VCENTER", "RESULT"}, WideFrom: 5, Data: p}
	for _, n := range p.Changes {
		for i, c := range n.Changes {
			row := cli.Row{Name: n.Node, Color: color(c), Cells: []string{
				quote.Plain(n.Node), cmp.Or(c.Label, c.Kind), cell(c.Now), cell(c.Then), c.Text, cmp.Or(c.By, world.Nothing), cmp.Or(n.VCenter, world.Nothing), cell(c.Result),
			}}
			if c.Undecided != "" {
				row.Cells[3], row.Cells[5] = "not decided", c.Undecided
			}
			if format == cli.Name && i > 0 {
				continue
			}
			list.Rows = append(list.Rows, row)
		}
	}
	if format != cli.Table && format != cli.Wide && format != cli.Name {
		return t.Print(format, list)
	}
	for _, note := range p.Notes {
		t.Wrap(t.Stderr, cli.LineWidth, "Note: ", "  ", "", note)
	}
	if len(list.Rows) > 0 {
		if err := t.Print(format, list); err != nil {
			return err
		}
	}
	if format == cli.Name {
		return nil
	}
	var text bytes.Buffer
	for _, c := range p.Conflicts {
		is := cli.Color("")
		if c.Change == arises {
			is = cli.Red
		}
		t.Wrap(&text, cli.LineWidth, t.Paint(is, "Conflict "+c.Change+":")+" ", "  ", "", c.Text)
	}
	if p.now {
		return t.Write(fmt.Appendf(text.Bytes(), "The daemon would write to %d of %d Nodes.\n", p.written(), p.Nodes))
	}
	return t.Write(fmt.Appendf(text.Bytes(), "%d of %d Nodes would change.\n", len(p.Changes), p.Nodes))
}

// written returns to how many Nodes the daemon would write something.
func (p *Plan) written() int {
	count := 0
	for _, n := range p.Changes {
		if slices.ContainsFunc(n.Changes, func(c Change) bool { return c.Action != "" }) {
			count++
		}
	}
	return count
}

func cell(value string) string { return cmp.Or(quote.Text(value), world.Nothing) }

func color(c Change) cli.Color {
	switch {
	case c.Kind == "problem" && c.Then != "":
		return cli.Red
	case c.Action == "" && c.Kind == "label":
		return cli.Yellow
	}
	return ""
}
