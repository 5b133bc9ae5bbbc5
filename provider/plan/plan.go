// Package plan decides what is written to the labels of a running Node.
//
// It owns the policy for labels that are missing or differ, the form of the patch, and the
// texts that say what differs and what was written. Everything in it is a pure function of
// its arguments: it performs no I/O, reads no clock, and keeps nothing.
package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/config"
	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/topology"
)

// A Difference is a label of a Node that is not what it should be. An empty Want is
// a label that should not be there.
type Difference struct {
	Label      string
	Have, Want string
	// Missing reports whether the label or its twin is not there, and what is there
	// is right.
	Missing bool
	// Source names the object that gives Want, empty if there is none.
	Source string
	// Uncertain says why Want is not certain, nil if it is. An uncertain value may be written where a
	// label is missing. It changes or removes no label, and taints no Node.
	Uncertain error
}

// Timed is a difference and the time when it began.
type Timed struct {
	Difference
	Since time.Time
}

// A Plan has the changes of a Node, and its differences that are not changed.
type Plan struct {
	// Drifts are all labels that differ from the place.
	Drifts []Timed
	// Resized is the instance type, if it differs from what the machine is.
	Resized []Timed
	// Held are missing labels that may not be written, because the Node would get a pair of region and zone
	// in which it is not.
	Held []Difference
	// Due is the time at which the first drift settles, zero if none is awaited.
	Due time.Time

	// Set and Remove are labels to be written, Changes what they are for.
	Set     map[string]string
	Remove  []string
	Changes []Change
	// Owned is the new content of the annotation. Taint reports whether the Node has to have the taint.
	Owned []string
	Taint bool
	// TaintKept says why the taint stays although no label is known to differ.
	TaintKept error

	Annotate, Retaint bool // whether these differ from what the Node has
	// placed reports whether the taint rests on where the Node is.
	placed bool
}

// A Change is one difference that a write corrects.
type Change struct {
	Action Action
	Difference
}

// Action is one kind of change of a label or a Node.
type Action string

// The actions. Their values are those of a metric's label.
const (
	ActionBackfill Action = "backfill" // write a label that is missing
	ActionUpdate   Action = "update"   // write a label that differs
	ActionRemove   Action = "remove"   // remove a label that vzones wrote
	ActionTaint    Action = "taint"    // add the taint
	ActionUntaint  Action = "untaint"  // take the taint off
)

// Actions returns all actions.
func Actions() []Action {
	return []Action{ActionBackfill, ActionUpdate, ActionRemove, ActionTaint, ActionUntaint}
}

// Writes reports whether there is anything to write.
func (p *Plan) Writes() bool {
	return len(p.Set) > 0 || len(p.Remove) > 0 || p.Annotate || p.Retaint
}

// RestsOnVCenter reports whether a change of the plan follows from an answer of a vCenter.
func (p *Plan) RestsOnVCenter() bool {
	return p.Retaint && p.placed || slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Source != levelGone && c.Source != EachNode })
}

// levelGone is the source of the removal of a label that is no longer in the configuration, and EachNode of a label
// that the configuration gives each Node.
const (
	levelGone = "the configuration"
	EachNode  = "nodes.labels or --node-labels"
)

// For makes the plan for a Node by the decision about it. drifts and resized are those of the last plan.
func (p *Policy) For(node *v1.Node, made *placement.Decision, drifts, resized []Timed, now time.Time) *Plan {
	out := &Plan{Owned: ownedBy(node)}
	tainted := IsTainted(node)
	labels := p.Policy.Labels()
	for _, label := range slices.Clone(out.Owned) {
		if !slices.Contains(labels, label) {
			out.drop(Difference{Label: label, Have: node.Labels[label], Source: levelGone})
		}
	}
	if placed := made.Placement; made.PlaceErr == nil {
		var missing []Difference
		for _, d := range p.differences(node, placed, out.Owned) {
			if d.Missing {
				missing = append(missing, d)
			} else {
				out.Drifts = append(out.Drifts, Timed{d, beganAt(d, drifts, now)})
			}
		}
		// Region and zone settle together, at the later of the two times: a pair of which only half is written
		// would be a place in which the Node is not.
		var pairSince time.Time
		for _, d := range out.Drifts {
			if !IsLevel(d.Label) && d.Since.After(pairSince) {
				pairSince = d.Since
			}
		}
		var settled []Difference
		for i := range out.Drifts {
			d := &out.Drifts[i]
			if !IsLevel(d.Label) {
				d.Since = pairSince
			}
			if end := d.Since.Add(p.Settle); end.After(now) {
				out.await(end)
			} else {
				settled = append(settled, d.Difference)
			}
		}
		whole := p.whole(node, placed, out.Drifts, settled)
		if p.Drift == config.DriftUpdate {
			for _, d := range settled {
				if d.Uncertain == nil && (IsLevel(d.Label) || whole && !isPairUncertain(placed)) {
					out.update(d)
				}
			}
		}
		for _, d := range missing {
			switch {
			case !p.Backfill:
			case IsLevel(d.Label) || whole:
				out.write(ActionBackfill, d)
			default:
				out.Held = append(out.Held, d)
			}
		}
		if p.Drift == config.DriftTaint {
			out.placed = true
			out.Taint = slices.ContainsFunc(settled, Difference.IsCertain) || tainted && len(out.Drifts) > 0
			if label, why := UncertainLabel(node, placed); tainted && !out.Taint && why != nil {
				out.Taint = true
				out.TaintKept = fmt.Errorf("taint %s stays, because label %s is not decided: %w", nodeinfo.DriftTaint, label, why)
			}
		}
	} else {
		// Everything stays, except what is no longer in the configuration: labels of levels, and the taint.
		out.Taint = tainted && p.Drift == config.DriftTaint
	}
	if made.MachineErr == nil && p.Backfill {
		out.addLabels(node, made.NodeLabels)
	}
	out.Annotate = strings.Join(out.Owned, ",") != node.Annotations[nodeinfo.KeyLabels]
	out.Retaint = out.Taint != tainted
	p.planType(out, node, made, resized, now)
	return out
}

