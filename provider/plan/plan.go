// Package plan decides on changes of the labels of a running Node. Its functions are pure.
package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/config"
	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/topology"
)

// A Difference is a label without the expected value. If Want is empty, the label should not exist.
type Difference struct {
	Label      string
	Have, Want string
	// Missing means that the stable or beta key of the label is missing, and no existing key has a wrong value.
	Missing bool
	Source  string
	// FromKubelet means that the kubelet wrote Have, a region or zone. At each start, it writes the labels in
	// --node-labels.
	FromKubelet bool
	// Uncertain is the reason why Want is uncertain, or nil. An uncertain value only fills a missing label.
	Uncertain error
}

// Timed is a Difference with its start.
type Timed struct {
	Difference
	Since time.Time
}

// A Plan contains the changes of a Node, and the differences that remain.
type Plan struct {
	Drifts  []Timed
	Resized []Timed
	// Withheld are missing labels that would give the Node the region and zone of another place.
	Withheld []Difference
	// Due is the time at which the first drift settles, or zero.
	Due time.Time

	// Changes are the reasons for Set and Remove.
	Set     map[string]string
	Remove  []string
	Changes []Change
	// Owned is the new value of the annotation nodeinfo.KeyLabels.
	Owned []string
	Taint bool
	// TaintKept is the reason why the taint stays although no label is known to differ.
	TaintKept error

	// These report whether Owned and Taint differ from the Node.
	Annotate, Retaint   bool
	taintNeedsPlacement bool
}

// A Change is a Difference that is corrected.
type Change struct {
	Action Action
	Difference
}

// Action is a kind of change.
type Action string

// The actions are label values of a metric.
const (
	ActionBackfill Action = "backfill"
	ActionUpdate   Action = "update"
	ActionRemove   Action = "remove"
	ActionTaint    Action = "taint"
	ActionUntaint  Action = "untaint"
	// ActionOutOfService and ActionInService add and remove the out-of-service taint.
	ActionOutOfService Action = "out_of_service"
	ActionInService    Action = "in_service"
)

// Actions returns all actions.
func Actions() []Action {
	return []Action{ActionBackfill, ActionUpdate, ActionRemove, ActionTaint, ActionUntaint, ActionOutOfService, ActionInService}
}

// Writes reports whether the Node changes.
func (p *Plan) Writes() bool {
	return len(p.Set) > 0 || len(p.Remove) > 0 || p.Annotate || p.Retaint
}

// RestsOnVCenter reports whether a change depends on a vCenter.
func (p *Plan) RestsOnVCenter() bool {
	return p.Retaint && p.taintNeedsPlacement || slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Source != sourceConfig && c.Source != SourceNodeLabels })
}

// Sources of changes that depend on no vCenter.
const (
	sourceConfig     = "the configuration"
	SourceNodeLabels = "nodes.labels or --node-labels"
)

// For returns the plan for a Node. A missing label is set at once, if Backfill is set. A different value is a drift, and only
// a drift that lasts for Settle is handled as Drift says. drifts and resized are from the previous plan.
func (p *Policy) For(node *v1.Node, decision *placement.Decision, drifts, resized []Timed, now time.Time) *Plan {
	out := &Plan{Owned: ownedBy(node)}
	tainted := IsTainted(node)
	labels := p.Policy.Labels()
	for _, label := range slices.Clone(out.Owned) {
		if !slices.Contains(labels, label) {
			out.drop(Difference{Label: label, Have: node.Labels[label], Source: sourceConfig})
		}
	}
	if placed := decision.Placement; decision.PlaceErr == nil {
		var missing []Difference
		for _, d := range p.differences(node, placed, out.Owned) {
			if d.Missing {
				missing = append(missing, d)
			} else {
				out.Drifts = append(out.Drifts, Timed{d, beganAt(d, drifts, now)})
			}
		}
		settled := out.settledDrifts(p.Settle, now)
		completesPair := p.completesPair(node, placed, out.Drifts, settled)
		if p.Drift == config.DriftUpdate {
			for _, d := range settled {
				if d.Uncertain == nil && (!IsRegionOrZone(d.Label) || completesPair && !isPairUncertain(placed)) {
					out.update(d)
				}
			}
		}
		for _, d := range missing {
			switch {
			case !p.Backfill:
			case !IsRegionOrZone(d.Label) || completesPair:
				out.write(ActionBackfill, d)
			default:
				out.Withheld = append(out.Withheld, d)
			}
		}
		if p.Drift == config.DriftTaint {
			out.taintNeedsPlacement = true
			out.Taint = slices.ContainsFunc(settled, Difference.IsCertain) || tainted && len(out.Drifts) > 0
			if label, why := UncertainLabel(node, placed); tainted && !out.Taint && why != nil {
				out.Taint = true
				out.TaintKept = fmt.Errorf("taint %s stays, because label %s is not decided: %w", nodeinfo.DriftTaint, label, why)
			}
		}
	} else {
		// Only labels and the taint that are no longer configured are removed.
		out.Taint = tainted && p.Drift == config.DriftTaint
	}
	if decision.VMErr == nil && p.Backfill {
		out.addLabels(node, decision.NodeLabels)
	}
	out.Annotate = strings.Join(out.Owned, ",") != node.Annotations[nodeinfo.KeyLabels]
	out.Retaint = out.Taint != tainted
	p.planInstanceType(out, node, decision, resized, now)
	return out
}

