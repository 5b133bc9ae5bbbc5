package plan

import (
	"bytes"
	"strings"
	"testing"

	"vzones/cmd/vzones/cli"
)

// The summary counts the Nodes that the daemon would write to, and apart from them the Nodes that only differ.
func TestSummary(t *testing.T) {
	const stays = "the label stays (topology.drift: report)"
	differs := Change{Kind: "label", Label: "zone", Now: "a", Then: "b", Result: "a", Text: stays}
	uncertain := Change{Kind: "label", Label: "zone", Now: "a", Result: "a", Text: "the label stays: its value is undecided"}
	missing := Change{Kind: "label", Label: "rack", Then: "r", Result: "r", Action: "backfill", Text: "adds it"}
	for name, c := range map[string]struct {
		nodes     [][]Change
		isCurrent bool
		want      string
	}{
		"nothing":               {isCurrent: true, want: "The daemon would write to 0 of 3 Nodes."},
		"a label that stays":    {nodes: [][]Change{{differs}}, isCurrent: true, want: "The daemon would write to 0 of 3 Nodes. 1 differs but stays as it is: " + stays + "."},
		"a write and a label":   {nodes: [][]Change{{differs, missing}}, isCurrent: true, want: "The daemon would write to 1 of 3 Nodes."},
		"after a change":        {nodes: [][]Change{{differs}, {missing}, {differs}}, want: "The change would make the daemon write to 1 of 3 Nodes. 2 differ but stay as they are: " + stays + "."},
		"a change without Node": {want: "The change would make the daemon write to 0 of 3 Nodes."},
		"two reasons":           {nodes: [][]Change{{uncertain}, {differs}, {differs}}, want: "The change would make the daemon write to 0 of 3 Nodes. 3 differ but stay as they are: " + uncertain.Text + "; " + stays + "."},
	} {
		p := &Plan{Nodes: 3, isCurrent: c.isCurrent}
		for _, changes := range c.nodes {
			p.add(NodeChange{Node: "n", Changes: changes})
		}
		var out bytes.Buffer
		if err := print(&cli.Tool{Stdout: &out, Stderr: &out}, cli.Table, p); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(out.String(), "\n  ", " ")), "\n") // Wrapped lines are indented.
		if got := lines[len(lines)-1]; got != c.want {
			t.Errorf("%s: got the summary %q, want %q", name, got, c.want)
		}
	}
}
