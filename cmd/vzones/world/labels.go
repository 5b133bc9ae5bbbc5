package world

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"vzones/config"
	"vzones/provider/plan"
	"vzones/provider/report"
	"vzones/topology/quote"
)

// Nothing is how a table shows that there is no value.
const Nothing = "-"

// Shown returns values that others chose as a cell of a table has them.
func Shown(values ...string) string {
	var all []string
	for _, v := range values {
		if v != "" {
			all = append(all, quote.Plain(v))
		}
	}
	if len(all) == 0 {
		return Nothing
	}
	return strings.Join(all, ",")
}

// Quoted returns names that others chose, each quoted.
func Quoted(names []string) []string {
	all := make([]string, len(names))
	for i, n := range names {
		all[i] = quote.Value(n)
	}
	return all
}

// Addresses returns the IP addresses, each once.
func Addresses(all []v1.NodeAddress) (texts []string) {
	for _, a := range all {
		isIP := a.Type == v1.NodeInternalIP || a.Type == v1.NodeExternalIP
		if isIP && !slices.Contains(texts, a.Address) {
			texts = append(texts, a.Address)
		}
	}
	return texts
}

// DifferenceReasons returns the reasons of differences, the worst first.
func DifferenceReasons() []string {
	return []string{plan.ReasonDrift, report.ConditionUnwritten, plan.ReasonTypeDrift}
}

// DifferenceReason names a difference in a word, as the reason of the daemon's Events does.
func DifferenceReason(d *plan.Difference) string {
	switch {
	case d.Label == plan.LabelType:
		return plan.ReasonTypeDrift
	case d.Missing:
		return report.ConditionUnwritten
	}
	return plan.ReasonDrift
}

// DifferenceText says how a label of a Node differs from its place.
func DifferenceText(d *plan.Difference) string {
	if d.Missing {
		return "label " + d.Label + " is missing: " + d.Source + " says " + quote.Value(d.Want)
	}
	return d.Text()
}

// ValueOn returns a label of a Node, or of its twin if only that is there.
func ValueOn(n *v1.Node, label string) string {
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

// ActionInitialize is the action for a label that a Node gets when it is initialized. The others are
// those of package plan.
const ActionInitialize = "initialize"

// A Label is one label of a Node, and what the daemon does about it.
type Label struct {
	// Place is the value that the Node's place gives, empty for none, and Source is what gives it.
	// Undecided says why that is not known.
	Place, Source, Undecided string
	// Difference is how the Node differs from that, nil if it does not.
	Difference *plan.Difference
	// Action is what the daemon does, empty for nothing. Text says it in words, or why nothing is done
	// about a difference.
	Action, Text string
	// Result is what the Node has afterwards, empty for nothing.
	Result string
}

// Label returns what the daemon does about a label. Nothing is known of one of a foreign Node.
func (l *Look) Label(key string) Label {
	out := Label{Result: ValueOn(l.Node, key)}
	if l.Foreign {
		return out
	}
	for _, d := range l.Place.Placement.Decisions {
		if d.Label == key {
			out.Place, out.Source = d.Value, d.Source()
		}
	}
	if m := l.Place.Machine; key == plan.LabelType && m != nil && l.Place.InstanceType != "" {
		out.Place, out.Source = l.Place.InstanceType, "the configuration of "+m.Ref.Located(m.InventoryPath)
	}
	if err := l.Place.Placement.WhyUndecided(key); err != nil {
		out.Undecided = quote.Line(err.Error())
	}
	switch {
	case l.Waits && l.Place.Metadata != nil && out.Place != "" && out.Place != out.Result:
		out.Action, out.Result, out.Text = ActionInitialize, out.Place, "the Node gets it when it is initialized"
		return out
	case l.Waits || l.Plan == nil:
		return out
	}
	for i := range l.Differences {
		if l.Differences[i].Label == key {
			out.Difference = &l.Differences[i]
			out.Text = l.stays(out.Difference)
		}
	}
	for _, ch := range l.Plan.Changes {
		if ch.Label == key {
			out.Action, out.Result, out.Text = string(ch.Action), ch.Want, l.done(ch)
		}
	}
	return out
}

// done says what the daemon does to a label.
func (l *Look) done(ch plan.Change) string {
	switch ch.Action {
	case plan.ActionBackfill:
		return "adds it (topology.backfill)"
	case plan.ActionUpdate:
		return fmt.Sprintf("changes it after %v (topology.drift: update)", l.Place.Topology.Settle)
	}
	return "removes it, which vzones had written"
}

// stays says why the daemon does not write a label that differs.
func (l *Look) stays(d *plan.Difference) string {
	t := l.Place.Topology
	switch {
	case d.Missing:
		return "not written: topology.backfill is false, or region and zone cannot both be written"
	case d.Uncertain != nil:
		return "the label stays: another tag, which cannot be read, may decide"
	case l.Plan.Taint && t.Drift == config.DriftTaint && d.Label != plan.LabelType:
		return "the label stays, and the Node is tainted (topology.drift: taint)"
	case t.Drift == config.DriftUpdate && d.Want == "":
		return "the label stays: Kubernetes' own are not removed"
	case t.Drift == config.DriftUpdate:
		return "the label stays: region and zone cannot both be written"
	}
	return fmt.Sprintf("the label stays (topology.drift: %s)", t.Drift)
}
