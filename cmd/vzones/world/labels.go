package world

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"vzones/config"
	"vzones/internal/quote"
	"vzones/provider/plan"
	"vzones/provider/report"
	"vzones/topology"
)

// Nothing is how a table shows that there is no value.
const Nothing = "-"

// Plain returns the text of an error without the name of the vCenter before it, which is shown apart.
func Plain(vcenter string, err error) string {
	return quote.Line(strings.TrimPrefix(err.Error(), fmt.Sprintf("vCenter %q: ", vcenter)))
}

// Quoted returns names that others chose, each quoted.
func Quoted(names []string) []string {
	all := make([]string, len(names))
	for i, n := range names {
		all[i] = quote.Value(n)
	}
	return all
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

// Short names a label for a person.
func Short(label string) string {
	switch label {
	case topology.LabelRegion:
		return "region"
	case topology.LabelZone:
		return "zone"
	}
	return label
}

// DifferenceText says how a label of a Node differs from its place.
func DifferenceText(d *plan.Difference) string {
	text := Short(d.Label) + " is missing"
	if !d.Missing && d.Have != "" {
		text = Short(d.Label) + " is " + quote.Value(d.Have)
	}
	switch {
	case d.Want == "":
		return text + ", and nothing gives it that value"
	case d.Uncertain != nil:
		return text + ", vSphere may say " + quote.Value(d.Want) + ": " + quote.Line(d.Uncertain.Error())
	}
	return text + ", vSphere says " + quote.Value(d.Want) + " (" + d.Source + ")"
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
			out.Place = d.Value
			out.Source = d.Source()
		}
	}
	each, lacksEach := l.Place.NodeLabels[key]
	if _, there := l.Node.Labels[key]; there {
		lacksEach = false // a value that is there stays
	}
	if lacksEach {
		out.Place = each
		out.Source = plan.EachNode
	}
	if m := l.Place.Machine; key == plan.LabelType && m != nil && l.Place.InstanceType != "" {
		out.Place = l.Place.InstanceType
		out.Source = "the configuration of " + m.Ref.Located(m.InventoryPath)
	}
	if err := l.Place.Placement.WhyUndecided(key); err != nil {
		out.Undecided = quote.Line(err.Error())
	}
	switch {
	case l.Waits && l.Place.Metadata != nil && (lacksEach || out.Place != "" && out.Place != out.Result):
		out.Action = ActionInitialize
		out.Result = out.Place
		out.Text = "the Node gets it when it is initialized"
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
			out.Action = string(ch.Action)
			out.Result = ch.Want
			out.Text = l.done(ch)
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