// addLabels plans the labels of each Node that a Node lacks. A label that the Node has stays, whatever its value is.
// None of them is listed in the annotation, because they are never removed.
func (p *Plan) addLabels(node *v1.Node, labels map[string]string) {
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		if _, there := node.Labels[label]; there {
			continue
		}
		if p.Set == nil {
			p.Set = map[string]string{}
		}
		p.Set[label] = labels[label]
		p.Changes = append(p.Changes, Change{ActionBackfill, Difference{Label: label, Want: labels[label], Missing: true, Source: EachNode}})
	}
}

// IsCertain reports whether a Difference may lead to a change.
func (d Difference) IsCertain() bool { return d.Uncertain == nil }

// isPairUncertain reports whether objects that may not be read might give another region
// or zone.
func isPairUncertain(placed topology.Placement) bool {
	return slices.ContainsFunc(placed.Decisions, func(d topology.Decision) bool { return !IsLevel(d.Label) && d.Uncertainty() != nil })
}

// UncertainLabel returns the first label of a Node that may be wrong, and why that is not known. A label that the
// Node does not have cannot be wrong.
func UncertainLabel(node *v1.Node, placed topology.Placement) (string, error) {
	has := func(label string) bool {
		return slices.ContainsFunc(StableAndBeta(label), func(key string) bool { _, there := node.Labels[key]; return there })
	}
	for _, u := range placed.Undecided {
		if has(u.Label) {
			return u.Label, u.Err
		}
	}
	for _, d := range placed.Decisions {
		if why := d.Uncertainty(); why != nil && has(d.Label) {
			return d.Label, why
		}
	}
	return "", nil
}

// beganAt returns the time since when a Difference is there.
func beganAt(d Difference, before []Timed, now time.Time) time.Time {
	for _, b := range before {
		if b.same(d) {
			return b.Since
		}
	}
	return now
}

// same reports whether two differences are one, whatever gives the value.
func (d Difference) same(as Difference) bool {
	return d.Label == as.Label && d.Have == as.Have && d.Want == as.Want
}

// await makes Due no later than a time.
func (p *Plan) await(end time.Time) {
	if p.Due.IsZero() || end.Before(p.Due) {
		p.Due = end
	}
}

// whole reports whether, after the write, the Node has the region and the zone of its place, as far as the place
// has them.
func (p *Policy) whole(node *v1.Node, placed topology.Placement, drifts []Timed, settled []Difference) bool {
	for _, u := range placed.Undecided {
		if IsLevel(u.Label) {
			continue
		}
		for _, key := range StableAndBeta(u.Label) {
			if _, there := node.Labels[key]; there {
				return false
			}
		}
	}
	return !slices.ContainsFunc(drifts, func(d Timed) bool {
		written := p.Drift == config.DriftUpdate && !isPairUncertain(placed) && slices.ContainsFunc(settled, d.same)
		return !IsLevel(d.Label) && d.Want != "" && !written
	})
}

