package plan

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/cmd/vzones/world"
	"vzones/config"
	"vzones/internal/quote"
	"vzones/provider/nodeinfo"
	"vzones/provider/plan"
	"vzones/topology"
)

func compare(before, after *world.Look, oldConfig, newConfig *config.Config) NodeChange {
	out := NodeChange{Node: after.Node.Name, VCenter: cmp.Or(after.VCenter(), before.VCenter())}
	add := func(c Change) { out.Changes = append(out.Changes, c) }
	if before.Foreign != after.Foreign {
		c := Change{Kind: "managed", Now: managed(before), Then: managed(after), Result: managed(after), Text: "the daemon ignores the Node"}
		if before.Foreign {
			c.Text = "the daemon manages the Node"
		}
		add(c)
	}
	if oldReason := reason(before); oldReason != reason(after) {
		c := Change{Kind: "problem", Now: oldReason, Then: reason(after), Result: reason(after), Text: "resolved"}
		if after.Err != nil {
			c.By = quote.Line(after.Err.Error())
			c.Action, c.Text = withProblem(after, newConfig)
		}
		add(c)
	}
	nodeLabels := slices.Concat(slices.Sorted(maps.Keys(newConfig.NodeLabels)), slices.Sorted(maps.Keys(oldConfig.NodeLabels)))
	labels := slices.Concat(newConfig.Topology.Policy.Labels(), oldConfig.Topology.Policy.Labels(), nodeLabels, removed(before, after))
	for i, label := range labels {
		if slices.Contains(labels[:i], label) {
			continue
		}
		if newLabel := after.Label(label); differs(before.Label(label), newLabel, after) {
			add(labelChange("label", label, newLabel, &newConfig.Topology, after))
		}
	}
	if newType := after.Label(plan.LabelInstanceType); differs(before.Label(plan.LabelInstanceType), newType, after) {
		add(labelChange("instanceType", plan.LabelInstanceType, newType, &newConfig.Topology, after))
	}
	out.Changes = append(out.Changes, taints(before, after, oldConfig, newConfig)...)
	if addresses := addressesOf(after); addresses != addressesOf(before) {
		c := Change{
			Kind: "addresses", Now: join(after.Node.Status.Addresses), Then: addresses, Result: addresses,
			Action: "write", Text: "the daemon writes them",
		}
		if after.Uninitialized {
			c.Action = "initialize"
			c.Text = "set when the Node is initialized"
		}
		if c.Now == addresses {
			c.Action = ""
			c.Text = "the Node stays as it is"
		}
		add(c)
	}
	return out
}

// withProblem returns the daemon's action for a Node with a problem.
func withProblem(l *world.Look, cfg *config.Config) (action, text string) {
	switch {
	case l.Uninitialized:
		return "", "the Node stays uninitialized"
	case isGone(l, cfg) && nodeinfo.IsReady(l.Node):
		return "", "the Node keeps its labels, and is deleted when it becomes not ready: no vCenter has its VM"
	case isGone(l, cfg):
		return "delete", "deletes the Node after a search has confirmed that no vCenter has its VM"
	case !isPlaced(l):
		return "", "the Node keeps its labels"
	case l.Place.AddressErr != nil && errors.Is(l.Err, l.Place.AddressErr):
		return "", "the Node keeps its addresses"
	}
	return "", "the problem does not affect its labels"
}

