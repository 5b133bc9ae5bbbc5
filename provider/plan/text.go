package plan

import (
	"fmt"

	"vzones/config"
)

// Reasons of Events about differences that are not written.
const (
	ReasonDrift     = "TopologyDrift"
	ReasonTypeDrift = "InstanceTypeDrift"
)

// Reasons of Events about written labels.
const (
	ReasonBackfilled  = "TopologyBackfilled"
	ReasonUpdated     = "TopologyUpdated"
	ReasonTypeUpdated = "InstanceTypeUpdated"
)

// Text describes the difference.
func (d Difference) Text() string {
	switch {
	case d.Missing:
		return fmt.Sprintf("label %s is missing, and %q is not written beside a region or zone that is wrong", d.Label, d.Want)
	case d.Want == "":
		return fmt.Sprintf("label %s is %q, and nothing gives it that value", d.Label, d.Have)
	case d.Uncertain != nil:
		return fmt.Sprintf("label %s is %q, and %s says %q, which is not certain", d.Label, d.Have, d.Source, d.Want)
	}
	return fmt.Sprintf("label %s is %q, but %s says %q", d.Label, d.Have, d.Source, d.Want)
}

// Advice describes the effect of the policy on differing labels, and the remedy.
func (p *Policy) Advice() string {
	const correct = "move the VM back, or correct the tags or the labels"
	switch p.Drift {
	case config.DriftTaint:
		return "new Pods are kept away: " + correct
	case config.DriftUpdate:
		return "Kubernetes' own labels are not removed: remove them by hand, or correct the tags"
	}
	return "the labels stay as they are: " + correct + ", or set topology.drift in the configuration"
}

// Reason returns the reason of the change's Event.
func (ch Change) Reason() string {
	switch {
	case ch.Label == LabelType:
		return ReasonTypeUpdated
	case ch.Action == ActionBackfill:
		return ReasonBackfilled
	}
	return ReasonUpdated
}

// Text describes the change.
func (ch Change) Text() string {
	switch {
	case ch.Action == ActionBackfill:
		return fmt.Sprintf("label %s=%s is added, by %s", ch.Label, ch.Want, ch.Source)
	case ch.Action == ActionUpdate:
		return fmt.Sprintf("label %s was %q and is %q, by %s", ch.Label, ch.Have, ch.Want, ch.Source)
	case ch.Source == levelGone:
		return fmt.Sprintf("label %s=%s, which vzones had written, is removed: the configuration has no such level", ch.Label, ch.Have)
	}
	return fmt.Sprintf("label %s=%s, which vzones had written, is removed: nothing gives it a value", ch.Label, ch.Have)
}
