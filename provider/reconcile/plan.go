package reconcile

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/config"
	"vzones/topology"
)

// difference is a label of a Node that is not what it should be. An empty have is
// a label that is missing, an empty want one that should be.
type difference struct {
	label      string
	have, want string
	// source is what gives want, empty if nothing does.
	source string
}

// timed is a difference and since when it is there.
type timed struct {
	difference
	since time.Time
}

// plan is what is to be done to a Node.
type plan struct {
	// drifts are all labels that differ from the place.
	drifts []timed
	// due is when the first of them is settled, zero if none is awaited.
	due time.Time

	// set and remove are labels to be written, changes what they are for.
	set     map[string]string
	remove  []string
	changes []change
	// owned is what the annotation has to be, taint whether there has to be one.
	owned []string
	taint bool

	annotate, retaint bool // whether these differ from what the Node has
}

// change is one difference that a write does away with.
type change struct {
	action Action
	difference
}

// Action is what a write does to a label or a Node.
type Action string

// The actions. Their values are those of a metric's label.
const (
	ActionBackfill Action = "backfill" // write a label that is missing
	ActionUpdate   Action = "update"   // write a label that differs
	ActionRemove   Action = "remove"   // remove a label that vzones wrote
	ActionTaint    Action = "taint"    // add the taint
	ActionUntaint  Action = "untaint"  // take the taint off
)

// writes says whether there is anything to write.
func (p *plan) writes() bool {
	return len(p.set) > 0 || len(p.remove) > 0 || p.annotate || p.retaint
}

// rests says whether what is to be written rests on what a vCenter said.
func (p *plan) rests() bool {
	return p.retaint || slices.ContainsFunc(p.changes, func(c change) bool { return c.action != ActionRemove || c.source != levelGone })
}

// levelGone is the source of the removal of a label that the configuration has
// no more.
const levelGone = "the configuration"

// decide plans for a Node that has a placement. before are the drifts of the plan
// made last, claims the labels that the framework wrote for us.
func (p *policy) decide(node *v1.Node, placed topology.Placement, before []timed, claims []string, now time.Time) *plan {
	out := p.begin(node, claims)
	settled := false
	for _, label := range p.Policy.Labels() {
		d, differs := compare(node, label, placed, out.owned)
		switch {
		case !differs:
		case d.have == "":
			if p.Backfill {
				out.write(ActionBackfill, d)
			}
		default:
			t := timed{d, now}
			for _, b := range before {
				if b.label == d.label && b.have == d.have && b.want == d.want {
					t.since = b.since
				}
			}
			out.drifts = append(out.drifts, t)
			if end := t.since.Add(p.Settle); end.After(now) {
				if out.due.IsZero() || end.Before(out.due) {
					out.due = end
				}
				continue
			}
			settled = true
			if p.Drift == config.DriftUpdate {
				out.update(d)
			}
		}
	}
	tainted := isTainted(node)
	out.taint = p.Drift == config.DriftTaint && (settled || tainted && len(out.drifts) > 0)
	out.retaint = out.taint != tainted
	out.finish(node)
	return out
}

// undecided plans for a Node that has no placement: what was said of it before is
// kept, and only what the configuration has no more goes.
func (p *policy) undecided(node *v1.Node, claims []string) *plan {
	out := p.begin(node, claims)
	out.taint = isTainted(node)
	out.finish(node)
	return out
}

// begin plans the removal of labels that vzones wrote for levels that are gone
// from the configuration.
func (p *policy) begin(node *v1.Node, claims []string) *plan {
	out := &plan{owned: owned(node)}
	labels := p.Policy.Labels()
	for _, label := range claims {
		if _, there := node.Labels[label]; there && isLevel(label) {
			out.own(label)
		}
	}
	for _, label := range slices.Clone(out.owned) {
		if !slices.Contains(labels, label) {
			out.drop(difference{label: label, have: node.Labels[label], source: levelGone})
		}
	}
	return out
}

func (p *plan) finish(node *v1.Node) {
	p.annotate = strings.Join(p.owned, ",") != node.Annotations[labelsKey]
}

// compare returns how a label differs from the placement. A label that the place
// does not have is to be removed only if vzones wrote it; an undecided one is
// what it is.
func compare(node *v1.Node, label string, placed topology.Placement, owned []string) (difference, bool) {
	keys := twins(label)
	d := difference{label: label}
	complete := true
	for _, key := range slices.Backward(keys) {
		v, there := node.Labels[key]
		complete = complete && there
		if there {
			d.have = v // the first key is the source of truth
		}
	}
	for _, decision := range placed.Decisions {
		if decision.Label == label {
			d.want, d.source = decision.Value, decision.Source()
		}
	}
	switch {
	case d.want == "" && placed.WhyUndecided(label) != nil:
		return difference{}, false
	case d.want == "":
		return d, d.have != "" && (!isLevel(label) || slices.Contains(owned, label))
	case d.have == d.want && complete:
		return difference{}, false
	case d.have == d.want:
		d.have = "" // one of the twins is missing
	}
	return d, true
}

func (p *plan) write(action Action, d difference) {
	if p.set == nil {
		p.set = map[string]string{}
	}
	for _, key := range twins(d.label) {
		p.set[key] = d.want
	}
	p.changes = append(p.changes, change{action, d})
	if isLevel(d.label) {
		p.own(d.label)
	}
}

// update does away with a settled difference. A region or zone that is no more is
// only told of.
func (p *plan) update(d difference) {
	switch {
	case d.want != "":
		p.write(ActionUpdate, d)
	case isLevel(d.label):
		p.drop(d)
	}
}

func (p *plan) drop(d difference) {
	p.remove = append(p.remove, d.label)
	p.changes = append(p.changes, change{ActionRemove, d})
	p.owned = slices.DeleteFunc(p.owned, func(l string) bool { return l == d.label })
}

func (p *plan) own(label string) {
	if !slices.Contains(p.owned, label) {
		p.owned = append(p.owned, label)
		slices.Sort(p.owned)
	}
}
