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

// Nothing stands for an empty value in a table.
const Nothing = "-"

// Plain returns the text of an error without the prefix that names the vCenter.
func Plain(vcenter string, err error) string {
	return quote.Line(strings.TrimPrefix(err.Error(), fmt.Sprintf("vCenter %q: ", vcenter)))
}

// Quoted returns names with each one quoted.
func Quoted(names []string) []string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = quote.Value(n)
	}
	return quoted
}

// DifferenceReasons returns all results of DifferenceReason, the worst first.
func DifferenceReasons() []string {
	return []string{plan.ReasonDrift, report.ConditionUnwritten, plan.ReasonTypeDrift}
}

// DifferenceReason returns the Event or condition reason of a difference.
func DifferenceReason(d *plan.Difference) string {
	switch {
	case d.Label == plan.LabelInstanceType:
		return plan.ReasonTypeDrift
	case d.Missing:
		return report.ConditionUnwritten
	}
	return plan.ReasonDrift
}

// Short returns a short name for the region and zone labels, and other labels as they are.
func Short(label string) string {
	switch label {
	case topology.LabelRegion:
		return "region"
	case topology.LabelZone:
		return "zone"
	}
	return label
}

// DifferenceText describes a difference in one line.
func DifferenceText(d *plan.Difference) string {
	text := Short(d.Label) + " is missing"
	if !d.Missing && d.Have != "" {
		text = Short(d.Label) + " is " + quote.Value(d.Have)
	}
	switch {
	case d.Want == "":
		text += ", expected no value"
	case d.Uncertain != nil:
		text += ", expected " + quote.Value(d.Want) + ", but this is uncertain: " + quote.Line(d.Uncertain.Error())
	default:
		text += ", expected " + quote.Value(d.Want) + " (" + d.Source + ")"
	}
	if d.FromKubelet {
		text += ": " + plan.KubeletAdvice
	}
	return text
}

// ValueOn returns the value of a label on a Node, from its stable or its beta key.
func ValueOn(n *v1.Node, label string) string {
	if v := n.Labels[label]; v != "" {
		return v
	}
	for _, key := range plan.LabelKeys(label) {
		if v := n.Labels[key]; v != "" {
			return v
		}
	}
	return ""
}

// ActionInitialize is the action for a label that the Node gets at initialization.
const ActionInitialize = "initialize"

// Label is a label of a Node with the daemon's decision about it.
type Label struct {
	// Place is the value that the Node should have, or "", and Source is the object that decides it.
	// Undecided is the reason that the value is unknown.
	Place, Source, Undecided string
	Difference               *plan.Difference
	// Action is the daemon's action, or "". Text describes it, or the reason that a difference stays.
	Action, Text string
	// Result is the value after the action.
	Result string
}

// Label returns the daemon's decision about a label. For a foreign Node it contains only the current value.
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
	nodeLabel, lacksNodeLabel := l.Place.NodeLabels[key]
	if _, there := l.Node.Labels[key]; there {
		lacksNodeLabel = false // The daemon never overwrites an existing value.
	}
	if lacksNodeLabel {
		out.Place = nodeLabel
		out.Source = plan.SourceNodeLabels
	}
	instanceType := l.Place.InstanceType
	if m := l.Place.Metadata; l.Uninitialized && m != nil {
		instanceType = m.InstanceType // Even of a VM with an unknown guest system.
	}
	if m := l.Place.VM; key == plan.LabelInstanceType && m != nil && instanceType != "" {
		out.Place = instanceType
		out.Source = "the configuration of " + m.Ref.Located(m.InventoryPath)
	}
	if err := l.Place.Placement.WhyUndecided(key); err != nil {
		out.Undecided = quote.Line(err.Error())
	}
	switch {
	case l.Uninitialized && l.Place.Metadata != nil && (lacksNodeLabel || out.Place != "" && out.Place != out.Result):
		out.Action = ActionInitialize
		out.Result = out.Place
		out.Text = "set when the Node is initialized"
		return out
	case l.Uninitialized || l.Plan == nil:
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

func (l *Look) done(ch plan.Change) string {
	switch ch.Action {
	case plan.ActionBackfill:
		return "adds it (topology.backfill)"
	case plan.ActionUpdate:
		return fmt.Sprintf("changes it after %v (topology.drift: update)", l.Place.Topology.Settle)
	}
	return "removes it, because vzones wrote it"
}

// stays returns the reason that the daemon leaves a difference as it is.
func (l *Look) stays(d *plan.Difference) string {
	t := l.Place.Topology
	switch {
	case d.Missing:
		return "not written: topology.backfill is false, or region and zone cannot both be written"
	case d.Uncertain != nil:
		return "the label stays: an unreadable tag may take precedence"
	case l.Plan.Taint && t.Drift == config.DriftTaint && d.Label != plan.LabelInstanceType:
		return "the label stays, and the Node is tainted (topology.drift: taint)"
	case t.Drift == config.DriftUpdate && d.Want == "":
		return "the label stays: vzones never removes Kubernetes' own labels"
	case t.Drift == config.DriftUpdate:
		return "the label stays: region and zone cannot both be written"
	}
	return fmt.Sprintf("the label stays (topology.drift: %s)", t.Drift)
}
