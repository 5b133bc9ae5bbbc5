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
		return fmt.Sprintf("label %s is missing, and %q is not written next to a wrong region or zone", d.Label, d.Want)
	case d.Want == "":
		return fmt.Sprintf("label %s is %q, but no rule gives it a value", d.Label, d.Have)
	case d.Uncertain != nil:
		return fmt.Sprintf("label %s is %q, but %s gives %q, which is uncertain", d.Label, d.Have, d.Source, d.Want)
	}
	return fmt.Sprintf("label %s is %q, but %s gives %q", d.Label, d.Have, d.Source, d.Want)
}

// Advice describes the effect of the policy on differing labels, and the remedy.
func (p *Policy) Advice() string {
	const correct = "move the VM back, or correct the tags or the labels"
	switch p.Drift {
	case config.DriftTaint:
		return "new Pods are not scheduled: " + correct
	case config.DriftUpdate:
		return "Kubernetes' own labels are not removed: remove them manually, or correct the tags"
	}
	return "the labels stay unchanged: " + correct + ", or set topology.drift in the configuration"
}

// KubeletAdvice precedes the advice about a difference from the kubelet.
const KubeletAdvice = "remove the label from the kubelet's --node-labels, or each start of the kubelet writes it again"

// Reason returns the reason of the change's Event.
func (ch Change) Reason() string {
	switch {
	case ch.Label == LabelInstanceType:
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
		return fmt.Sprintf("label %s=%s is added, according to %s", ch.Label, ch.Want, ch.Source)
	case ch.Action == ActionUpdate:
		return fmt.Sprintf("label %s changes from %q to %q, according to %s", ch.Label, ch.Have, ch.Want, ch.Source)
	case ch.Source == sourceConfig:
		return fmt.Sprintf("label %s=%s, written by vzones, is removed: the configuration has no such level", ch.Label, ch.Have)
	}
	return fmt.Sprintf("label %s=%s, written by vzones, is removed: no rule gives it a value", ch.Label, ch.Have)
}
