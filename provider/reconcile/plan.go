package reconcile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/config"
	"vzones/provider/keys"
	"vzones/topology"
)

// difference is a label of a Node that is not what it should be. An empty want is
// a label that should not be there.
type difference struct {
	label      string
	have, want string
	// missing says that the label or its twin is not there, and that what is there
	// is right.
	missing bool
	// source is what gives want, empty if nothing does.
	source string
	// doubt is why want is not certain, nil if it is. It is good for a label that is
	// missing, and no reason to change or remove one, or to taint the Node.
	doubt error
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
	// resized is the instance type, if it differs from what the machine is.
	resized []timed
	// held are labels that are missing and may not be written, since the Node would
	// get a pair of region and zone that it is not in.
	held []difference
	// due is when the first of the drifts is settled, zero if none is awaited.
	due time.Time

	// set and remove are labels to be written, changes what they are for.
	set     map[string]string
	remove  []string
	changes []change
	// owned is what the annotation has to be, taint whether there has to be one.
	owned []string
	taint bool
	// doubt is why the taint stays although no label is known to differ.
	doubt error

	// first says that the Node is not initialised before this is written.
	first bool

	annotate, retaint bool // whether these differ from what the Node has
	// placed says that the taint rests on where the Node is.
	placed bool
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
	return p.retaint && p.placed || slices.ContainsFunc(p.changes, func(c change) bool { return c.action != ActionRemove || c.source != levelGone })
}

// levelGone is the source of the removal of a label that the configuration has
// no more.
const levelGone = "the configuration"

// decide plans for a Node that has a placement. before are the drifts of the plan
// made last, claims the labels that the framework wrote for us and their values.
func (p *policy) decide(node *v1.Node, placed topology.Placement, before []timed, claims map[string]string, now time.Time) *plan {
	out := p.begin(node, claims)
	var missing []difference
	for _, label := range p.Policy.Labels() {
		switch d, differs := compare(node, label, placed, out.owned); {
		case !differs:
		case d.missing:
			missing = append(missing, d)
		default:
			out.drifts = append(out.drifts, timed{d, beganAt(d, before, now)})
		}
	}
	out.pair()
	settled := out.settle(p.Settle, now)
	whole := p.whole(node, placed, out.drifts, settled)
	if p.Drift == config.DriftUpdate {
		for _, d := range settled {
			if d.doubt == nil && (isLevel(d.label) || whole && !pairInDoubt(placed)) {
				out.update(d)
			}
		}
	}
	for _, d := range missing {
		switch {
		case !p.Backfill:
		case isLevel(d.label) || whole:
			out.write(ActionBackfill, d)
		default:
			out.held = append(out.held, d)
		}
	}
	tainted := isTainted(node)
	if p.Drift == config.DriftTaint {
		out.placed = true
		out.taint = slices.ContainsFunc(settled, difference.isCertain) || tainted && len(out.drifts) > 0
		if label, why := inDoubt(node, placed); tainted && !out.taint && why != nil {
			out.taint, out.doubt = true, fmt.Errorf("taint %s stays, because label %s is not decided: %w", keys.DriftTaint, label, why)
		}
	}
	out.finish(node, tainted)
	return out
}

// isCertain reports whether a difference may lead to a change.
func (d difference) isCertain() bool { return d.doubt == nil }

// pairInDoubt reports whether objects that may not be read might give another region
// or zone.
func pairInDoubt(placed topology.Placement) bool {
	return slices.ContainsFunc(placed.Decisions, func(d topology.Decision) bool { return !isLevel(d.Label) && d.Doubt() != nil })
}

// inDoubt returns the first label of a Node of which it is not known whether it is
// right, and why. Of a label that the Node does not have nothing can be wrong.
func inDoubt(node *v1.Node, placed topology.Placement) (string, error) {
	has := func(label string) bool {
		return slices.ContainsFunc(twins(label), func(key string) bool { _, there := node.Labels[key]; return there })
	}
	for _, u := range placed.Undecided {
		if has(u.Label) {
			return u.Label, u.Err
		}
	}
	for _, d := range placed.Decisions {
		if why := d.Doubt(); why != nil && has(d.Label) {
			return d.Label, why
		}
	}
	return "", nil
}

