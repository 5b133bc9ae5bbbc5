package plan

import (
	"errors"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"vzones/cmd/vzones/world"
	"vzones/config"
	"vzones/provider/nodeinfo"
	"vzones/provider/plan"
	"vzones/topology"
	"vzones/topology/quote"
)

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
			c.By = quote.Line(after.Err.Error())
			c.Action, c.Text = withProblem(after, then)
		}
		add(c)
	}
	labels := slices.Concat(then.Topology.Policy.Labels(), now.Topology.Policy.Labels(), removed(before, after))
	for i, label := range labels {
		if slices.Contains(labels[:i], label) {
			continue
		}
		if a, b := outcomeOf(before, label), outcomeOf(after, label); b.differs(a, after) {
			add(b.change("label", label, valueOn(after.Node, label), &then.Topology, after))
		}
	}
	if a, b := outcomeOf(before, plan.LabelType), outcomeOf(after, plan.LabelType); b.differs(a, after) {
		add(b.change("instanceType", plan.LabelType, valueOn(after.Node, plan.LabelType), &then.Topology, after))
	}
	out.Changes = append(out.Changes, taints(before, after)...)
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

// withProblem says what becomes of a Node that has a problem, and what is done for that.
func withProblem(l *world.Look, cfg *config.Config) (action, text string) {
	wasFound := l.Node.Spec.ProviderID != "" && l.Identity.Recorded != (topology.Ref{})
	switch {
	case l.Waits:
		return "", "the Node waits"
	case errors.Is(l.Err, topology.ErrAbsent) && wasFound && !cfg.SkipNodeDeletion && nodeinfo.IsReady(l.Node):
		return "", "the Node keeps its labels, and is deleted once it is not ready: no vCenter has its machine"
	case errors.Is(l.Err, topology.ErrAbsent) && wasFound && !cfg.SkipNodeDeletion:
		return "delete", "deletes the Node, once a search has confirmed that no vCenter has its machine"
	case !isPlaced(l):
		return "", "the Node keeps its labels"
	case l.Place.AddressErr != nil && errors.Is(l.Err, l.Place.AddressErr):
		return "", "the Node keeps its addresses"
	}
	return "", "the problem does not concern its labels"
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

// addressesOf returns the addresses that a Node has once the daemon has written them. One that waits
// gets none.
func addressesOf(l *world.Look) string {
	if l.Place.AddressesChange && l.Place.AddressErr == nil && (!l.Waits || l.Place.Metadata != nil) {
		return join(l.Place.Addresses.Addresses)
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