// isGone reports whether the daemon deletes an initialized Node that is not ready.
func isGone(l *world.Look, cfg *config.Config) bool {
	return errors.Is(l.Err, topology.ErrAbsent) && l.Node.Spec.ProviderID != "" && l.Identity.WasFound() && !cfg.SkipNodeDeletion
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

// removed returns the labels that plans remove because no configuration has their level.
func removed(looks ...*world.Look) []string {
	var labels []string
	for _, l := range looks {
		if l.Plan != nil {
			labels = append(labels, l.Plan.Remove...)
		}
	}
	return labels
}

// addressesOf returns the Node's addresses after the daemon's writes. A Node that stays uninitialized
// gets none.
func addressesOf(l *world.Look) string {
	if l.Place.AddressesChange && l.Place.AddressErr == nil && (!l.Uninitialized || l.Place.Metadata != nil) {
		return join(l.Place.Addresses.Addresses)
	}
	return join(l.Node.Status.Addresses)
}

func join(addresses []v1.NodeAddress) string {
	texts := make([]string, len(addresses))
	for i, a := range addresses {
		texts[i] = string(a.Type) + " " + quote.Plain(a.Address)
	}
	return strings.Join(texts, ", ")
}

// differs reports whether a label changes. A change between known and unknown matters only if the Node
// has or gets the label. If the Node has no place, the change of its problem covers all labels.
func differs(oldLabel, newLabel world.Label, look *world.Look) bool {
	if newLabel.Result != oldLabel.Result || newLabel.Action != oldLabel.Action {
		return true
	}
	if !isPlaced(look) || newLabel.Result == "" && newLabel.Place == oldLabel.Place {
		return false
	}
	return newLabel.Place != oldLabel.Place || newLabel.Text != oldLabel.Text || (newLabel.Undecided == "") != (oldLabel.Undecided == "")
}

// isPlaced reports whether the place of a Node is known, even if it has another problem.
func isPlaced(l *world.Look) bool { return l.Err == nil || len(l.Place.Placement.Decisions) > 0 }

func labelChange(kind, label string, newLabel world.Label, t *config.Topology, l *world.Look) Change {
	c := Change{
		Kind: kind, Label: label, Now: world.ValueOn(l.Node, label), Then: newLabel.Place, Undecided: newLabel.Undecided,
		Result: newLabel.Result, By: newLabel.Source, Action: newLabel.Action, Text: newLabel.Text,
	}
	switch {
	case c.Text != "":
	case c.Now == "" && c.Then == "" && newLabel.Undecided == "":
		c.Text = "the Node does not get the label"
	case kind == "label" && !slices.Contains(t.Policy.Labels(), label):
		c.Text = "the label stays: it is not configured, and vzones did not write it"
	case l.Uninitialized:
		c.Text = "the Node stays uninitialized"
	case newLabel.Undecided != "":
		c.Text = "the label stays: its value is undecided"
	case !isPlaced(l):
		c.Text = "the label stays: the Node has no placement"
	default:
		c.Text = "the label matches the placement"
	}
	return c
}

func taints(before, after *world.Look, oldConfig, newConfig *config.Config) []Change {
	var changes []Change
	for _, t := range []struct {
		key, text string
		effect    v1.TaintEffect
		isWanted  func(*world.Look, *config.Config) bool
	}{
		{nodeinfo.DriftTaint, "adds the taint: no new Pods are scheduled", v1.TaintEffectNoSchedule, isTainted},
		{cloudproviderapi.TaintNodeShutdown, "adds the taint: the VM is off", v1.TaintEffectNoSchedule, isShutDown},
		{v1.TaintNodeOutOfService, "adds the taint after that search if the daemon saw the VM end, so that volumes are detached before the deletion", v1.TaintEffectNoExecute, isOutOfService},
	} {
		wantsTaint := t.isWanted(after, newConfig)
		isPresent := hasTaint(after.Node, t.key)
		if wantsTaint == t.isWanted(before, oldConfig) {
			continue
		}
		then := effectIf(wantsTaint, t.effect)
		c := Change{Kind: "taint", Label: t.key, Now: effectIf(isPresent, t.effect), Then: then, Result: then}
		switch {
		case wantsTaint == isPresent:
			c.Text = "the Node stays as it is"
		case wantsTaint:
			c.Action = string(plan.ActionTaint)
			c.Text = t.text
		default:
			c.Action = string(plan.ActionUntaint)
			c.Text = "removes the taint"
		}
		changes = append(changes, c)
	}
	return changes
}

// isTainted reports whether a Node ends up with the drift taint.
func isTainted(l *world.Look, _ *config.Config) bool {
	if l.Plan == nil {
		return hasTaint(l.Node, nodeinfo.DriftTaint)
	}
	return l.Plan.Taint
}

// isShutDown reports whether a Node ends up with the framework's shutdown taint, which a ready Node loses.
func isShutDown(l *world.Look, _ *config.Config) bool {
	hasShutdownTaint := hasTaint(l.Node, cloudproviderapi.TaintNodeShutdown)
	if l.Plan == nil {
		return hasShutdownTaint
	}
	return !nodeinfo.IsReady(l.Node) && (hasShutdownTaint || l.Off)
}

// isOutOfService reports whether a Node ends up with an out-of-service taint, which the daemon does not remove if another
// client added it.
func isOutOfService(l *world.Look, cfg *config.Config) bool {
	taint, isOurs := nodeinfo.OutOfServiceTaint(l.Node)
	if l.Plan == nil || taint != nil && !isOurs {
		return taint != nil
	}
	return cfg.OutOfService == config.OutOfServiceGone && isGone(l, cfg) && nodeinfo.IsSilent(l.Node)
}

func hasTaint(n *v1.Node, key string) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t v1.Taint) bool { return t.Key == key })
}

func effectIf(isPresent bool, effect v1.TaintEffect) string {
	if isPresent {
		return string(effect)
	}
	return ""
}
