package explain

import (
	"fmt"
	"strings"

	"vzones/cmd/vzones/check"
	"vzones/cmd/vzones/cli"
)

func finding(k *check.Kind) *cli.Branch {
	b := &cli.Branch{Text: fmt.Sprintf("%s (%s): %s", k.ID, k.Severity, k.Title), Color: cli.Bold}
	b.Add("", "%s", k.Meaning)
	b.Add(cli.Green, "To do: %s", k.Fix)
	return b
}

// problem explains the reason of an Event, an outcome or an alert.
func problem(name string, n *check.Names) []*cli.Branch {
	trees := []*cli.Branch{}
	if n.Meaning != "" {
		b := &cli.Branch{Text: name, Color: cli.Bold}
		b.Add("", "%s", n.Meaning)
		if n.Fix != "" {
			b.Add(cli.Green, "To do: %s", n.Fix)
		}
		trees = append(trees, b)
	}
	for _, id := range n.Findings {
		trees = append(trees, finding(check.Lookup(id)))
	}
	return append(trees, otherNames(n))
}

// otherNames returns nil if n is nil.
func otherNames(n *check.Names) *cli.Branch {
	if n == nil {
		return nil
	}
	b := &cli.Branch{Text: "Names of the problem", Color: cli.Bold}
	add := func(kind string, names ...string) {
		if text := strings.Join(names, ", "); text != "" {
			b.Add("", "%s: %s", kind, text)
		}
	}
	add("reason of Events", n.Reason)
	add("outcome in metrics", n.Outcome)
	add("alerts", n.Alerts...)
	add("findings of vzones check", n.Findings...)
	return b
}
