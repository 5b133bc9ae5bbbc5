package plan

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
	"vzones/internal/quote"
	"vzones/topology"
)

// A Plan is what the daemon would do, or what a change would change of that. It is the output in JSON
// and YAML.
type Plan struct {
	// Nodes is how many there are, Unchanged of how many nothing would change.
	Nodes     int `json:"nodes"`
	Unchanged int `json:"unchanged"`
	// Changes are the other Nodes, by name.
	Changes []NodeChange `json:"changes"`
	// Conflicts are those of tags and names that would arise, then those that would end.
	Conflicts []ConflictChange `json:"conflicts,omitempty"`
	// Notes are what else is to be known, such as a category that has to be made first.
	Notes []string `json:"notes,omitempty"`
	// now reports whether it is without a change.
	now bool
}

// The changes of conflicts.
const (
	arises = "arises"
	ends   = "ends"
)

// ConflictChange is a conflict that is there only before a change, or only after it.
type ConflictChange struct {
	// Change is arises or ends.
	Change string `json:"change"`
	// Kind is as in the daemon's metric of conflicts, Labels are those concerned.
	Kind   topology.ConflictKind `json:"kind"`
	Labels []string              `json:"labels"`
	// Text says what is wrong, and what to change.
	Text string `json:"text"`
}

// NodeChange is what would change about one Node.
type NodeChange struct {
	Node    string   `json:"node"`
	VCenter string   `json:"vcenter,omitempty"`
	Changes []Change `json:"changes"`
}

// Change is one thing about a Node that would change.
type Change struct {
	// Kind is label, instanceType, taint, addresses, problem or managed.
	Kind string `json:"kind"`
	// Label is the key of a label or of a taint.
	Label string `json:"label,omitempty"`
	// Now is what the Node has. Then is what its place gives, after the change if there is one. Both are
	// empty for nothing. Undecided says why Then is not known.
	Now       string `json:"now"`
	Then      string `json:"then"`
	Undecided string `json:"undecided,omitempty"`
	// Result is what the Node has once the daemon has done what it does.
	Result string `json:"result"`
	// By is what decides Then.
	By string `json:"by,omitempty"`
	// Action is backfill, update, remove, initialize, taint, untaint, write, delete, or empty if the
	// Node keeps what it has. Text says it in words.
	Action string `json:"action,omitempty"`
	Text   string `json:"text"`
}

// print prints a plan. Notes go to standard error unless they are in the data.
func print(t *cli.Tool, format cli.Format, p *Plan) error {
	list := &cli.List{Columns: []string{"NODE", "WHAT", "NOW", "THEN", "DAEMON", "DECIDED BY", "VCENTER", "RESULT"}, WideFrom: 5, Data: p}
	for _, n := range p.Changes {
		for i, c := range n.Changes {
			row := cli.Row{Name: n.Node, Color: color(c), Cells: []string{
				quote.Plain(n.Node), cmp.Or(c.Label, c.Kind), cell(c.Now), cell(c.Then), c.Text, cmp.Or(c.By, world.Nothing), cmp.Or(n.VCenter, world.Nothing), cell(c.Result),
			}}
			if c.Undecided != "" {
				row.Cells[3] = "not decided"
				row.Cells[5] = c.Undecided
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
