package plan

import (
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/config"
	"vzones/provider/placement"
	"vzones/topology"
)

// LabelType is the label of a Node's instance type. It has a beta twin.
const LabelType = v1.LabelInstanceTypeStable

// StableAndBeta returns the keys that have a label's value. The framework's node
// controller copies the beta label over the stable one, so it comes first.
func StableAndBeta(label string) []string {
	switch label {
	case topology.LabelRegion:
		return []string{v1.LabelFailureDomainBetaRegion, label}
	case topology.LabelZone:
		return []string{v1.LabelFailureDomainBetaZone, label}
	case LabelType:
		return []string{v1.LabelInstanceType, label}
	}
	return []string{label}
}

// IsLevel reports whether a label is one of a further level, and neither region nor zone.
func IsLevel(label string) bool {
	switch label {
	case topology.LabelRegion, topology.LabelZone, v1.LabelFailureDomainBetaRegion, v1.LabelFailureDomainBetaZone:
		return false
	}
	return true
}

// Lacking returns the first label that a Node does not have with the value that its placement
// gives, empty if it has them all.
func Lacking(node *v1.Node, placed topology.Placement) string {
	for _, d := range placed.Decisions {
		for _, key := range StableAndBeta(d.Label) {
			if value, there := node.Labels[key]; !there || value != d.Value {
				return key
			}
		}
	}
	return ""
}

// ourTypes is how the instance types begin that vzones and the vSphere CPI write. Any other was
// chosen by somebody else, and stays.
const ourTypes = "vsphere-vm."

// planType adds to a plan what is done to the label of a Node's instance type, which does not depend on
// where the Node is. An instance type that differs never taints the Node: it is no
// reason to keep Pods away.
func (p *Policy) planType(out *Plan, node *v1.Node, made *placement.Decision, before []Timed, now time.Time) {
	d, differs := compareType(node, made)
	switch {
	case !differs:
		return
	case d.Missing:
		if p.Backfill {
			out.write(ActionBackfill, d)
		}
		return
	}
	since := beganAt(d, before, now)
	out.Resized = []Timed{{d, since}}
	end := since.Add(p.Settle)
	switch {
	case end.After(now):
		out.await(end)
	case p.Drift == config.DriftUpdate:
		out.write(ActionUpdate, d)
	}
}

// compareType returns how the label of a Node's instance type differs from what its
// machine is. One that cannot be read differs from nothing, and a former name of the
// same type is kept: that a guest system has got a name changes nothing about the machine.
func compareType(node *v1.Node, made *placement.Decision) (Difference, bool) {
	if made.Machine == nil || made.InstanceType == "" {
		return Difference{}, false
	}
	d := Difference{
		Label: LabelType, Want: made.InstanceType,
		Source: "the configuration of " + made.Machine.Ref.Located(made.Machine.InventoryPath),
	}
	present := 0
	differs := false
	hasFormer := false
	keys := StableAndBeta(LabelType)
	for _, key := range keys {
		have, ok := node.Labels[key]
		if !ok {
			continue
		}
		present++
		if !strings.HasPrefix(have, ourTypes) {
			return Difference{}, false
		}
		switch {
		case have == d.Want || differs:
		case have == made.FormerType:
			hasFormer = true
		default:
			d.Have = have
			differs = true
		}
	}
	if hasFormer && !differs {
		// A missing key gets the former name too, so that both keys are the same.
		d.Want = made.FormerType
	}
	d.Missing = !differs && present < len(keys)
	return d, differs || d.Missing
}
