package plan

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"vzones/cmd/vzones/world"
	"vzones/config"
	"vzones/provider/plan"
	"vzones/topology/quote"
)

// A Plan is what a change would do. It is the output in JSON and YAML.
type Plan struct {
	// Nodes is how many there are, Unchanged of how many nothing would change.
	Nodes     int `json:"nodes"`
	Unchanged int `json:"unchanged"`
	// Changes are the other Nodes, by name.
	Changes []NodeChange `json:"changes"`
	// Notes are what else is to be known, such as a category that has to be made first.
	Notes []string `json:"notes,omitempty"`
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
	// Label is the key of a label or of the taint.
	Label string `json:"label,omitempty"`
	// Now is what the Node has. Then is what its place gives after the change. Both are empty for
	// nothing. Undecided says why Then is not known.
	Now       string `json:"now"`
	Then      string `json:"then"`
	Undecided string `json:"undecided,omitempty"`
	// Result is what the Node has once the daemon has done what it does.
	Result string `json:"result"`
	// By is what decides Then.
	By string `json:"by,omitempty"`
	// Action is backfill, update, remove, initialize, taint, untaint, write, or empty if the Node
	// keeps what it has. Text says it in words.
	Action string `json:"action,omitempty"`
	Text   string `json:"text"`
}

// compare returns what is different about a Node.
func compare(before, after *world.Look, now, then *config.Config) NodeChange {
	out := NodeChange{Node: after.Node.Name, VCenter: vcenterOf(before, after)}
	add := func(c Change) { out.Changes = append(out.Changes, c) }
	if before.Foreign != after.Foreign {
		c := Change{Kind: "managed", Now: managed(before), Then: managed(after), Result: managed(after), Text: "the daemon leaves the Node alone"}
		if before.Foreign {
			c.Text = "the daemon manages the Node"
		}
		add(c)
	}
	if a, b := reason(before), reason(after); a != b {
		c := Change{Kind: "problem", Now: a, Then: b, Result: b, Text: "it is over"}
		if after.Err != nil {
			c.By, c.Text = quote.Line(after.Err.Error()), "the Node keeps its labels"
			if after.Waits {
				c.Text = "the Node waits"
			}
		}
		add(c)
	}
	labels := slices.Concat(then.Topology.Policy.Labels(), now.Topology.Policy.Labels(), removed(before, after))
	for i, label := range labels {
		if slices.Contains(labels[:i], label) {
			continue
		}
		a, b := outcomeOf(before, label), outcomeOf(after, label)
		if a != b {
			add(b.change("label", label, valueOn(after.Node, label), &then.Topology, after))
		}
	}
	if a, b := outcomeOf(before, plan.LabelType), outcomeOf(after, plan.LabelType); a != b {
		add(b.change("instanceType", plan.LabelType, valueOn(after.Node, plan.LabelType), &then.Topology, after))
	}
	if c, differs := taint(before, after); differs {
		add(c)
	}
	if a, b := addressesOf(before), addressesOf(after); a != b {
		c := Change{Kind: "addresses", Now: join(after.Node.Status.Addresses), Then: b, Result: b, Action: "write", Text: "the daemon writes them"}
		if after.Waits {
			c.Action, c.Text = "initialize", "the Node gets them when it is initialized"
		}
		if c.Now == b {
			c.Action, c.Text = "", "the Node keeps what it has"
		}
		add(c)
	}
	return out
}

func vcenterOf(before, after *world.Look) string {
	if after.Place.VCenter != "" {
		return after.Place.VCenter
	}
	return before.Place.VCenter
}

func managed(l *world.Look) string {
	if l.Foreign {
		return "no"
	}
	return "yes"
}

func reason(l *world.Look) string {
	if l.Foreign {
		return ""
	}
	return l.Reason()
}

// removed returns the labels that plans remove, of levels that are in no configuration.
func removed(looks ...*world.Look) []string {
	var all []string
	for _, l := range looks {
		if l.Plan != nil {
			all = append(all, l.Plan.Remove...)
		}
	}
	return all
}

// valueOn returns a label of a Node, or of its twin if only that is there.
func valueOn(n *v1.Node, label string) string {
	if v := n.Labels[label]; v != "" {
		return v
	}
	for _, key := range plan.StableAndBeta(label) {
		if v := n.Labels[key]; v != "" {
			return v
		}
	}
	return ""
}

// addressesOf returns the addresses that a Node has once the daemon has written them.
func addressesOf(l *world.Look) string {
	if l.AddressesChange && l.AddressesErr == nil {
		return join(l.Addresses.Addresses)
	}
	return join(l.Node.Status.Addresses)
}

func join(all []v1.NodeAddress) string {
	texts := make([]string, len(all))
	for i, a := range all {
		texts[i] = string(a.Type) + " " + quote.Plain(a.Address)
	}
	return strings.Join(texts, ", ")
}
