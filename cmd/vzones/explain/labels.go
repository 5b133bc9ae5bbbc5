package explain

import (
	"fmt"
	"strings"

	"vzones/cmd/vzones/world"
	"vzones/config"
	"vzones/provider/plan"
	"vzones/topology"
	"vzones/topology/quote"
)

// labels returns those of the configuration, and the instance type.
func labels(w *world.World, l *world.Look) []Label {
	t := w.Placer.Topology()
	var all []Label
	for _, key := range t.Policy.Labels() {
		one := Label{Label: key, Node: valueOn(l, key)}
		for _, d := range l.Place.Placement.Decisions {
			if d.Label == key {
				one.decidedBy(&t.Policy, &l.Place.Placement, d)
			}
		}
		if err := l.Place.Placement.WhyUndecided(key); err != nil {
			one.Undecided = quote.Line(err.Error())
		} else if l.Err != nil && len(l.Place.Placement.Decisions) == 0 {
			one.Undecided = "the Node has no place: see the problems"
		}
		one.plan(t, l)
		all = append(all, one)
	}
	kind := Label{Label: plan.LabelType, Node: valueOn(l, plan.LabelType), Place: l.Place.InstanceType}
	if m := l.Place.Machine; m != nil && kind.Place != "" {
		kind.Source = "the configuration of " + m.Ref.Located(m.InventoryPath)
	}
	kind.plan(t, l)
	return append(all, kind)
}

// valueOn returns a label of a Node, or of its twin if only that is there.
func valueOn(l *world.Look, key string) string {
	if v := l.Node.Labels[key]; v != "" {
		return v
	}
	for _, twin := range plan.StableAndBeta(key) {
		if v := l.Node.Labels[twin]; v != "" {
			return v
		}
	}
	return ""
}

// decidedBy notes what decided a label.
func (l *Label) decidedBy(policy *topology.Policy, placed *topology.Placement, d topology.Decision) {
	l.Place, l.Source = d.Value, d.Source()
	if d.By != nil {
		l.By = d.By.String()
	}
	if err := d.Uncertainty(); err != nil {
		l.Uncertain = quote.Line(err.Error())
	}
	switch {
	case d.Category == "":
	case policy.IsLevel(d.Label):
		l.Why = "the nearest tag on the first path that has one (" + order(policy) + ")"
	default:
		l.Why = fmt.Sprintf("the %s path comes first of those with every required category (%s); precedence %s",
			placed.Path, order(policy), precedence(policy))
	}
}

func order(policy *topology.Policy) string {
	var names []string
	for _, kind := range policy.TagPaths() {
		names = append(names, string(kind))
	}
	return strings.Join(names, ", ")
}

func precedence(policy *topology.Policy) topology.Precedence {
	if policy.Precedence == topology.PrecedenceNearest {
		return topology.PrecedenceNearest
	}
	return topology.PrecedenceCSI
}

// plan notes what the daemon does about a label.
func (l *Label) plan(t *config.Topology, of *world.Look) {
	for _, d := range of.Differences {
		if d.Label != l.Label {
			continue
		}
		if l.Differs = true; d.Have != "" {
			l.Node = d.Have // of two twins that of the one which is wrong
		}
	}
	switch {
	case of.Waits && of.Place.Metadata != nil && l.Place != "":
		l.Action, l.Text = "initialize", "the Node gets it when it is initialized"
		return
	case of.Waits, of.Plan == nil:
		return
	}
	for _, ch := range of.Plan.Changes {
		if ch.Label == l.Label {
			l.Action, l.Text = string(ch.Action), done(t, ch)
			return
		}
	}
	if !l.Differs {
		return
	}
	switch d := theDifference(of, l.Label); {
	case d.Missing:
		l.Text = "nothing is written: topology.backfill is false, or region and zone cannot both be written"
	case d.Uncertain != nil:
		l.Text = "nothing is done: the value is not certain"
	case of.Plan.Taint && t.Drift == config.DriftTaint && l.Label != plan.LabelType:
		l.Text = "the label stays, and the Node is tainted (topology.drift: taint)"
	case t.Drift == config.DriftUpdate:
		l.Text = "the label stays (topology.drift: update): it is Kubernetes' own, or region and zone cannot both be written"
	default:
		l.Text = fmt.Sprintf("the label stays (topology.drift: %s)", t.Drift)
	}
}

func theDifference(of *world.Look, label string) plan.Difference {
	for _, d := range of.Differences {
		if d.Label == label {
			return d
		}
	}
	return plan.Difference{}
}

// done says what a write does.
func done(t *config.Topology, ch plan.Change) string {
	switch ch.Action {
	case plan.ActionBackfill:
		return fmt.Sprintf("the daemon adds %s=%s (topology.backfill)", ch.Label, ch.Want)
	case plan.ActionUpdate:
		return fmt.Sprintf("the daemon changes it to %s once it has differed for %v (topology.drift: update)", quote.Value(ch.Want), t.Settle)
	}
	return "the daemon removes the label, which it had written"
}