// settledDrifts returns the drifts that have lasted for settle. Region and zone settle together: half a pair would be a place
// in which the Node is not.
func (p *Plan) settledDrifts(settle time.Duration, now time.Time) (settled []Difference) {
	var pairSince time.Time
	for _, d := range p.Drifts {
		if IsRegionOrZone(d.Label) && d.Since.After(pairSince) {
			pairSince = d.Since
		}
	}
	for i := range p.Drifts {
		d := &p.Drifts[i]
		if IsRegionOrZone(d.Label) {
			d.Since = pairSince
		}
		if end := d.Since.Add(settle); end.After(now) {
			p.limitDue(end)
		} else {
			settled = append(settled, d.Difference)
		}
	}
	return settled
}

// addLabels adds labels that are never removed, so the annotation does not list them.
func (p *Plan) addLabels(node *v1.Node, labels map[string]string) {
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		if _, exists := node.Labels[label]; exists {
			continue
		}
		if p.Set == nil {
			p.Set = map[string]string{}
		}
		p.Set[label] = labels[label]
		p.Changes = append(p.Changes, Change{ActionBackfill, Difference{Label: label, Want: labels[label], Missing: true, Source: SourceNodeLabels}})
	}
}

// IsCertain reports whether Want is certain.
func (d Difference) IsCertain() bool { return d.Uncertain == nil }

func isPairUncertain(placed topology.Placement) bool {
	return slices.ContainsFunc(placed.Decisions, func(d topology.Decision) bool { return IsRegionOrZone(d.Label) && d.Uncertainty() != nil })
}

// UncertainLabel returns the first label of a Node that may be wrong, and the reason.
func UncertainLabel(node *v1.Node, placed topology.Placement) (string, error) {
	hasLabel := func(label string) bool {
		return slices.ContainsFunc(LabelKeys(label), func(key string) bool { _, exists := node.Labels[key]; return exists })
	}
	for _, u := range placed.Undecided {
		if hasLabel(u.Label) {
			return u.Label, u.Err
		}
	}
	for _, d := range placed.Decisions {
		if why := d.Uncertainty(); why != nil && hasLabel(d.Label) {
			return d.Label, why
		}
	}
	return "", nil
}

func beganAt(d Difference, previous []Timed, now time.Time) time.Time {
	for _, b := range previous {
		if b.isSame(d) {
			return b.Since
		}
	}
	return now
}

func (d Difference) isSame(other Difference) bool {
	return d.Label == other.Label && d.Have == other.Have && d.Want == other.Want
}

func (p *Plan) limitDue(end time.Time) {
	if p.Due.IsZero() || end.Before(p.Due) {
		p.Due = end
	}
}

// completesPair reports whether the plan leaves the Node with the region and zone of its placement.
func (p *Policy) completesPair(node *v1.Node, placed topology.Placement, drifts []Timed, settled []Difference) bool {
	for _, u := range placed.Undecided {
		if !IsRegionOrZone(u.Label) {
			continue
		}
		for _, key := range LabelKeys(u.Label) {
			if _, exists := node.Labels[key]; exists {
				return false
			}
		}
	}
	return !slices.ContainsFunc(drifts, func(d Timed) bool {
		written := p.Drift == config.DriftUpdate && !isPairUncertain(placed) && slices.ContainsFunc(settled, d.isSame)
		return IsRegionOrZone(d.Label) && d.Want != "" && !written
	})
}

