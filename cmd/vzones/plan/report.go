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

// Plan contains the daemon's pending writes, or the effect of a change on them. It is the JSON and YAML
// output.
type Plan struct {
	// Nodes is the number of Nodes, and Unchanged the number without changes.
	Nodes     int `json:"nodes"`
	Unchanged int `json:"unchanged"`
	// Changes are sorted by Node name.
	Changes []NodeChange `json:"changes"`
	// Conflicts are new conflicts of tags and names, followed by resolved conflicts.
	Conflicts []ConflictChange `json:"conflicts,omitempty"`
	// Notes are prerequisites, such as a category that has to be created first.
	Notes []string `json:"notes,omitempty"`
	// isCurrent reports whether the plan is for the current state, without a change.
	isCurrent bool
}

// Values of ConflictChange.Change.
const (
	arises = "arises"
	ends   = "ends"
)

// ConflictChange is a conflict that exists only before or only after a change.
type ConflictChange struct {
	Change string `json:"change"`
	// Kind is the label value in the daemon's metric of conflicts. Labels are the affected labels.
	Kind   topology.ConflictKind `json:"kind"`
	Labels []string              `json:"labels"`
	// Text describes the conflict and the remedy.
	Text string `json:"text"`
}

// NodeChange lists the changes of one Node.
type NodeChange struct {
	Node    string   `json:"node"`
	VCenter string   `json:"vcenter,omitempty"`
	Changes []Change `json:"changes"`
}

// Change is a change of one property of a Node.
type Change struct {
	// Kind is label, instanceType, taint, addresses, problem or managed.
	Kind  string `json:"kind"`
	Label string `json:"label,omitempty"`
	// Now is the Node's current value. Then is the value of its place after the change, and Undecided
	// the reason that it is unknown.
	Now       string `json:"current"`
	Then      string `json:"planned"`
	Undecided string `json:"undecided,omitempty"`
	// Result is the Node's value after the daemon's action.
	Result string `json:"result"`
	// By is the object that decides Then.
	By string `json:"source,omitempty"`
	// Action is backfill, update, remove, initialize, taint, untaint, write or delete, or empty if the
	// Node stays as it is. Text describes it.
	Action string `json:"action,omitempty"`
	Text   string `json:"text"`
}

// print prints a plan. In the table formats the notes go to standard error.
func print(t *cli.Tool, format cli.Format, p *Plan) error {
	list := &cli.List{Columns: []string{"NODE", "WHAT", "NOW", "EXPECTED", "DAEMON", "DECIDED BY", "VCENTER", "RESULT"}, WideFrom: 5, Data: p}
	for _, n := range p.Changes {
		for i, c := range n.Changes {
			row := cli.Row{Name: n.Node, Color: color(c), Cells: []string{
				quote.Plain(n.Node), cmp.Or(c.Label, c.Kind), cell(c.Now), cell(c.Then), c.Text, cmp.Or(c.By, world.Nothing), cmp.Or(n.VCenter, world.Nothing), cell(c.Result),
			}}
			if c.Undecided != "" {
				row.Cells[3] = "undecided"
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
		title := "Resolved conflict:"
		if c.Change == arises {
			title = t.Paint(cli.Red, "New conflict:")
		}
		t.Wrap(&text, cli.LineWidth, title+" ", "  ", "", c.Text)
	}
	t.Wrap(&text, cli.LineWidth, "", "  ", "", p.summary())
	return t.Write(text.Bytes())
}

// summary counts the Nodes that the daemon would write to, and the Nodes with changes that it would leave as
// they are.
func (p *Plan) summary() string {
	written := p.written()
	text := fmt.Sprintf("The change would make the daemon write to %d of %s.", written, cli.Count(p.Nodes, "Node"))
	if p.isCurrent {
		text = fmt.Sprintf("The daemon would write to %d of %s.", written, cli.Count(p.Nodes, "Node"))
	}
	switch unwritten := len(p.Changes) - written; unwritten {
	case 0:
		return text
	case 1:
		text += " 1 differs but stays as it is: "
	default:
		text += fmt.Sprintf(" %s differ but stay as they are: ", cli.Number(unwritten))
	}
	return text + quote.Reasons(p.reasons(), quote.Most) + "."
}

func (n *NodeChange) isWritten() bool {
	return slices.ContainsFunc(n.Changes, func(c Change) bool { return c.Action != "" })
}

func (p *Plan) written() int {
	count := 0
	for i := range p.Changes {
		if p.Changes[i].isWritten() {
			count++
		}
	}
	return count
}

// reasons returns the reasons that the daemon does not write to Nodes with changes, without duplicates.
func (p *Plan) reasons() []string {
	var texts []string
	for i := range p.Changes {
		if p.Changes[i].isWritten() {
			continue
		}
		for _, c := range p.Changes[i].Changes {
			if !slices.Contains(texts, c.Text) {
				texts = append(texts, c.Text)
			}
		}
	}
	return texts
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