// differences returns how the topology labels of a Node differ from a placement. A label that the placement does
// not have is a difference only if vzones wrote it; an undecided label is none. If the stable and the beta label
// differ, Have is the wrong value.
func (p *Policy) differences(node *v1.Node, placed topology.Placement, owned []string) (all []Difference) {
	for _, label := range p.Policy.Labels() {
		d := Difference{Label: label}
		for _, decision := range placed.Decisions {
			if decision.Label == label {
				d.Want = decision.Value
				d.Source = decision.Source()
				d.Uncertain = decision.Uncertainty()
			}
		}
		if d.Want == "" && placed.WhyUndecided(label) != nil {
			continue
		}
		present := 0
		differs := false
		keys := StableAndBeta(label)
		for _, key := range keys {
			v, ok := node.Labels[key]
			if ok {
				present++
			}
			if ok && v != d.Want && !differs {
				d.Have = v
				differs = true
			}
		}
		switch {
		case d.Want == "":
			differs = present > 0 && (!IsRemovable(label) || slices.Contains(owned, label))
		case !differs && present < len(keys):
			d.Missing = true
			differs = true
		}
		if differs {
			all = append(all, d)
		}
	}
	return all
}

func (p *Plan) write(action Action, d Difference) {
	if p.Set == nil {
		p.Set = map[string]string{}
	}
	for _, key := range StableAndBeta(d.Label) {
		p.Set[key] = d.Want
	}
	p.Changes = append(p.Changes, Change{action, d})
	if IsRemovable(d.Label) {
		p.own(d.Label)
	}
}

// update plans the correction of a settled Difference. A label of Kubernetes' own without a value is only
// reported.
func (p *Plan) update(d Difference) {
	switch {
	case d.Want != "":
		p.write(ActionUpdate, d)
	case IsRemovable(d.Label):
		p.drop(d)
	}
}

func (p *Plan) drop(d Difference) {
	p.Remove = append(p.Remove, d.Label)
	p.Changes = append(p.Changes, Change{ActionRemove, d})
	p.Owned = slices.DeleteFunc(p.Owned, func(l string) bool { return l == d.Label })
}

func (p *Plan) own(label string) {
	if !slices.Contains(p.Owned, label) {
		p.Owned = append(p.Owned, label)
		slices.Sort(p.Owned)
	}
}

// Differences returns how the labels of an initialized Node differ from its place, whatever is done
// about that: topology labels in the order of the policy, then the instance type.
func (p *Policy) Differences(node *v1.Node, place *placement.Decision) []Difference {
	var all []Difference
	if place.PlaceErr == nil {
		all = p.differences(node, place.Placement, ownedBy(node))
	}
	if d, differs := compareType(node, place); differs {
		all = append(all, d)
	}
	return all
}

// A Policy says what may be done to running Nodes.
type Policy struct{ *config.Topology }

// IsRemovable reports whether a label can be one that vzones may remove. Region and zone
// are none: volumes are bound to them. Nor is any other label that is reserved,
// although the annotation may list it: kubelets may write annotations of their Nodes,
// and may not take Kubernetes' own labels off them.
func IsRemovable(label string) bool { return topology.ReservedDomain(label) == "" }

// ownedBy returns the labels that vzones wrote to a Node and that are still there.
func ownedBy(node *v1.Node) []string {
	var own []string
	for key := range strings.SplitSeq(node.Annotations[nodeinfo.KeyLabels], ",") {
		if _, there := node.Labels[key]; there && IsRemovable(key) {
			own = append(own, key)
		}
	}
	slices.Sort(own)
	return slices.Compact(own)
}

// Own returns what the annotation nodeinfo.KeyLabels of a Node has to be once it was given labels, as far
// as it has their values.
func Own(node *v1.Node, given map[string]string) string {
	p := Plan{Owned: ownedBy(node)}
	for label, value := range given {
		if node.Labels[label] == value && IsRemovable(label) {
			p.own(label)
		}
	}
	return strings.Join(p.Owned, ",")
}

// IsTainted reports whether a Node has the taint of drift.
func IsTainted(node *v1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == nodeinfo.DriftTaint })
}

// Patch returns a JSON merge patch, in which null removes a key.
func (p *Plan) Patch(n *v1.Node) map[string]any {
	meta := map[string]any{"uid": n.UID, "resourceVersion": n.ResourceVersion}
	labels := map[string]any{}
	for key, value := range p.Set {
		labels[key] = value
	}
	for _, key := range p.Remove {
		labels[key] = nil
	}
	if len(labels) > 0 {
		meta["labels"] = labels
	}
	if p.Annotate {
		var value any
		if len(p.Owned) > 0 {
			value = strings.Join(p.Owned, ",")
		}
		meta["annotations"] = map[string]any{nodeinfo.KeyLabels: value}
	}
	patch := map[string]any{"metadata": meta}
	if p.Retaint {
		taints := slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(t v1.Taint) bool { return t.Key == nodeinfo.DriftTaint })
		if p.Taint {
			taints = append(taints, v1.Taint{Key: nodeinfo.DriftTaint, Effect: v1.TaintEffectNoSchedule})
		}
		patch["spec"] = map[string]any{"taints": taints}
	}
	return patch
}
