package report

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/provider/nodeinfo"
)

// Reasons of the condition nodeinfo.TopologyReady that are no reasons of Events.
const (
	ConditionCurrent   = "TopologyCurrent"
	TextCurrent        = "the Node's topology labels match the place of its VM"
	ConditionUnwritten = "LabelMissing"
)

// ConditionOf returns a Node's condition nodeinfo.TopologyReady, or zero.
func ConditionOf(n *v1.Node) v1.NodeCondition {
	if i := slices.IndexFunc(n.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == nodeinfo.TopologyReady }); i >= 0 {
		return n.Status.Conditions[i]
	}
	return v1.NodeCondition{}
}

// NewCondition returns the next condition nodeinfo.TopologyReady of a Node.
func NewCondition(n *v1.Node, status v1.ConditionStatus, reason, message string) v1.NodeCondition {
	previous := ConditionOf(n)
	now := metav1.Now()
	next := v1.NodeCondition{
		Type: nodeinfo.TopologyReady, Status: status, Reason: reason, Message: message,
		LastHeartbeatTime: now, LastTransitionTime: now,
	}
	if previous.Status == status && !previous.LastTransitionTime.IsZero() {
		next.LastTransitionTime = previous.LastTransitionTime
	}
	return next
}
