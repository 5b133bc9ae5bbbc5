package dryrun

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"k8s.io/apimachinery/pkg/types"

	"vzones/topology/quote"
)

const (
	// absent stands for a field that is not there.
	absent = "-"
	// wholeNode is the field of a Node that would be deleted.
	wholeNode = "Node"
)

// A problem is why a Node has no certain place, or why something about it is not known.
type problem struct {
	name string
	uid  types.UID
	why  string
}

// A report is the result of a dry run.
type report struct {
	// incomplete is why not everything is decided, empty if it is.
	incomplete string
	// nodes is how many Nodes vzones manages, foreign how many others there are.
	nodes, foreign int
	changed        map[string]changed
	problems       []problem
	warnings       []warning
	// refused are the writes that the dry run has no result for.
	refused []string
}

// A row is a line of the table.
type row struct{ field, now, would string }

// rows returns the changes of a Node in the order of their fields.
func (c *changed) rows() []row {
	if c.deleted {
		return []row{{wholeNode, "exists", "deleted"}}
	}
	shown := func(value *string) string {
		if value == nil {
			return absent
		}
		return *value
	}
	var rows []row
	for _, ch := range c.fields {
		rows = append(rows, row{ch.Field, shown(ch.Now), shown(ch.Would)})
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.field, b.field) })
	return rows
}

// names returns the Nodes that would change, in order.
func (r *report) names() []string {
	var names []string
	for name, c := range r.changed {
		if len(c.fields) > 0 || c.deleted {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// print prints the result for a person.
func (r *report) print(to io.Writer) error {
	var b strings.Builder
	state := "complete"
	if r.incomplete != "" {
		state = "INCOMPLETE: " + r.incomplete
	}
	names := r.names()
	fmt.Fprintf(&b, "Dry run, nothing was written; %s\n", state)
	fmt.Fprintf(&b, "Nodes: %d; would change: %d; with a problem: %d; not managed by vzones: %d\n", r.nodes, len(names), len(r.problems), r.foreign)
	var changes, problems, events [][]string
	for _, name := range names {
		c := r.changed[name]
		for _, row := range c.rows() {
			changes = append(changes, []string{quote.Plain(name), row.field, row.now, row.would})
		}
	}
	for _, p := range r.problems {
		problems = append(problems, []string{quote.Plain(p.name), p.why})
	}
	for _, w := range r.warnings {
		events = append(events, []string{w.object, w.reason, w.message})
	}
	table(&b, changes, "NODE", "FIELD", "NOW", "WOULD BE")
	table(&b, problems, "NODE", "PROBLEM")
	table(&b, events, "OBJECT", "EVENT", "MESSAGE")
	for _, what := range r.refused {
		fmt.Fprintf(&b, "\nNot sent, with an unknown result: %s\n", what)
	}
	_, err := io.WriteString(to, b.String())
	return err
}

// table prints rows below a heading, nothing if there are none.
func table(to io.Writer, rows [][]string, heading ...string) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintln(to)
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, cells := range slices.Insert(rows, 0, heading) {
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_ = w.Flush() // a strings.Builder takes everything
}

// failures returns how many Nodes have a write without a result, and that of one of them.
func (r *report) failures() (int, string) {
	count, first := 0, ""
	for name, c := range r.changed {
		why := c.failure()
		if why == "" {
			continue
		}
		count++
		if text := fmt.Sprintf("Node %s: %s", quote.Plain(name), why); first == "" || text < first {
			first = text
		}
	}
	return count, first
}
