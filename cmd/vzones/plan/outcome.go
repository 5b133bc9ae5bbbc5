package plan

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/cmd/vzones/world"
	"vzones/config"
	"vzones/provider/nodeinfo"
	"vzones/provider/plan"
	"vzones/topology/quote"
)

// An outcome is what becomes of one label of a Node.
type outcome struct {
	// place is what the Node's place gives, empty for nothing. Undecided says why that is not known.
	place, undecided, by string
	// result is what the Node has once the daemon has done what action says.
	result, action string
	// stays is why the Node keeps another value, or goes without one.
	stays string
}

// outcomeOf returns what the daemon makes of a label.
func outcomeOf(l *world.Look, label string) outcome {
	o := outcome{result: valueOn(l.Node, label)}
	if l.Foreign {
		return o
	}
	for _, d := range l.Place.Placement.Decisions {
		if d.Label == label {
			o.place, o.by = d.Value, d.Source()
		}
	}
	if label == plan.LabelType {
		o.place = l.Place.InstanceType
	}
	if err := l.Place.Placement.WhyUndecided(label); err != nil {
		o.undecided = quote.Line(err.Error())
	}
	if l.Waits {
		if l.Place.Metadata != nil && o.place != "" && o.place != o.result {
			o.result, o.action = o.place, "initialize"
		}
		return o
	}
	if l.Plan == nil {
		return o
	}
	for _, ch := range l.Plan.Changes {
		if ch.Label == label {
			o.action, o.result = string(ch.Action), ch.Want
			return o
		}
	}
	for _, d := range l.Differences {
		if d.Label == label {
			o.stays = stays(l, d)
		}
	}
	return o
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

// differs reports whether something else becomes of a label than before. That nothing is known of
// it, or is known now, matters where the Node has or gets it; a Node that has no place says that
// once and not for each label.
func (o outcome) differs(before outcome, after *world.Look) bool {
	if o.result != before.result || o.action != before.action {
		return true
	}
	if !isPlaced(after) || o.result == "" && o.place == before.place {
		return false
	}
	return o.place != before.place || o.stays != before.stays || (o.undecided == "") != (before.undecided == "")
}

// isPlaced reports whether it is known where a Node is, whatever else is wrong with it.
func isPlaced(l *world.Look) bool { return l.Err == nil || len(l.Place.Placement.Decisions) > 0 }

// stays says why a label that differs is not written.
func stays(l *world.Look, d plan.Difference) string {
	t := l.Place.Topology
	switch {
	case d.Missing:
		return "not written: topology.backfill is false, or the Node would get a pair of region and zone that it is not in"
	case d.Uncertain != nil:
		return "the label stays: another tag, which cannot be read, may decide"
	case l.Plan.Taint && t.Drift == config.DriftTaint && d.Label != plan.LabelType:
		return "the label stays, and the Node is tainted (drift: taint)"
	case t.Drift == config.DriftUpdate && d.Want == "":
		return "the label stays: Kubernetes' own are not removed"
	case t.Drift == config.DriftUpdate:
		return "the label stays: region and zone cannot both be written"
	}
	return fmt.Sprintf("the label stays (drift: %s)", t.Drift)
}

// change is the outcome as a change of what a Node has now.
func (o outcome) change(kind, label, now string, t *config.Topology, l *world.Look) Change {
	c := Change{Kind: kind, Label: label, Now: now, Then: o.place, Undecided: o.undecided, Result: o.result, By: o.by, Action: o.action, Text: o.stays}
	switch {
	case o.stays != "":
	case kind == "label" && o.action == "" && !slices.Contains(t.Policy.Labels(), label):
		c.Text = "the label stays: the configuration does not have it, and vzones did not write it"
	case o.action == string(plan.ActionBackfill):
		c.Text = "adds it (backfill)"
	case o.action == string(plan.ActionUpdate):
		c.Text = "changes it (drift: update)"
	case o.action == string(plan.ActionRemove):
		c.Text = "removes it"
	case o.action == "initialize":
		c.Text = "the Node gets it when it is initialized"
	case l.Waits:
		c.Text = "the Node waits"
	case o.undecided != "":
		c.Text = "the label stays: it is not decided"
	case !isPlaced(l):
		c.Text = "the label stays: the Node has no place"
	default:
		c.Text = "the label is right then"
	}
	return c
}

// taints returns what becomes of the taints that the daemon adds and takes off.
func taints(before, after *world.Look) []Change {
	var all []Change
	for _, t := range []struct {
		key, adds string
		is        func(*world.Look) bool
	}{
		{nodeinfo.DriftTaint, "adds the taint: new Pods are kept away", isTainted},
		{cloudproviderapi.TaintNodeShutdown, "adds the taint: the machine is off", isShutDown},
	} {
		is, has := t.is(after), hasTaint(after.Node, t.key)
		if is == t.is(before) {
			continue
		}
		c := Change{Kind: "taint", Label: t.key, Now: present(has), Then: present(is), Result: present(is)}
		switch {
		case is == has:
			c.Text = "the Node keeps what it has"
		case is:
			c.Action, c.Text = string(plan.ActionTaint), t.adds
		default:
			c.Action, c.Text = string(plan.ActionUntaint), "takes the taint off"
		}
		all = append(all, c)
	}
	return all
}

// isTainted reports whether a Node has the taint of drift in the end.
func isTainted(l *world.Look) bool {
	if l.Plan == nil {
		return hasTaint(l.Node, nodeinfo.DriftTaint)
	}
	return l.Plan.Taint
}

// isShutDown reports whether a Node has the framework's taint of a machine that is off in the end. It
// is taken off a Node that is ready.
func isShutDown(l *world.Look) bool {
	has := hasTaint(l.Node, cloudproviderapi.TaintNodeShutdown)
	if l.Plan == nil {
		return has
	}
	return !nodeinfo.IsReady(l.Node) && (has || l.Off)
}

func hasTaint(n *v1.Node, key string) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t v1.Taint) bool { return t.Key == key })
}

func present(is bool) string {
	if is {
		return string(v1.TaintEffectNoSchedule)
	}
	return ""
}