// differences omits a removable label without a value in the placement unless vzones wrote it.
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
		keys := LabelKeys(label)
		for _, key := range keys {
			v, ok := node.Labels[key]
			if ok {
				present++
			}
			if ok && v != d.Want && !differs {
				d.Have = v
				d.FromKubelet = IsRegionOrZone(label) && isFromKubelet(node, key)
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
	for _, key := range LabelKeys(d.Label) {
		p.Set[key] = d.Want
	}
	p.Changes = append(p.Changes, Change{action, d})
	if IsRemovable(d.Label) {
		p.addOwned(d.Label)
	}
}

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

func (p *Plan) addOwned(label string) {
	if !slices.Contains(p.Owned, label) {
		p.Owned = append(p.Owned, label)
		slices.Sort(p.Owned)
	}
}

// Differences returns how the labels of a Node differ from a decision.
func (p *Policy) Differences(node *v1.Node, decision *placement.Decision) []Difference {
	var diffs []Difference
	if decision.PlaceErr == nil {
		diffs = p.differences(node, decision.Placement, ownedBy(node))
	}
	if d, differs := compareType(node, decision); differs {
		diffs = append(diffs, d)
	}
	return diffs
}

// A Policy decides which labels of running Nodes are written.
type Policy struct{ *config.Topology }

// IsRemovable reports whether vzones may remove a label. Region and zone stay, since volumes are bound to them.
// Other reserved labels stay, because a kubelet, which may not remove them, could list them in the annotation.
func IsRemovable(label string) bool { return topology.ReservedDomain(label) == "" }

func ownedBy(node *v1.Node) []string {
	var owned []string
	for key := range strings.SplitSeq(node.Annotations[nodeinfo.KeyLabels], ",") {
		if _, exists := node.Labels[key]; exists && IsRemovable(key) {
			owned = append(owned, key)
		}
	}
	slices.Sort(owned)
	return slices.Compact(owned)
}

// OwnedAnnotation returns the annotation nodeinfo.KeyLabels after a write of the given labels.
func OwnedAnnotation(node *v1.Node, given map[string]string) string {
	p := Plan{Owned: ownedBy(node)}
	for label, value := range given {
		if node.Labels[label] == value && IsRemovable(label) {
			p.addOwned(label)
		}
	}
	return strings.Join(p.Owned, ",")
}

// IsTainted reports whether a Node has the drift taint.
func IsTainted(node *v1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, isDriftTaint)
}

// Patch returns a JSON merge patch.
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
		var added []v1.Taint
		if p.Taint {
			added = []v1.Taint{{Key: nodeinfo.DriftTaint, Effect: v1.TaintEffectNoSchedule}}
		}
		patch["spec"] = retainted(n, isDriftTaint, added...)
	}
	return patch
}

func isDriftTaint(t v1.Taint) bool { return t.Key == nodeinfo.DriftTaint }

// retainted returns the specification of a Node without the old taints. A patch replaces the whole list.
func retainted(n *v1.Node, isOld func(v1.Taint) bool, added ...v1.Taint) map[string]any {
	return map[string]any{"taints": append(slices.DeleteFunc(slices.Clone(n.Spec.Taints), isOld), added...)}
}

// OutOfServicePatch returns a JSON merge patch that adds or removes the out-of-service taint of vzones.
func OutOfServicePatch(n *v1.Node, action Action, now time.Time) map[string]any {
	var added []v1.Taint
	if action == ActionOutOfService {
		since := metav1.NewTime(now)
		added = []v1.Taint{{Key: v1.TaintNodeOutOfService, Value: nodeinfo.VMGone, Effect: v1.TaintEffectNoExecute, TimeAdded: &since}}
	}
	return map[string]any{
		"metadata": map[string]any{"uid": n.UID, "resourceVersion": n.ResourceVersion},
		"spec":     retainted(n, nodeinfo.IsVMGone, added...),
	}
}