// undecided plans for a Node that has no placement: what was said of it before is
// kept, and only what the configuration has no more goes.
func (p *policy) undecided(node *v1.Node, claims map[string]string) *plan {
	out := p.begin(node, claims)
	tainted := isTainted(node)
	out.taint = tainted && p.Drift == config.DriftTaint
	out.finish(node, tainted)
	return out
}

// beganAt is since when a difference is there.
func beganAt(d difference, before []timed, now time.Time) time.Time {
	for _, b := range before {
		if b.same(d) {
			return b.since
		}
	}
	return now
}

// same says whether two differences are one, whatever gives what is wanted.
func (d difference) same(as difference) bool {
	return d.label == as.label && d.have == as.have && d.want == as.want
}

// pair lets region and zone settle together, with the later of them: half of a
// pair that is written would be one that the Node is not in.
func (p *plan) pair() {
	var since time.Time
	for _, d := range p.drifts {
		if !isLevel(d.label) && d.since.After(since) {
			since = d.since
		}
	}
	for i := range p.drifts {
		if d := &p.drifts[i]; !isLevel(d.label) {
			d.since = since
		}
	}
}

// settle returns the drifts that have settled, and notes when the next will have.
func (p *plan) settle(after time.Duration, now time.Time) []difference {
	var settled []difference
	for _, d := range p.drifts {
		switch end := d.since.Add(after); {
		case !end.After(now):
			settled = append(settled, d.difference)
		case p.due.IsZero() || end.Before(p.due):
			p.due = end
		}
	}
	return settled
}

// whole says whether region and zone can be written so that the Node has the pair
// that it is in afterwards, as far as it is in one.
func (p *policy) whole(node *v1.Node, placed topology.Placement, drifts []timed, settled []difference) bool {
	for _, u := range placed.Undecided {
		if isLevel(u.Label) {
			continue
		}
		for _, key := range twins(u.Label) {
			if _, there := node.Labels[key]; there {
				return false
			}
		}
	}
	return !slices.ContainsFunc(drifts, func(d timed) bool {
		written := p.Drift == config.DriftUpdate && !pairInDoubt(placed) && slices.ContainsFunc(settled, d.same)
		return !isLevel(d.label) && d.want != "" && !written
	})
}

// begin plans the removal of labels that vzones wrote for levels that are gone
// from the configuration.
func (p *policy) begin(node *v1.Node, claims map[string]string) *plan {
	out := &plan{owned: owned(node)}
	labels := p.Policy.Labels()
	for label, written := range claims {
		if have, there := node.Labels[label]; there && have == written && isRemovable(label) {
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

func (p *plan) finish(node *v1.Node, tainted bool) {
	p.annotate = strings.Join(p.owned, ",") != node.Annotations[keys.Labels]
	p.retaint = p.taint != tainted
}

// compare returns how a label differs from the placement. A label that the place
// does not have is to be removed only if vzones wrote it; an undecided one is
// what it is. Where twins differ, have is the one that is not right.
func compare(node *v1.Node, label string, placed topology.Placement, owned []string) (difference, bool) {
	d := difference{label: label}
	for _, decision := range placed.Decisions {
		if decision.Label == label {
			d.want, d.source, d.doubt = decision.Value, decision.Source(), decision.Doubt()
		}
	}
	if d.want == "" && placed.WhyUndecided(label) != nil {
		return difference{}, false
	}
	there, differs := 0, false
	keys := twins(label)
	for _, key := range keys {
		v, ok := node.Labels[key]
		if ok {
			there++
		}
		if ok && v != d.want && !differs {
			d.have, differs = v, true
		}
	}
	switch {
	case d.want == "":
		return d, there > 0 && (!isRemovable(label) || slices.Contains(owned, label))
	case !differs && there < len(keys):
		d.missing, differs = true, true
	}
	return d, differs
}

func (p *plan) write(action Action, d difference) {
	if p.set == nil {
		p.set = map[string]string{}
	}
	for _, key := range twins(d.label) {
		p.set[key] = d.want
	}
	p.changes = append(p.changes, change{action, d})
	if isRemovable(d.label) {
		p.own(d.label)
	}
}

// update does away with a settled difference. A label of Kubernetes' own that has no
// value any more is only told of.
func (p *plan) update(d difference) {
	switch {
	case d.want != "":
		p.write(ActionUpdate, d)
	case isRemovable(d.label):
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
